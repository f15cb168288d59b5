/*
Copyright 2026 The cluster-api-provider-container Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package artifacts collects from the containers of a cluster what helps to find the
// cause of a failure: logs, the state of the containers in a node, the configuration of
// a load balancer. What looks like a secret, or is named as one, is left out.
//
//	collector := artifacts.Collector{Engine: eng, Write: write}
//	err := collector.Node(ctx, "demo-worker-abcde-12345-0a1b2c3d", secrets)
package artifacts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
	"github.com/capi-samples/cluster-api-provider-container/internal/redact"
)

// Engine is what collecting needs of an engine.
type Engine interface {
	engine.ContainerReader
	logs.Engine
}

// Collector collects the artifacts of containers. All parts are tried: one that
// fails does not keep the others from being written.
type Collector struct {
	Engine Engine
	// Write stores an artifact under a relative path with slashes, which stays below
	// its root.
	Write func(name string, content []byte) error
}

// commands are run in a node that runs; each output is an artifact.
var commands = []struct {
	artifact string
	args     []string
}{
	{"journal.log", []string{"journalctl", "--no-pager", "--quiet", "--output=short-precise"}},
	{"containers.txt", []string{"crictl", "ps", "--all"}},
	{"images.txt", []string{"crictl", "images"}},
}

// Node collects of a node: its console, the log of its bootstrap and the logs of its
// Pods, and where it runs its journal, containers and images. A container that does
// not exist has no artifacts; that is no error. Secrets are left out of all of them.
func (c Collector) Node(ctx context.Context, container string, secrets []string) error {
	return c.collect(ctx, container, secrets, func() error {
		errs := []error{
			c.log(ctx, "console.log", logs.Log{Container: container, Source: logs.Console, Secrets: secrets}),
			c.log(ctx, "bootstrap.log", logs.Log{Container: container, Source: logs.Bootstrap, Secrets: secrets}),
			c.pods(ctx, container, secrets),
		}
		for _, command := range commands {
			errs = append(errs, c.command(ctx, container, command.artifact, command.args, secrets))
		}
		return errors.Join(errs...)
	})
}

// LoadBalancer collects the console and the configuration of a load balancer. One that
// does not exist has no artifacts; that is no error. Secrets are left out of them.
func (c Collector) LoadBalancer(ctx context.Context, container string, secrets []string) error {
	return c.collect(ctx, container, secrets, func() error {
		config, err := engine.ReadFile(ctx, c.Engine, container, haproxy.ConfigPath)
		if err = engine.IgnoreNotFound(err); err == nil && config != nil {
			err = c.text("haproxy.cfg", config, secrets)
		}
		return errors.Join(err, c.log(ctx, "console.log", logs.Log{Container: container, Source: logs.Console, Secrets: secrets}))
	})
}

// collect writes what the engine says of the container, then the rest.
func (c Collector) collect(ctx context.Context, container string, secrets []string, rest func() error) error {
	observed, err := c.Engine.InspectContainer(ctx, container)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	var description []byte
	if err == nil {
		description, err = json.MarshalIndent(observed, "", "  ")
	}
	if err == nil {
		err = c.text("container.json", description, secrets)
	}
	if err = errors.Join(err, rest()); err != nil {
		return fmt.Errorf("collect artifacts of container %q: %w", container, err)
	}
	return nil
}

func (c Collector) log(ctx context.Context, name string, log logs.Log) error {
	text, err := log.Read(ctx, c.Engine, 0)
	if err != nil || text == "" {
		return err
	}
	return c.Write(name, []byte(text))
}

// command keeps what a command printed before it failed, as much as a log may have.
func (c Collector) command(ctx context.Context, container, name string, args, secrets []string) error {
	var printed logs.Buffer
	output, err := c.Engine.Exec(ctx, container, engine.Command{Args: args, Stdout: &printed})
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) {
		return nil // it does not run
	}
	if err != nil {
		err = fmt.Errorf("run %s: %w", args[0], err)
	}
	text := printed.Text() + string(output.Stderr)
	if text == "" {
		return err
	}
	return errors.Join(err, c.text(name, []byte(text), secrets))
}

func (c Collector) text(name string, content []byte, secrets []string) error {
	return c.Write(name, []byte(redact.Text(string(content), secrets...)))
}
