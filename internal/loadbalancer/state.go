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

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// State is a load balancer as observed.
type State struct {
	// Name of its container.
	Name string
	// ID of its container.
	ID string
	// Exists, Running and Paused are the state of the container; a paused one
	// is not Running.
	Exists, Running, Paused bool
	// Exit of its last run, where it does not run.
	Exit engine.Exit
	// Addresses of the container, IPv4 first, also while it does not run.
	Addresses []netip.Addr
	// HostPorts by the port that each publishes; none while it does not run.
	HostPorts map[uint16]uint16
	// Generation of the configuration that the running process uses; empty
	// while none responds, and while its relay uses another one.
	Generation string
	// Backends as the running process reports them, in order of their frontends and names.
	Backends []haproxy.Server

	// container as it was inspected; without a name where it is absent.
	container engine.Container
	// stored is the configuration in its file, where it runs.
	stored string
}

// Address is the first of the addresses, which an endpoint names; the zero
// value where there is none.
func (s State) Address() netip.Addr {
	if len(s.Addresses) == 0 {
		return netip.Addr{}
	}
	return s.Addresses[0]
}

// Backend returns what the running process reports of an API server.
func (s State) Backend(name string) (haproxy.Server, bool) {
	for _, server := range s.Backends {
		if server.Frontend == haproxy.ControlPlaneName && server.Name == name {
			return server, true
		}
	}
	return haproxy.Server{}, false
}

// Ports that are published, in order of the ports of the container; none while it does not run.
func (s State) Ports() []engine.PortBinding { return s.container.Ports }

// HasRelay reports whether it was created for UDP.
func (s State) HasRelay() bool { return hasRelay(s.container) }

// Inspect returns what the container does, without the status of the process in it:
// Generation and Backends stay empty. An absent container is a State that does
// not exist, and no error.
func Inspect(ctx context.Context, containers engine.ContainerReader, name string) (State, error) {
	container, err := containers.InspectContainer(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return State{Name: name}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("inspect load balancer %q: %w", name, err)
	}
	return stateOf(container), nil
}

// Observe is Inspect with the status of the process. One that does not respond is a
// State without Generation.
func Observe(ctx context.Context, containers engine.Containers, name string) (State, error) {
	state, err := Inspect(ctx, containers, name)
	if err != nil {
		return state, err
	}
	return state.readStatus(ctx, containers)
}

// readStatus adds the status of the process to the container's.
func (s State) readStatus(ctx context.Context, containers engine.Executor) (State, error) {
	if !s.Running {
		return s, nil
	}
	current, err := s.getStatus(ctx, containers)
	if err != nil {
		return State{}, fmt.Errorf("get status of load balancer %q: %w", s.Name, err)
	}
	s.Generation, s.Backends, s.stored = current.generation, current.servers, current.stored
	return s, nil
}

// stateOf is what the container alone shows.
func stateOf(container engine.Container) State {
	state := State{
		Name:      container.Name,
		ID:        container.ID,
		Exists:    container.Status != engine.StatusRemoving,
		Running:   container.Status == engine.StatusRunning,
		Paused:    container.Status == engine.StatusPaused,
		Exit:      container.Exit(),
		Addresses: network.Addresses(container, container.Labels[identity.LabelNetwork]),
		container: container,
	}
	for _, port := range container.Ports {
		if state.HostPorts == nil {
			state.HostPorts = map[uint16]uint16{}
		}
		state.HostPorts[port.ContainerPort] = port.HostPort
	}
	return state
}

// Serving reports whether the running load balancer still sends new
// connections to the backend. It returns false where the load balancer is
// absent, stopped or paused: nothing is sent then.
//
// The removal of a control-plane machine polls this once a second, for at most
// ten seconds, and continues when it is false.
func Serving(ctx context.Context, containers engine.Containers, name, backend string) (bool, error) {
	current, err := State{Name: name}.getStatus(ctx, containers)
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get status of load balancer %q: %w", name, err)
	}
	return slices.ContainsFunc(current.servers, func(server haproxy.Server) bool {
		return server.Name == backend && server.Weight > 0
	}), nil
}
