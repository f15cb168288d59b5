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

// Package loadbalancer keeps the container that is the API endpoint of a
// cluster: it creates it, gives it backends, reads back what the running
// process does with them, and removes it.
//
// The calls of one load balancer are made by one writer, the cluster's
// controller; any goroutine may call Observe and Serving. Nothing is
// kept between calls.
//
//	state, err := loadbalancer.Ensure(ctx, engine, spec, existing)
//	config.Backends = loadbalancer.Backends(machines, state)
//	state, err = loadbalancer.Sync(ctx, engine, state, config)
package loadbalancer

import (
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
	// Held are addresses that it does not get although none is seen with them; may be nil.
	Held network.Holders
	// HostAddresses by the port of the configuration that each publishes; 127.0.0.1 by default.
	HostAddresses map[uint16]netip.Addr
	// HostPorts by the port of the configuration that each publishes. 0 = choose a free
	// one, to be pinned by the caller from State.HostPorts. Which ports are published is
	// fixed for the container's life: others need another container. One that the configuration
	// has with TCP and UDP is published for both, on one host port.
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
	for _, port := range s.bindings(s.HostPorts) {
		text := strconv.Itoa(int(port.ContainerPort))
		if port.Protocol == engine.ProtocolUDP {
			text += udpSuffix
		}
		ports = append(ports, text)
	}
	return strings.Join(ports, ",")
}

// udpSuffix of a port in a label; a port without one is of TCP.
const udpSuffix = "/udp"

// bindings of ports to these host ports, in order.
func (s Spec) bindings(hostPorts map[uint16]uint16) []engine.PortBinding {
	var ports []engine.PortBinding
	for _, port := range slices.Sorted(maps.Keys(hostPorts)) {
		tcp := engine.PortBinding{HostAddress: s.hostAddress(port), HostPort: hostPorts[port], ContainerPort: port}
		udp := tcp
		udp.Protocol = engine.ProtocolUDP
		hasUDP := s.has(port, true)
		if s.has(port, false) || !hasUDP {
			ports = append(ports, tcp)
		}
		if hasUDP {
			ports = append(ports, udp)
		}
	}
	return ports
}

func (s Spec) has(port uint16, isUDP bool) bool {
	return slices.ContainsFunc(s.Config.Frontends, func(f haproxy.Frontend) bool { return f.Port == port && f.UDP == isUDP })
}

// relays reports whether the container is to run the relay.
func (s Spec) relays() bool {
	return slices.ContainsFunc(s.Config.Frontends, func(f haproxy.Frontend) bool { return f.UDP })
}

// hostAddress that a port is published on.
func (s Spec) hostAddress(port uint16) netip.Addr {
	if address, found := s.HostAddresses[port]; found {
		return address
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// pinsHostPorts reports whether no host port is left to be chosen.
func pinsHostPorts(spec Spec) bool {
	return !slices.Contains(slices.Collect(maps.Values(spec.HostPorts)), 0)
}

const (
	// user runs haproxy; it owns nothing. It is the haproxy user of the stock
	// image, written as a number because other images lack the name.
	user = "99:99"
	// memoryBytes is some 10 MiB for master and worker, 5 MiB for each of
	// fifty old workers at most, and 128 MiB of buffers where all connections
	// transfer immediately. A relay with all its sessions has another 64 MiB.
	memoryBytes = 512 << 20
	// pids is two processes with their threads, the old ones, and what is
	// executed.
	pids = 512
)

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

// containerSpec returns the load balancer's container, without its place. hostPorts are by
// the port that each publishes.
func containerSpec(spec Spec, hostPorts map[uint16]uint16) engine.Spec {
	name, labels := spec.Name(), spec.labels()
	ports := spec.bindings(hostPorts)
	var recorded []string
	for _, binding := range ports {
		recorded = append(recorded, record(binding))
	}
	// Not the image's own entrypoint: what runs must not differ from image to image. -W: a master
	// that can replace its worker; -db: in the foreground.
	entrypoint := []string{"haproxy", "-W", "-db", "-f", haproxy.ConfigPath}
	if spec.relays() {
		entrypoint = append([]string{relayProgram}, entrypoint...)
	}
	if len(recorded) > 0 {
		labels[identity.LabelHostPorts] = strings.Join(recorded, hostPortSeparator)
	}
	return engine.Spec{
		Name:       name,
		Hostname:   identity.HostName(name),
		Image:      spec.Image,
		Entrypoint: entrypoint,
		User:       user,
		Labels:     labels,
		Ports:      ports,
		// Docker lets any user listen on ports below 1024, Podman does not. Without one there may be
		// one later, and no container gets a capability once it exists.
		Security:  engine.Security{DropAllCapabilities: true, AddCapabilities: []string{"NET_BIND_SERVICE"}, NoNewPrivileges: true},
		Resources: engine.Resources{MemoryBytes: memoryBytes, Pids: pids, OpenFiles: haproxy.OpenFiles},
		Restart:   engine.RestartUnlessStopped,
		// The stock image has SIGUSR1, which waits for the last
		// connection to end.
		StopSignal: "SIGTERM",
	}
}
