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

// Package clusterctl runs clusterctl in tests, against a local repository that
// holds this provider as a release would, and Cluster API's own: nothing is
// downloaded but Go modules.
package clusterctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/capi-samples/cluster-api-provider-container/test/env"
)

// Clusterctl is the program, with a home directory of its own.
type Clusterctl struct {
	tb            testing.TB
	program, home string
	config        string
	variables     []string
}

// New returns the program, which is built where the cache has none, without any
// configuration. Root is the repository's, seen from the test.
func New(tb testing.TB, root string) *Clusterctl {
	tb.Helper()
	return &Clusterctl{tb: tb, program: tool(tb, root, "clusterctl"), home: tb.TempDir()}
}

// With returns the program with variables in its environment, as NAME=VALUE.
func (c *Clusterctl) With(variables ...string) *Clusterctl {
	with := *c
	with.variables = append(slices.Clone(c.variables), variables...)
	return &with
}

// Run runs a command and returns what it prints to standard output; what it
// says meanwhile goes to the test's log.
func (c *Clusterctl) Run(ctx context.Context, args ...string) ([]byte, error) {
	c.tb.Helper()
	return c.run(ctx, nil, args)
}

// Pipe is Run with input.
func (c *Clusterctl) Pipe(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	c.tb.Helper()
	return c.run(ctx, input, args)
}

func (c *Clusterctl) run(ctx context.Context, input []byte, args []string) ([]byte, error) {
	c.tb.Helper()
	if c.config != "" {
		args = append([]string{"--config", c.config}, args...)
	}
	command := exec.CommandContext(ctx, c.program, args...)
	// Neither a newer release nor a module proxy is to be asked.
	command.Env = append(os.Environ(),
		"HOME="+c.home, "XDG_CONFIG_HOME="+c.home, "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "GOPROXY=off")
	command.Env = append(command.Env, c.variables...)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &stdout, &stderr
	began := time.Now()
	err := command.Run()
	c.tb.Logf("clusterctl %s (%.1fs)\n%s", strings.Join(args, " "), time.Since(began).Seconds(), stderr.String())
	if err != nil {
		return nil, fmt.Errorf("clusterctl %s: %w", strings.Join(args, " "), err)
	}
	return stdout.Bytes(), nil
}

// Kubeconfig writes a kubeconfig of a test's API server to a file.
func (c *Clusterctl) Kubeconfig(config *rest.Config) string {
	c.tb.Helper()
	path := filepath.Join(c.tb.TempDir(), "kubeconfig")
	write(c.tb, path, env.Kubeconfig(c.tb, config))
	return path
}

// Kustomize builds a directory of the repository.
func (c *Clusterctl) Kustomize(root, directory string) ([]byte, error) {
	c.tb.Helper()
	built, err := output(c.tb, root, tool(c.tb, root, "kustomize"), "build", directory)
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w", directory, err)
	}
	return built, nil
}

// Decode the objects of a manifest.
func Decode(tb testing.TB, manifest []byte) []*unstructured.Unstructured {
	tb.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			tb.Fatalf("decode manifest: %v\n%s", err, manifest)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// tool is the path of a pinned tool.
func tool(tb testing.TB, root, name string) string {
	tb.Helper()
	path, err := output(tb, "", filepath.Join(root, "hack", "tool.sh"), name)
	if err != nil {
		tb.Fatalf("get %s: %v", name, err)
	}
	return strings.TrimSpace(string(path))
}

func output(tb testing.TB, directory, program string, args ...string) ([]byte, error) {
	tb.Helper()
	command := exec.CommandContext(tb.Context(), program, args...)
	command.Dir, command.Stderr = directory, os.Stderr
	return command.Output()
}

func write(tb testing.TB, path string, content []byte) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
}
