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
	"slices"
	"strconv"
	"strings"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// takenPort says which host port of a container that did not start is taken, or
// nil: by another container, which is observed, or by a process of the engine's
// host.
func (e *Engine) takenPort(ctx context.Context, raw define.InspectContainerData, cause error) (error, error) {
	if raw.HostConfig == nil {
		return nil, nil
	}
	wanted := publishedPorts(raw.HostConfig.PortBindings)
	if len(wanted) == 0 {
		return nil, nil
	}
	others, err := e.running(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("look for the holder of a host port: %w", err)
	}
	for _, port := range wanted {
		for _, other := range others {
			if other.ID != raw.ID && slices.ContainsFunc(other.Ports, func(p engine.PortBinding) bool { return collide(p, port) }) {
				return portConflict(port, fmt.Errorf("container %q has it: %w", other.Name, cause)), nil
			}
		}
	}
	for _, port := range wanted {
		if saysPortTaken(cause, port.HostPort) {
			return portConflict(port, cause), nil
		}
	}
	return nil, nil
}

func portConflict(port engine.PortBinding, cause error) error {
	return &engine.ConflictError{Resource: engine.ResourceHostPort, Value: strconv.Itoa(int(port.HostPort)), Err: cause}
}

// collide reports whether two bindings cannot both be listened on. The zero
// address means all.
func collide(a, b engine.PortBinding) bool {
	return a.HostPort == b.HostPort &&
		(a.HostAddress == b.HostAddress || !a.HostAddress.IsValid() || !b.HostAddress.IsValid())
}

// saysPortTaken reads Podman's words. It answers 500 for every failure to
// publish a port, and a process of the engine's host that listens cannot be seen
// through the API; nor can it be probed from here, who may be on another machine.
// The phrase is the kernel's EADDRINUSE as Go prints it, the same rootful and
// rootless. Should it change, the start still fails with the cause, only without
// the type; the conformance suite would notice.
func saysPortTaken(cause error, port uint16) bool {
	text := cause.Error()
	if !strings.Contains(text, "address already in use") {
		return false
	}
	number := ":" + strconv.Itoa(int(port))
	_, rest, found := strings.Cut(text, number)
	for found && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		// The beginning of a longer number.
		_, rest, found = strings.Cut(rest, number)
	}
	return found
}
