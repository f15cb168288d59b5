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

// ForeignError names a container that has the load balancer's name and is
// not the owner's. It is never adopted or removed.
type ForeignError struct {
	// Container is its name.
	Container string
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("container %q already exists and is not owned by this cluster; remove or rename it", e.Container)
}

// Ensure makes sure that the load balancer's container exists and runs, and
// returns it as observed. existing is what Inspect returned just before. What runs
// already is not changed unless it lacks a pinned address or port or its network:
// then it is recreated with them. One that exited is started, or recreated where the
// spec has another image now. A paused container stays paused.
//
// Image or network absent: ErrNotFound. A container of our name that is not
// ours: *ForeignError. The engine is still busy with an earlier call to create it:
// network.ErrCreating. A pinned address or port taken: a ConflictError of
// ResourceAddress or ResourceHostPort; what runs stays where another container has the port. No address left:
// *network.ExhaustedError. No host port left: ErrNoHostPort. A configuration that cannot be rendered:
// *haproxy.InvalidError.
func Ensure(ctx context.Context, containers network.Engine, spec Spec, existing State) (State, error) {
	text, err := haproxy.Render(spec.Config)
	if err != nil {
		return State{}, fmt.Errorf("render configuration: %w", err)
	}
	state := existing
	switch decide(existing, spec) {
	case refuse:
		return State{}, &ForeignError{Container: existing.Name}
	case place:
		return createFirst(ctx, containers, spec, existing)
	case replace:
		return recreate(ctx, containers, spec, existing)
	case start:
		err = restart(ctx, containers, existing.Name, text)
		if len(spec.Addresses) == 0 && engine.IsTaken(err, engine.ResourceAddress) ||
			!pinsHostPorts(spec) && engine.IsTaken(err, engine.ResourceHostPort) {
			// The place it had was not published yet.
			return recreate(ctx, containers, spec, existing)
		}
		if err == nil {
			state, err = Inspect(ctx, containers, existing.Name)
		}
		if err != nil {
			return State{}, err
		}
		if state.Running && !publishes(state, spec) {
			return recreate(ctx, containers, spec, existing)
		}
	case keep:
	}
	return state.readStatus(ctx, containers)
}

// action is what Ensure does with a container.
type action int

const (
	keep action = iota
	// refuse to touch what is not ours.
	refuse
	// place creates the container, continues what an interrupted call left, or replaces that.
	place
	// start again, with the configuration of now.
	start
	// replace removes and creates it.
	replace
)

func decide(state State, spec Spec) action {
	container := state.container
	switch {
	case container.Name == "":
		return place
	case !ours(container, spec):
		return refuse
	case container.Status == engine.StatusCreated && container.StartedAt.IsZero():
		return place
	case !fit(container, spec), state.Running && !publishes(state, spec):
		return replace
	case ended(container.Status):
		return start
	default:
		return keep
	}
}

// publishes reports whether a running container publishes the ports and no others, on the host
// ports that are pinned.
func publishes(state State, spec Spec) bool {
	missing := spec.bindings(spec.HostPorts)
	for _, binding := range state.container.Ports {
		missing = slices.DeleteFunc(missing, func(port engine.PortBinding) bool {
			return port.ContainerPort == binding.ContainerPort && port.Protocol == binding.Protocol
		})
		pinned, wanted := spec.HostPorts[binding.ContainerPort]
		if !wanted || pinned != 0 && binding.HostPort != pinned ||
			!sameAddress(binding.HostAddress, spec.hostAddress(binding.ContainerPort)) {
			return false
		}
	}
	return len(missing) == 0
}

// sameAddress: engines report all addresses in several ways.
func sameAddress(a, b netip.Addr) bool {
	isAny := func(address netip.Addr) bool { return !address.IsValid() || address.IsUnspecified() }
	return a == b || isAny(a) && isAny(b)
}

func ours(container engine.Container, spec Spec) bool {
	labels := spec.labels()
	return spec.Owner.Owns(container.Labels) &&
		container.Labels[identity.LabelRole] == labels[identity.LabelRole] &&
		container.Labels[identity.LabelServiceUID] == labels[identity.LabelServiceUID]
}

// fit reports whether the container can become what the spec says by itself or by being
// started. One that cannot is recreated: it has no state.
func fit(container engine.Container, spec Spec) bool {
	recorded := network.Addresses(container, spec.Network)
	switch {
	case container.Status == engine.StatusRemoving:
		return false
	case ended(container.Status) && container.Image != spec.Image:
		// Another image is the remedy for one that does not run.
		return false
	case container.Labels[identity.LabelNetwork] != spec.Network,
		spec.Service != (Service{}) && container.Labels[identity.LabelPorts] != spec.published(),
		!containsAll(recorded, spec.Addresses):
		return false
	}
	// One that was disconnected from its network is not reached any more.
	return container.Status != engine.StatusRunning ||
		containsAll(container.Networks[spec.Network].Addresses, recorded)
}

// ended reports whether starting is the remedy. After a boot of its host
// Podman 4 reports what ran before as created.
func ended(status engine.Status) bool {
	return status == engine.StatusExited || status == engine.StatusRestarting || status == engine.StatusCreated
}

func containsAll(addresses, desired []netip.Addr) bool {
	return !slices.ContainsFunc(desired, func(a netip.Addr) bool { return !slices.Contains(addresses, a) })
}

// restart starts a container that ended, with the configuration of now: the
// one it has may be why it ended.
func restart(ctx context.Context, containers engine.Containers, name, text string) error {
	if err := upload(ctx, containers, name, text); err != nil {
		return fmt.Errorf("restart load balancer %q: %w", name, err)
	}
	if err := containers.StartContainer(ctx, name); err != nil {
		return fmt.Errorf("start load balancer %q: %w", name, err)
	}
	return nil
}

func createFirst(ctx context.Context, containers network.Engine, spec Spec, existing State) (State, error) {
	if err := checkHeld(ctx, containers, spec, existing.container); err != nil {
		return State{}, fmt.Errorf("create load balancer: %w", err)
	}
	return create(ctx, containers, spec)
}

func recreate(ctx context.Context, containers network.Engine, spec Spec, existing State) (State, error) {
	name := spec.Name()
	if err := checkHeld(ctx, containers, spec, existing.container); err != nil {
		return State{}, fmt.Errorf("recreate load balancer %q: %w", name, err)
	}
	if err := containers.RemoveContainer(ctx, name); err != nil {
		return State{}, fmt.Errorf("remove load balancer %q: %w", name, err)
	}
	return create(ctx, containers, spec)
}

// create makes and starts the container, on pinned host ports and on free ones.
func create(ctx context.Context, containers network.Engine, spec Spec) (State, error) {
	name := spec.Name()
	text, err := haproxy.Render(firstConfig(spec))
	if err != nil {
		return State{}, fmt.Errorf("render configuration: %w", err)
	}
	ports, err := newChoice(ctx, containers, spec)
	if err != nil {
		return State{}, fmt.Errorf("create load balancer: %w", err)
	}
	var container engine.Container
	for {
		container, err = network.Place(ctx, containers, network.Placement{
			Spec:      containerSpec(spec, ports.chosen),
			Network:   spec.Network,
			Addresses: spec.Addresses,
			Held:      spec.Held,
			Prepare: func(ctx context.Context, _ []netip.Addr) error {
				return upload(ctx, containers, name, text)
			},
		})
		if err == nil {
			break
		}
		if err = ports.replace(err); err != nil {
			break
		}
	}
	if engine.IsTaken(err, engine.ResourceName) && !errors.Is(err, network.ErrCreating) {
		return State{}, fmt.Errorf("create load balancer: %w: %w", &ForeignError{Container: name}, err)
	}
	if err != nil {
		return State{}, fmt.Errorf("create load balancer: %w", err)
	}
	return stateOf(container).readStatus(ctx, containers)
}

// Delete removes the load balancer of an owner or its Service, and succeeds if there is
// none. A container of its name that is not the owner's is left alone. Of the spec, only
// the owner and the Service count.
func Delete(ctx context.Context, containers engine.Containers, spec Spec) error {
	name := spec.Name()
	container, err := containers.InspectContainer(ctx, name)
	if errors.Is(err, engine.ErrNotFound) || err == nil && !ours(container, spec) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("inspect load balancer %q: %w", name, err)
	}
	return engine.Remove(ctx, containers, container)
}
