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
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Spec says what load balancer a cluster or one of its Services has.
type Spec struct {
	// Owner names the container and labels it.
	Owner identity.Owner
	// Service that it is for; the zero value means the control plane.
	Service Service
	// Image that is present on the engine.
	Image string
	// Network it starts on; must exist.
	Network string
	// Addresses are pinned; none = choose, to be pinned by the caller from
	// State.Addresses.
	Addresses []netip.Addr
	// HostAddress that ports are published on; the zero value means 127.0.0.1.
	HostAddress netip.Addr
	// HostPorts by the port of the configuration that each publishes. 0 = choose a free
	// one, to be pinned by the caller from State.HostPorts. Which ports are published is
	// fixed for the container's life: others need another container.
	HostPorts map[uint16]uint16
	// HostPortRange that free host ports are chosen from; the zero value means the default.
	HostPortRange network.HostPortRange
	// Config of the first start, and of every start of a stopped container. That of a
	// Service is first started without backends: Sync gives it the rest, after haproxy
	// has accepted it.
	Config haproxy.Config
}

// Service of a workload cluster.
type Service struct {
	// Namespace and Name are for users, UID identifies it.
	Namespace, Name, UID string
}

// Name of the container.
func (s Spec) Name() string {
	if s.Service == (Service{}) {
		return s.Owner.LoadBalancerContainer()
	}
	return s.Owner.ServiceContainer(s.Service.Name, s.Service.UID)
}

func (s Spec) labels() map[string]string {
	role := identity.RoleLoadBalancer
	if s.Service != (Service{}) {
		role = identity.RoleServiceLoadBalancer
	}
	labels := s.Owner.ContainerLabels(role, "")
	if s.Service != (Service{}) {
		labels[identity.LabelService] = s.Service.Namespace + "/" + s.Service.Name
		labels[identity.LabelServiceUID] = s.Service.UID
		labels[identity.LabelPorts] = s.published()
	}
	return labels
}

// published are the ports of HostPorts, as a label has them.
func (s Spec) published() string {
	var ports []string
	for _, port := range slices.Sorted(maps.Keys(s.HostPorts)) {
		ports = append(ports, strconv.Itoa(int(port)))
	}
	return strings.Join(ports, ",")
}

// ErrForeign says that a container of our name is not ours; see ForeignError.
var ErrForeign = errors.New("container is not owned by this cluster")

// ForeignError names a container that has the load balancer's name and is
// not the owner's. It is never adopted or removed. It matches ErrForeign.
type ForeignError struct {
	// Container is its name.
	Container string
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("container %q already exists and is not owned by this cluster; remove or rename it", e.Container)
}

// Is reports whether target is ErrForeign.
func (e *ForeignError) Is(target error) bool { return target == ErrForeign }

// Ensure makes sure that the load balancer's container exists and runs, and
// returns it as observed. found is what Inspect returned just before. What runs
// already is not changed unless it lacks a pinned address or port or its network:
// then it is recreated with them. One that exited is started, or recreated where the
// spec has another image now. A paused container stays paused.
//
// Image or network absent: ErrNotFound. A container of our name that is not
// ours: *ForeignError. The engine is still busy with an earlier call to create it:
// network.ErrCreating. A pinned address or port taken: a ConflictError of
// ResourceAddress or ResourceHostPort. No address left:
// *network.ExhaustedError. No host port left: ErrNoHostPort. A configuration that cannot be rendered:
// *haproxy.InvalidError.
func Ensure(ctx context.Context, containers network.Engine, spec Spec, found State) (State, error) {
	text, err := haproxy.Render(spec.Config)
	if err != nil {
		return State{}, fmt.Errorf("render configuration: %w", err)
	}
	state, container := found, found.container
	switch {
	case container.Name == "":
		return create(ctx, containers, spec)
	case !ours(container, spec):
		return State{}, &ForeignError{Container: container.Name}
	case neverStarted(container):
		// Place continues what an interrupted call left, or replaces it.
		return create(ctx, containers, spec)
	case !fit(container, spec):
		return recreate(ctx, containers, spec)
	case ended(container.Status):
		err = restart(ctx, containers, container.Name, text)
		if len(spec.Addresses) == 0 && engine.IsTaken(err, engine.ResourceAddress) ||
			!pinsHostPorts(spec) && engine.IsTaken(err, engine.ResourceHostPort) {
			// The place it had was not published yet.
			return recreate(ctx, containers, spec)
		}
		if err == nil {
			state, err = Inspect(ctx, containers, container.Name)
		}
		if err != nil {
			return State{}, err
		}
	}
	state, err = state.ask(ctx, containers)
	if err == nil && state.Running && !publishes(state, spec) {
		return recreate(ctx, containers, spec)
	}
	return state, err
}

// pinsHostPorts reports whether no host port is left to be chosen.
func pinsHostPorts(spec Spec) bool {
	for _, pinned := range spec.HostPorts {
		if pinned == 0 {
			return false
		}
	}
	return true
}

// publishes reports whether a running container publishes the ports, on those that are pinned.
func publishes(state State, spec Spec) bool {
	for port, pinned := range spec.HostPorts {
		if hostPort := state.HostPorts[port]; hostPort == 0 || pinned != 0 && hostPort != pinned {
			return false
		}
	}
	return true
}

func ours(container engine.Container, spec Spec) bool {
	labels := spec.labels()
	return spec.Owner.Owns(container.Labels) &&
		container.Labels[identity.LabelRole] == labels[identity.LabelRole] &&
		container.Labels[identity.LabelServiceUID] == labels[identity.LabelServiceUID]
}

// fit reports whether the container can become what the spec says by being
// started, if not by itself. One that cannot is recreated: it has no state.
func fit(container engine.Container, spec Spec) bool {
	switch {
	case container.Status == engine.StatusRemoving:
		return false
	case ended(container.Status) && container.Image != spec.Image:
		// Another image is the remedy for one that does not run.
		return false
	}
	if container.Labels[identity.LabelNetwork] != spec.Network {
		return false
	}
	if spec.Service != (Service{}) && container.Labels[identity.LabelPorts] != spec.published() {
		return false
	}
	recorded := network.Addresses(container, spec.Network)
	if !containsAll(recorded, spec.Addresses) {
		return false
	}
	// Who was taken off its network is not reached any more.
	return container.Status != engine.StatusRunning ||
		containsAll(container.Networks[spec.Network].Addresses, recorded)
}

// neverStarted is what was created and lacks its configuration, perhaps.
func neverStarted(container engine.Container) bool {
	return container.Status == engine.StatusCreated && container.StartedAt.IsZero()
}

// ended reports whether starting is the remedy. After a boot of its host
// Podman 4 says of what ran before that it is created.
func ended(status engine.Status) bool {
	return status == engine.StatusExited || status == engine.StatusRestarting || status == engine.StatusCreated
}

func containsAll(addresses, wanted []netip.Addr) bool {
	return !slices.ContainsFunc(wanted, func(a netip.Addr) bool { return !slices.Contains(addresses, a) })
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

func recreate(ctx context.Context, containers network.Engine, spec Spec) (State, error) {
	name := spec.Name()
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
	return stateOf(container).ask(ctx, containers)
}

// firstConfig is what a new container is started with. haproxy refuses what it does not
// like by ending, and the engine starts it again and again; a process that runs says why.
func firstConfig(spec Spec) haproxy.Config {
	config := spec.Config
	if spec.Service == (Service{}) {
		return config
	}
	config.Frontends = slices.Clone(config.Frontends)
	for i := range config.Frontends {
		config.Frontends[i].Backends, config.Frontends[i].Sources = nil, nil
	}
	return config
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
