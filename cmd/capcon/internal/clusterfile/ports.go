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

package clusterfile

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

// anyAddress is kind's default.
const anyAddress = "0.0.0.0"

// workerPorts sets the ports of a worker, and reports whether one has a host port.
func (f *file) workerPorts(index int, variables map[string]any) (pinned bool) {
	var ports []infrav1.PortMapping
	for i, mapping := range f.Nodes[index].ExtraPortMappings {
		if !f.checkPort(index, i, mapping) {
			continue
		}
		pinned = pinned || mapping.HostPort > 0
		ports = append(ports, infrav1.PortMapping{
			ContainerPort: mapping.ContainerPort, HostPort: max(mapping.HostPort, 0),
			Address: cmp.Or(mapping.ListenAddress, anyAddress), Protocol: infrav1.PortProtocol(mapping.Protocol),
		})
	}
	if len(ports) > 0 {
		variables["portMappings"] = ports
	}
	return pinned
}

// balancerPorts are the ports of control planes, which the load balancer publishes: it stays
// when control planes are replaced.
func (f *file) balancerPorts() []infrav1.LoadBalancerPort {
	var ports []infrav1.LoadBalancerPort
	hostPorts := map[int32]int32{}
	for _, index := range f.controlPlanes() {
		for i, mapping := range f.Nodes[index].ExtraPortMappings {
			refuse := func(field, value, reason, remedy string) {
				f.refuse(f.line("nodes", index, "extraPortMappings", i, field), fmt.Sprintf("nodes[%d].extraPortMappings[%d].%s", index, i, field), value, reason, remedy)
			}
			other, mapped := hostPorts[mapping.ContainerPort]
			const loadBalancer = "ports of control planes are ports of the cluster's load balancer, "
			switch {
			case !f.checkPort(index, i, mapping):
			case cmp.Or(mapping.Protocol, v1alpha4.PortMappingProtocolTCP) != v1alpha4.PortMappingProtocolTCP:
				refuse("protocol", string(mapping.Protocol), loadBalancer+"which forwards TCP only", "map the port of a worker")
			case mapping.HostPort <= 0:
				refuse("hostPort", "", loadBalancer+"which has no port of its own to choose", "set hostPort")
			case mapping.ContainerPort == apiPort:
				refuse("containerPort", strconv.Itoa(apiPort), "is the port of the API server", "set networking.apiServerPort")
			case mapped:
				refuse("containerPort", strconv.Itoa(int(mapping.ContainerPort)), fmt.Sprintf("%swhich publishes it on host port %d already", loadBalancer, other), "remove it")
			default:
				hostPorts[mapping.ContainerPort] = mapping.HostPort
				f.locate(fmt.Sprintf("%s.portMappings[%d]", value(objects.LoadBalancerVariable), len(ports)),
					fmt.Sprintf("nodes[%d].extraPortMappings[%d]", index, i), f.node("nodes", index, "extraPortMappings", i))
				ports = append(ports, infrav1.LoadBalancerPort{
					ContainerPort: mapping.ContainerPort, HostPort: mapping.HostPort, Address: cmp.Or(mapping.ListenAddress, anyAddress),
				})
			}
		}
	}
	return ports
}

// apiPort of the load balancer.
const apiPort = 6443

const maxPort = 65535

// checkPort refuses what no engine could publish.
func (f *file) checkPort(index, i int, mapping v1alpha4.PortMapping) bool {
	before := len(f.problems)
	refuse := func(field, value, reason, remedy string) {
		f.refuse(f.line("nodes", index, "extraPortMappings", i, field), fmt.Sprintf("nodes[%d].extraPortMappings[%d].%s", index, i, field), value, reason, remedy)
	}
	if mapping.ContainerPort < 1 || mapping.ContainerPort > maxPort {
		refuse("containerPort", strconv.Itoa(int(mapping.ContainerPort)), "is no port", "use 1 to 65535")
	}
	if mapping.HostPort < -1 || mapping.HostPort > maxPort {
		refuse("hostPort", strconv.Itoa(int(mapping.HostPort)), "is no port", "use 1 to 65535")
	}
	if _, err := netip.ParseAddr(cmp.Or(mapping.ListenAddress, anyAddress)); err != nil {
		refuse("listenAddress", mapping.ListenAddress, "is no IP address", "use 127.0.0.1, or 0.0.0.0 for all")
	}
	if mapping.Protocol == v1alpha4.PortMappingProtocolSCTP {
		refuse("protocol", string(mapping.Protocol), "not every engine publishes SCTP", "use TCP or UDP")
	}
	return len(f.problems) == before
}

// checkHostPorts refuses a host port that two nodes would publish, or a node and the API server.
func (f *file) checkHostPorts() {
	type port struct {
		number   int32
		protocol v1alpha4.PortMappingProtocol
	}
	used := map[port]string{}
	if number := f.Networking.APIServerPort; number > 0 {
		used[port{number, v1alpha4.PortMappingProtocolTCP}] = "networking.apiServerPort"
	}
	for index := range f.Nodes {
		for i, mapping := range f.Nodes[index].ExtraPortMappings {
			one := port{mapping.HostPort, cmp.Or(mapping.Protocol, v1alpha4.PortMappingProtocolTCP)}
			path := fmt.Sprintf("nodes[%d].extraPortMappings[%d].hostPort", index, i)
			if other := used[one]; other != "" && one.number > 0 {
				f.refuse(f.line("nodes", index, "extraPortMappings", i, "hostPort"), path, strconv.Itoa(int(one.number)), "is that of "+other+" too", "use another port")
			}
			used[one] = path
		}
	}
}
