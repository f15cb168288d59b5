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

package plane

import (
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// RemoteError says that the engine is on another host. Its ports are published
// there, where this host does not reach them.
type RemoteError struct {
	// Endpoint of the engine, and what named it; may be empty.
	Endpoint, ChosenBy string
}

// Error implements error.
func (e *RemoteError) Error() string {
	named := ""
	if e.ChosenBy != "" {
		named = " (" + e.ChosenBy + ")"
	}
	return fmt.Sprintf("the container engine at %s%s is remote, and publishes ports of the management plane and clusters "+
		"on 127.0.0.1 of its host only: %s", e.Endpoint, named, e.Remedy())
}

// Remedy says what to do.
func (*RemoteError) Remedy() string {
	return "run capcon on that host, or select a local engine (--engine, DOCKER_HOST, DOCKER_CONTEXT, CONTAINER_HOST)"
}

// CheckLocal returns a *RemoteError unless the engine is on this host, or in a
// virtual machine that forwards its ports to it: its endpoint is a socket, or a
// loopback address.
func CheckLocal(info engine.Info) error {
	endpoint, err := url.Parse(info.Endpoint)
	if err != nil {
		return fmt.Errorf("parse the endpoint of the container engine: %w", err)
	}
	address, err := netip.ParseAddr(endpoint.Hostname())
	switch host := endpoint.Hostname(); {
	case endpoint.Scheme == "unix", endpoint.Scheme == "npipe", host == "", host == "localhost", err == nil && address.IsLoopback():
		return nil
	}
	return &RemoteError{Endpoint: info.Endpoint, ChosenBy: info.ChosenBy}
}

// kernelFile holds the release of this host's kernel; there is none on hosts other
// than Linux.
const kernelFile = "/proc/sys/kernel/osrelease"

// EngineSocket is the path of the engine's socket on the engine's host: the endpoint
// where that is a socket of this host, otherwise the engine's usual one.
func EngineSocket(info engine.Info) string { return socketOf(info, ownKernel()) }

// socketOf is the path of the engine's socket on the engine's host. kernel is the
// release of this host's; empty = not Linux.
func socketOf(info engine.Info, kernel string) string {
	found, local := strings.CutPrefix(info.Endpoint, "unix://")
	// A virtual machine has another kernel, and its own socket in another place
	// than the one on the user's side. In WSL it has the same kernel.
	if local && kernel == info.Kernel && !strings.Contains(info.OperatingSystem, "Docker Desktop") {
		return found
	}
	if info.Rootless {
		return info.Traits.RootlessSocket
	}
	return info.Traits.Socket
}

// ownKernel is the release of this host's kernel.
func ownKernel() string {
	release, err := os.ReadFile(kernelFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(release))
}
