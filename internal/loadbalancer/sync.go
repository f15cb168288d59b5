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

package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
)

// RejectedError carries the reason for which haproxy refuses a configuration.
type RejectedError struct {
	// Message is haproxy's own text.
	Message string
}

// Error implements error.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("haproxy rejects the configuration: %s", e.Message)
}

// ErrNotRunning says that the load balancer does not run, so nothing can be
// synchronized; Ensure is the remedy.
var ErrNotRunning = errors.New("load balancer is not running")

// ErrNotApplied says that the process did not take over a configuration that
// it had accepted. Calling Sync again is the remedy.
var ErrNotApplied = errors.New("load balancer did not apply its configuration")

const (
	// applyLimit is how long a process may take to use what it accepted.
	// A reload takes a tenth of a second, on a busy host more than five.
	applyLimit = 15 * time.Second
	// pollInterval is between two requests for its status.
	pollInterval = 50 * time.Millisecond
	// reloadInterval is between two signals: one that arrives while the
	// process is being replaced may be lost.
	reloadInterval = time.Second
)

// Sync gives the running load balancer a configuration and returns what was
// read back from the process then. state is what Ensure or Observe returned just before. Where
// the process and its stored file have the configuration already, nothing is written. Otherwise it is checked by
// haproxy first, stored, loaded without losing a connection, and counts when
// the running process says that it has it, with these backends.
//
// Not running: ErrNotRunning. A configuration that cannot be rendered:
// *haproxy.InvalidError. Refused by haproxy: *RejectedError; the process and
// its file are then as they were. Not applied within 15 s:
// ErrNotApplied.
func Sync(ctx context.Context, containers engine.Containers, state State, config haproxy.Config) (State, error) {
	text, err := haproxy.Render(config)
	if err != nil {
		return State{}, fmt.Errorf("render configuration: %w", err)
	}
	name := state.Name
	if !state.Running {
		return state, fmt.Errorf("synchronize %q: %w", name, ErrNotRunning)
	}
	if state.stored != text {
		if err := check(ctx, containers, name, text); err != nil {
			return state, fmt.Errorf("synchronize %q: %w", name, err)
		}
		if err := upload(ctx, containers, name, text); err != nil {
			return state, fmt.Errorf("synchronize %q: %w", name, err)
		}
	}
	desired := usageOf(text, config)
	if desired.isOf(state.Generation, state.Backends) {
		return state, nil
	}
	// A process that does not respond yet has just been started, and with
	// this file if it is the one stored: it needs time and no signal.
	if state.Generation != "" || state.stored != text {
		if err := reload(ctx, containers, name); err != nil {
			return state, fmt.Errorf("synchronize %q: %w", name, err)
		}
	}
	return await(ctx, containers, state, desired)
}

// usage is the status of a process that has a configuration. The generation alone
// is not enough: a user who edits the file by hand leaves its line as it is.
type usage struct {
	generation string
	servers    []haproxy.Server
}

func usageOf(text string, config haproxy.Config) usage {
	desired := usage{generation: haproxy.Generation(text)}
	for _, frontend := range config.Frontends {
		for _, backend := range frontend.Backends {
			desired.servers = append(desired.servers, haproxy.Server{
				Frontend: frontend.Name, Name: backend.Name, Weight: backend.Weight,
				Address: netip.AddrPortFrom(backend.Address.Unmap(), backend.Port).String(),
			})
		}
	}
	return desired
}

func (u usage) isOf(generation string, servers []haproxy.Server) bool {
	return generation == u.generation && len(servers) == len(u.servers) &&
		!slices.ContainsFunc(u.servers, func(desired haproxy.Server) bool {
			return !slices.ContainsFunc(servers, func(server haproxy.Server) bool {
				return server.Frontend == desired.Frontend && server.Name == desired.Name &&
					server.Address == desired.Address && server.Weight == desired.Weight
			})
		})
}

// await waits until the process says that it has the configuration, and signals
// again where that takes long.
func await(ctx context.Context, containers engine.Containers, state State, desired usage) (State, error) {
	limited, cancel := context.WithTimeout(ctx, applyLimit)
	defer cancel()
	signal := time.NewTicker(reloadInterval)
	defer signal.Stop()
	again := time.NewTicker(pollInterval)
	defer again.Stop()
	var last status
	for {
		current, err := state.getStatus(limited, containers)
		if err == nil {
			last = current
		}
		switch {
		case err == nil && desired.isOf(current.generation, current.servers):
			state.Generation, state.Backends = current.generation, current.servers
			return state, nil
		case err != nil && limited.Err() == nil:
			return state, fmt.Errorf("get status of load balancer %q: %w", state.Name, err)
		}
		select {
		case <-limited.Done():
			return state, fmt.Errorf("wait for load balancer %q to use configuration %s instead of %q: %w",
				state.Name, desired.generation, last.generation, errors.Join(ErrNotApplied, last.odd, ctx.Err()))
		case <-signal.C:
			if err := reload(limited, containers, state.Name); err != nil && limited.Err() == nil {
				return state, fmt.Errorf("synchronize %q: %w", state.Name, err)
			}
		case <-again.C:
		}
	}
}
