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

package docker

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// takenAddress returns the static address that keeps a container from starting because
// another one has it, or nil. Docker answers 403 for an address in use, at start only for
// that reason of a container on a bridge network; the holder of the address is
// observed, to name it.
func (e *Engine) takenAddress(ctx context.Context, raw container.InspectResponse, cause error) error {
	if !errdefs.IsPermissionDenied(cause) || raw.NetworkSettings == nil {
		return nil
	}
	var desired []netip.Addr
	for name, at := range raw.NetworkSettings.Networks {
		if at == nil || at.IPAMConfig == nil {
			continue
		}
		static := valid(at.IPAMConfig.IPv4Address, at.IPAMConfig.IPv6Address)
		if conflict := e.heldAddress(ctx, name, static); conflict != nil {
			conflict.Err = cause
			return conflict
		}
		desired = append(desired, static...)
	}
	if len(desired) == 0 {
		return nil
	}
	return &engine.ConflictError{Resource: engine.ResourceAddress, Value: adapter.Join(desired, ", "), Err: cause}
}

// takenIPv6 looks for holders of a container's static IPv6 addresses before it is
// started. Docker takes the IPv4 address first and, when it finds the other one
// in use, leaves it allocated to no container until the daemon restarts: the container
// could never start again.
func (e *Engine) takenIPv6(ctx context.Context, raw container.InspectResponse) error {
	if raw.NetworkSettings == nil || observed(raw).Status == engine.StatusRunning {
		return nil
	}
	for name, at := range raw.NetworkSettings.Networks {
		if at == nil || at.IPAMConfig == nil {
			continue
		}
		if conflict := e.heldAddress(ctx, name, valid(at.IPAMConfig.IPv6Address)); conflict != nil {
			return conflict
		}
	}
	return nil
}

// heldAddress returns a conflict about the first of the addresses that the network's gateway
// or one of its containers has, or nil. It only names what is known to be taken, so an
// error of looking counts as not seen.
func (e *Engine) heldAddress(ctx context.Context, name string, static []netip.Addr) *engine.ConflictError {
	if len(static) == 0 {
		return nil
	}
	answer, err := e.network(ctx, name)
	if err != nil {
		return nil //nolint:nilerr // It is not seen, see above.
	}
	for _, address := range static {
		if slices.ContainsFunc(subnets(answer.IPAM), func(s engine.Subnet) bool { return s.Gateway == address }) {
			return &engine.ConflictError{Resource: engine.ResourceAddress, Value: address.String()}
		}
		for _, other := range answer.Containers {
			if slices.Contains(valid(other.IPv4Address.Addr(), other.IPv6Address.Addr()), address) {
				return &engine.ConflictError{Resource: engine.ResourceAddress, Value: address.String(), Holder: other.Name}
			}
		}
	}
	return nil
}

// takenPort says which host port of a container that did not start is taken,
// or nil: by another container, which is observed, or by a process of the
// engine's host.
func (e *Engine) takenPort(ctx context.Context, raw container.InspectResponse, cause error) (error, error) {
	desired := pinnedPorts(raw)
	if len(desired) == 0 || errdefs.IsNotFound(cause) || errdefs.IsInvalidArgument(cause) {
		return nil, nil
	}
	answer, err := e.list(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("find container that publishes the host port: %w", err)
	}
	others := make([]engine.Container, 0, len(answer))
	for _, one := range answer {
		others = append(others, engine.Container{ID: one.ID, Name: ownName(one.Names), Ports: listedPorts(one)})
	}
	return adapter.PortClaim{ID: raw.ID, Ports: desired, Cause: cause, Says: saysPortTaken}.Conflict(others), nil
}

func pinnedPorts(raw container.InspectResponse) []engine.PortBinding {
	if raw.HostConfig == nil {
		return nil
	}
	return slices.DeleteFunc(publishedPorts(raw.HostConfig.PortBindings), func(p engine.PortBinding) bool { return p.HostPort == 0 })
}

// saysPortTaken reads Docker's words, where an error can only be judged
// by its text. Docker answers 500 for every failure to publish a port, and a
// process of the engine's host that listens cannot be seen through the API;
// nor can it be probed from here, who may be in another network namespace or
// on another machine. The two phrases are those of Docker's port allocator
// (another container has the port) and of the kernel (EADDRINUSE, in the
// language-neutral form that Go prints), the same from 20.10 to 28. Should
// they change, the start still fails with the cause, only without the type;
// the conformance suite would notice.
func saysPortTaken(cause error, port uint16) bool {
	text := cause.Error()
	return adapter.Says(text, "port is already allocated", "address already in use") && adapter.NamesPort(text, port)
}

// saysNoStatic reads Docker's words, as saysPortTaken does: it answers 400, as for a program
// that the image does not have, and its networks do not show whether it chose the subnet.
func saysNoStatic(cause error) bool {
	return errdefs.IsInvalidArgument(cause) && adapter.Says(cause.Error(), "networks with user configured subnets")
}

// saysCDI reads Docker's words, as saysPortTaken does: it answers 500. A Docker that
// has no CDI lacks the driver; one that has it does not know the device.
func saysCDI(raw container.InspectResponse, cause error) bool {
	return raw.HostConfig != nil && len(raw.HostConfig.DeviceRequests) > 0 &&
		adapter.Says(cause.Error(), `device driver "`+cdiDriver+`"`, "CDI device")
}
