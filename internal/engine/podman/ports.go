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
	"strings"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
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
		return nil, fmt.Errorf("find container that publishes the host port: %w", err)
	}
	return adapter.PortClaim{ID: raw.ID, Ports: wanted, Cause: cause, Says: saysPortTaken}.Conflict(others), nil
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
