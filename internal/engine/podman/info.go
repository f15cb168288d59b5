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
	"net/http"
	"strings"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// DefaultSocket of the engine that root runs.
const DefaultSocket = "/run/podman/podman.sock"

// Traits of Podman. 4.3 is the oldest version that is tested, that of Debian 12.
func Traits() engine.Traits {
	return engine.Traits{
		Product: "Podman", OldestMajor: 4, OldestMinor: 3,
		// In the virtual machines of "podman machine" the latter leads to the user's.
		Socket: DefaultSocket, RootlessSocket: "/var/run/docker.sock", SocketDirectory: "podman", SocketVariable: "CONTAINER_HOST",
		Push:             "podman push --tls-verify=false",
		BootUnit:         "podman-restart.service",
		ReservedNetworks: []string{"bridge", "container", "default", "host", "none", "ns", "pasta", "podman", "private", "slirp4netns"},
	}
}

// Info implements engine.Host.
func (e *Engine) Info(ctx context.Context) (engine.Info, error) {
	if _, err := e.open(ctx); err != nil {
		return engine.Info{}, err
	}
	var raw define.Info
	header, err := e.callForHeader(ctx, get("/info"), &raw)
	if err != nil {
		return engine.Info{}, fmt.Errorf("get info of the Podman engine at %s: %w", e.safeEndpoint(), err)
	}
	out := engine.Info{
		Name: "podman", Version: raw.Version.Version, APIVersion: raw.Version.APIVersion, Endpoint: e.safeEndpoint(),
	}
	if raw.Host != nil {
		describeHost(&out, raw.Host)
	}
	// Podman reports its clock nowhere else.
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		out.Time = at
	}
	if raw.Host != nil && raw.Store != nil {
		out.StorageDriver = raw.Store.GraphDriverName
		// GraphRoot holds the database of containers; volumes may be elsewhere, which does not
		// make it another engine. Neither a machine ID nor one of the store is reported.
		out.ID = engine.StoreID(raw.Host.Hostname, raw.Store.GraphRoot, out.Endpoint)
		out.StorageID = out.ID
	}
	return out, nil
}

func describeHost(out *engine.Info, host *define.HostInfo) {
	out.CgroupVersion, out.CgroupDriver = strings.TrimPrefix(host.CgroupsVersion, "v"), host.CgroupManager
	out.Rootless, out.SELinux = host.Security.Rootless, host.Security.SELinuxEnabled
	out.Architecture, out.Kernel = host.Arch, host.Kernel
	out.OperatingSystem = strings.TrimSpace(host.Distribution.Distribution + " " + host.Distribution.Version)
	out.CPUs, out.MemoryBytes = host.CPUs, host.MemTotal
	if host.EventLogger == "none" {
		out.Warnings = append(out.Warnings,
			`events are disabled (events_logger = "none" in containers.conf): changes of containers are detected late`)
	}
}
