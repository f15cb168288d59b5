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

package podman

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// addressAnnotation records which addresses a container was created with:
// Podman keeps them to itself until it runs. It is fixed at creation; an address
// given by ConnectNetwork is checked there.
const addressAnnotation = "container.infrastructure.cluster.x-k8s.io/static-addresses"

func recorded(raw define.InspectContainerData) []netip.Addr {
	if raw.Config == nil || raw.Config.Annotations[addressAnnotation] == "" {
		return nil
	}
	return adapter.Addresses(strings.Split(raw.Config.Annotations[addressAnnotation], ",")...)
}

// checkReserved keeps a container from starting with an address that its network
// keeps for itself. Podman would let it, and the network would be broken.
func (e *Engine) checkReserved(ctx context.Context, raw define.InspectContainerData) error {
	desired := recorded(raw)
	if len(desired) == 0 || raw.NetworkSettings == nil {
		return nil
	}
	for name := range raw.NetworkSettings.Networks {
		existing, err := e.network(ctx, name)
		if err != nil {
			return err
		}
		if err := reserved(existing.subnets(), desired); err != nil {
			return err
		}
	}
	return nil
}

// reserved is a conflict where one of the addresses is the gateway's, the first
// or, of IPv4, the last of a subnet.
func reserved(subnets []engine.Subnet, desired []netip.Addr) error {
	for _, address := range desired {
		for _, subnet := range subnets {
			isLast := address.Is4() && subnet.Prefix.Contains(address) && !subnet.Prefix.Contains(address.Next())
			if address == subnet.Gateway || address == subnet.Prefix.Addr() || isLast {
				return &engine.ConflictError{Resource: engine.ResourceAddress, Value: address.String()}
			}
		}
	}
	return nil
}

// takenAddress says which static address of a container that did not start is
// taken, or nil. Podman answers 500 for every start that did not succeed: who
// has the address is observed.
func (e *Engine) takenAddress(ctx context.Context, raw define.InspectContainerData, cause error) (error, error) {
	desired := recorded(raw)
	if raw.NetworkSettings == nil {
		return nil, nil
	}
	for name := range raw.NetworkSettings.Networks {
		conflict, err := e.held(ctx, name, claim{desired: desired, by: raw.ID})
		if err != nil {
			return nil, fmt.Errorf("find container with the address: %w", err)
		}
		if conflict != nil {
			conflict.Err = cause
			return conflict, nil
		}
	}
	if address, ok := saysAddressTaken(cause); ok {
		return &engine.ConflictError{Resource: engine.ResourceAddress, Value: address.String(), Err: cause}, nil
	}
	return nil, nil
}

// saysAddressTaken reads Podman's error text. It says what cannot be observed: that
// the holder is just starting, or which address it is that was given to a
// container by connecting it. They are those of its own allocator, the same from
// 4.3 to 5.8. Should they change, the start still fails with the cause, mostly
// with the type as well; the conformance suite would notice.
func saysAddressTaken(cause error) (netip.Addr, bool) {
	_, rest, ok := strings.Cut(cause.Error(), "requested ip address ")
	text, rest, _ := strings.Cut(rest, " ")
	address, err := netip.ParseAddr(text)
	if !ok || err != nil || !strings.HasPrefix(rest, "is already allocated") {
		return netip.Addr{}, false
	}
	return address, true
}

// claim is which addresses are desired, and by which container (its ID).
type claim struct {
	desired []netip.Addr
	by      string
}

// held says which of the desired addresses another container has on the network,
// or nil.
func (e *Engine) held(ctx context.Context, network string, c claim) (*engine.ConflictError, error) {
	if len(c.desired) == 0 {
		return nil, nil
	}
	attached, err := e.attachedTo(ctx, network)
	if err != nil {
		return nil, err
	}
	for _, other := range attached {
		if other.ID == c.by {
			continue
		}
		for _, address := range other.Networks[network].Addresses {
			if slices.Contains(c.desired, address) {
				return &engine.ConflictError{
					Resource: engine.ResourceAddress, Value: address.String(),
					Holder: other.Name,
				}, nil
			}
		}
	}
	return nil, nil
}

// attachedTo returns the running containers of a network.
func (e *Engine) attachedTo(ctx context.Context, network string) ([]engine.Container, error) {
	attached, err := e.running(ctx, map[string][]string{"network": {network}})
	return slices.DeleteFunc(attached, func(container engine.Container) bool { return !isAttached(container, network) }), err
}

// takenPort says which host port of a container that did not start is taken, or
// nil: by another container, which is observed, or by a process of the engine's
// host.
func (e *Engine) takenPort(ctx context.Context, raw define.InspectContainerData, cause error) (error, error) {
	if raw.HostConfig == nil {
		return nil, nil
	}
	desired := publishedPorts(raw.HostConfig.PortBindings)
	if len(desired) == 0 {
		return nil, nil
	}
	others, err := e.running(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("find container that publishes the host port: %w", err)
	}
	return adapter.PortClaim{ID: raw.ID, Ports: desired, Cause: cause, Says: saysPortTaken}.Conflict(others), nil
}

// saysPortTaken reads Podman's words. It answers 500 for every failure to
// publish a port, and a process of the engine's host that listens cannot be seen
// through the API; nor can it be probed from here, who may be on another machine.
// The phrase is the kernel's EADDRINUSE as Go prints it, the same rootful and
// rootless. Should it change, the start still fails with the cause, only without
// the type; the conformance suite would notice.
func saysPortTaken(cause error, port uint16) bool {
	text := cause.Error()
	return strings.Contains(text, "address already in use") && adapter.NamesPort(text, port)
}
