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
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

const (
	// user runs haproxy; it owns nothing. It is the haproxy user of the stock
	// image, written as a number because other images lack the name.
	user = "99:99"
	// memoryBytes is some 10 MiB for master and worker, 5 MiB for each of
	// fifty old workers at most, and 128 MiB of buffers where all connections
	// transfer immediately.
	memoryBytes = 512 << 20
	// pids is two processes with their threads, the old ones, and what is
	// executed.
	pids = 512
)

// containerSpec is the load balancer's container, without its place. hostPorts are by
// the port that each publishes.
func containerSpec(spec Spec, hostPorts map[uint16]uint16) engine.Spec {
	hostAddress := spec.HostAddress
	if !hostAddress.IsValid() {
		hostAddress = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	name := spec.Name()
	// Docker lets anyone listen on ports below 1024, Podman does not. Without one there may be
	// one later, and no container gets a capability once it exists.
	security := engine.Security{DropAllCapabilities: true, AddCapabilities: []string{"NET_BIND_SERVICE"}, NoNewPrivileges: true}
	labels := spec.labels()
	var ports []engine.PortBinding
	var recorded []string
	for _, port := range slices.Sorted(maps.Keys(hostPorts)) {
		ports = append(ports, engine.PortBinding{HostAddress: hostAddress, HostPort: hostPorts[port], ContainerPort: port})
		recorded = append(recorded, netip.AddrPortFrom(hostAddress, hostPorts[port]).String()+"/"+engine.ProtocolTCP.Name())
	}
	if len(recorded) > 0 {
		labels[identity.LabelHostPorts] = strings.Join(recorded, hostPortSeparator)
	}
	return engine.Spec{
		Name:     name,
		Hostname: identity.HostName(name),
		Image:    spec.Image,
		// Not the image's own entrypoint: what runs must not differ from
		// image to image. -W: a master that can replace its worker; -db: in
		// the foreground.
		Entrypoint: []string{"haproxy", "-W", "-db", "-f", haproxy.ConfigPath},
		User:       user,
		Labels:     labels,
		Ports:      ports,
		Security:   security,
		Resources:  engine.Resources{MemoryBytes: memoryBytes, Pids: pids, OpenFiles: haproxy.OpenFiles},
		Restart:    engine.RestartUnlessStopped,
		// The stock image asks for SIGUSR1, which waits for the last
		// connection to end.
		StopSignal: "SIGTERM",
	}
}
