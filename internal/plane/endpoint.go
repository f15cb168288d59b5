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
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// IsRemote reports whether the engine is on another host, where its published ports are
// not reachable from this one. An engine in a virtual machine of this host is not: its
// endpoint is a socket or a loopback address, and its ports are forwarded.
func IsRemote(info engine.Info) bool {
	host := hostOf(info)
	address, err := netip.ParseAddr(host)
	return host != "" && host != "localhost" && (err != nil || !address.IsLoopback())
}

// NeedsTunnels reports whether the engine may be on another host: through SSH, a loopback
// address can be a forwarded port.
func NeedsTunnels(info engine.Info) bool {
	return IsRemote(info) || strings.HasPrefix(info.Endpoint, "ssh://")
}

// hostOf the endpoint; empty where it is a socket.
func hostOf(info engine.Info) string {
	endpoint, err := url.Parse(info.Endpoint)
	if err != nil || endpoint.Scheme == "unix" || endpoint.Scheme == "npipe" {
		return ""
	}
	return endpoint.Hostname()
}

// kernelFile holds the release of this host's kernel; there is none on hosts other
// than Linux.
const kernelFile = "/proc/sys/kernel/osrelease"

// EngineSocket is the path of the engine's socket on the engine's host: the endpoint
// where that is a socket of this host, otherwise the engine's usual one.
func EngineSocket(info engine.Info) string { return socketOf(info, ownKernel()) }

// IsLocal reports whether the engine runs on this host, and not in a virtual machine of it.
func IsLocal(info engine.Info) bool { return isLocal(info, ownKernel()) }

// isLocal: a virtual machine has another kernel, or in WSL the same one.
func isLocal(info engine.Info, kernel string) bool {
	return strings.HasPrefix(info.Endpoint, "unix://") && kernel == info.Kernel && !strings.Contains(info.OperatingSystem, "Docker Desktop")
}

// socketOf is the path of the engine's socket on the engine's host. kernel is the
// release of this host's; empty = not Linux.
func socketOf(info engine.Info, kernel string) string {
	// A virtual machine has its own socket in another place than the one on the user's side.
	if isLocal(info, kernel) {
		return strings.TrimPrefix(info.Endpoint, "unix://")
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
