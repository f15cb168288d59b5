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

// Package connect chooses a container engine and connects to it.
//
// Where the user names an engine, that one is used or an error says why not.
// Otherwise it is Docker where one answers, then Podman. Each is found the way its
// own command finds it:
//
//   - Docker by DOCKER_HOST with its TLS variables, DOCKER_CONTEXT, the current
//     context of its configuration, its default sockets;
//   - Podman by CONTAINER_CONNECTION, CONTAINER_HOST with CONTAINER_SSHKEY, the
//     default of "podman system connection", its default sockets.
//
// An endpoint that a variable names is never replaced by one that no variable
// names. Where Podman serves Docker's socket it is spoken to in its own language.
// Its Info says why an engine was chosen.
package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
)

// The engines that can be requested.
const (
	// Auto takes a Docker that answers, or else a Podman.
	Auto = "auto"
	// Docker is what answers where Docker would.
	Docker = "docker"
	// Podman is what answers where Podman would.
	Podman = "podman"
)

// kind of engine that can be requested by its name.
type kind struct {
	name   string
	traits engine.Traits
	// variables of the environment name an endpoint of this kind.
	variables []string
	// candidates are where such an engine may be, in the order of their precedence.
	candidates func(Options) ([]candidate, error)
}

// kinds are all engines, in the order in which Auto looks for them.
func kinds() []kind {
	return []kind{
		{Docker, docker.Traits(), []string{envHost, envContext}, dockerCandidates},
		{Podman, podman.Traits(), []string{envContainerHost, envConnection}, podmanCandidates},
	}
}

// Names lists the engines that can be requested, for a flag's help.
func Names() []string { return names(kinds()) }

func names(of []kind) []string {
	all := []string{Auto}
	for _, one := range of {
		all = append(all, one.name)
	}
	return all
}

// ReservedNetworks are the names that are not a user's network on some engine.
func ReservedNetworks() []string {
	var all []string
	for _, one := range kinds() {
		all = append(all, one.traits.ReservedNetworks...)
	}
	return all
}

// Help of a flag that takes one of Names.
func Help() string {
	all := Names()
	last := len(all) - 1
	return fmt.Sprintf("container engine: %s or %s; %s uses the first one that responds, in this order",
		strings.Join(all[:last], ", "), all[last], Auto)
}

// defaultTimeout is how long one endpoint may take to answer. A first
// connection over ssh takes a few seconds.
const defaultTimeout = 15 * time.Second

// Options says what to connect to. The zero value finds an engine by itself.
type Options struct {
	// Engine is one of Names; empty = Auto.
	Engine string
	// Getenv reads the environment; nil = os.Getenv.
	Getenv func(string) string
	// Sockets are tried in turn where nothing names a Docker endpoint; nil =
	// Docker's own, then that of rootless Docker.
	Sockets []string
	// PodmanSockets are tried in turn where nothing names a Podman endpoint;
	// nil = Podman's own, then that of the user's rootless Podman.
	PodmanSockets []string
	// Connections lists what "podman system connection" has; nil = those of
	// the containers configuration of this process' user.
	Connections func() ([]Connection, error)
	// Timeout for each endpoint to answer; 0 = 15 seconds.
	Timeout time.Duration

	// kinds that there are; nil = all that are registered.
	kinds []kind
}

// Attempt is an endpoint that was tried without success.
type Attempt struct {
	// Endpoint as named, and By what: "DOCKER_HOST", "context NAME",
	// "default socket".
	Endpoint, By string
	// Err says why not, and the remedy.
	Err error
}

// Error says that no engine could be reached. It is of the kinds of its
// attempts: engine.ErrUnavailable, engine.ErrUnauthorized.
type Error struct {
	Attempts []Attempt
}

// Error implements error.
func (e *Error) Error() string {
	texts := make([]string, 0, len(e.Attempts))
	for _, attempt := range e.Attempts {
		texts = append(texts, fmt.Sprintf("%s: %v", attempt.By, attempt.Err))
	}
	return "no container engine found: " + strings.Join(texts, "; ")
}

// Unwrap returns the errors of the attempts.
func (e *Error) Unwrap() []error {
	out := make([]error, 0, len(e.Attempts))
	for _, attempt := range e.Attempts {
		out = append(out, attempt.Err)
	}
	return out
}

// candidate is an endpoint where an engine may be.
type candidate interface {
	// host is the endpoint as named, and by says who named it.
	host() string
	by() string
	// open returns a connection that has answered, or why it did not.
	open(ctx context.Context, timeout time.Duration) (engine.Engine, error)
}

// Connect returns a connection to an engine that has answered. An unknown
// engine, or a configuration that cannot be read: engine.ErrInvalid. No engine
// reached: an *Error.
func Connect(ctx context.Context, options Options) (engine.Engine, error) {
	options = options.withDefaults()
	selected, err := options.selected()
	if err != nil {
		return nil, err
	}
	var failed Error
	for _, one := range selected {
		candidates, err := one.candidates(options)
		if err != nil {
			return nil, err
		}
		for _, one := range candidates {
			eng, err := one.open(ctx, options.Timeout)
			if err == nil {
				return &chosen{Engine: eng, kinds: options.kinds, by: one.by(), passedOver: endpoints(failed.Attempts)}, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			failed.Attempts = append(failed.Attempts, Attempt{Endpoint: adapter.Redacted(one.host()), By: one.by(), Err: err})
		}
	}
	return nil, &failed
}

func (o Options) withDefaults() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	if o.Connections == nil {
		o.Connections = systemConnections
	}
	if o.kinds == nil {
		o.kinds = kinds()
	}
	return o
}

// selected are the kinds to look for, in order: the one that is requested, those of which
// a variable names an endpoint, or all.
func (o Options) selected() ([]kind, error) {
	var requested, named []kind
	for _, one := range o.kinds {
		if one.name == o.Engine {
			requested = append(requested, one)
		}
		if slices.ContainsFunc(one.variables, func(variable string) bool { return o.Getenv(variable) != "" }) {
			named = append(named, one)
		}
	}
	switch {
	case len(requested) > 0:
		return requested, nil
	case o.Engine != "" && o.Engine != Auto:
		return nil, engine.WithKind(fmt.Errorf("unknown engine %q; use one of %s", o.Engine, strings.Join(names(o.kinds), ", ")), engine.ErrInvalid)
	case len(named) > 0:
		return named, nil
	default:
		return o.kinds, nil
	}
}

// hosts are the sockets, or else the engine's own host and the socket that the user's
// rootless engine has.
func (o Options) hosts(sockets []string, own, rootless string) []string {
	var hosts []string
	for _, socket := range sockets {
		hosts = append(hosts, "unix://"+socket)
	}
	if sockets == nil {
		hosts = append(hosts, own)
		if runtime := o.Getenv("XDG_RUNTIME_DIR"); runtime != "" {
			hosts = append(hosts, "unix://"+filepath.Join(runtime, rootless))
		}
	}
	return hosts
}

func endpoints(of []Attempt) []string {
	var all []string
	for _, attempt := range of {
		all = append(all, attempt.Endpoint)
	}
	return all
}

// chosen is an engine that can say why.
type chosen struct {
	engine.Engine
	kinds []kind
	// by says what named the endpoint, passedOver what was tried before it.
	by         string
	passedOver []string
}

// Info implements engine.Host.
func (c *chosen) Info(ctx context.Context) (engine.Info, error) {
	info, err := c.Engine.Info(ctx)
	if err != nil {
		return info, err //nolint:wrapcheck // It is the engine's.
	}
	info.ChosenBy, info.PassedOver = c.by, c.passedOver
	if len(c.passedOver) > 0 {
		info.ChosenBy += "; no engine found at " + strings.Join(c.passedOver, ", ")
	}
	registered := slices.IndexFunc(c.kinds, func(one kind) bool { return one.name == info.Name })
	if registered < 0 {
		return info, engine.WithKind(fmt.Errorf("engine name %q is not registered", info.Name), engine.ErrInvalid)
	}
	info.Traits = c.kinds[registered].traits
	return info, nil
}

// answering asks the engine, and closes it unless it answers in time.
func answering(ctx context.Context, eng engine.Engine, timeout time.Duration, ask func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := ask(asking)
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = engine.WithKind(fmt.Errorf("%w: no response within %s; check that it is running and reachable", err, timeout), engine.ErrUnavailable)
	}
	return errors.Join(err, eng.Close())
}
