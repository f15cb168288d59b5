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

package up

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/admission"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// requestedPort is a port of the host that a file names.
type requestedPort struct {
	field string
	engine.PortBinding
}

func (p requestedPort) endpoint() netip.AddrPort {
	return netip.AddrPortFrom(p.HostAddress, p.HostPort)
}

func (p requestedPort) problem(reason string) input.Problem {
	return input.Problem{Field: p.field, Value: p.endpoint().String() + "/" + p.Protocol.Name(), Reason: reason, Remedy: "use another host port, or stop what uses it"}
}

// checkPorts refuses host ports of a file that several Machines would publish, that another
// cluster publishes, or that a process uses if the engine is on this host.
func (r *run) checkPorts(ctx context.Context) error {
	if r.request.Topology == nil {
		return nil
	}
	on, err := r.on(ctx)
	if err != nil {
		return err
	}
	problems := repeatedPorts(r.request.Topology)
	for _, port := range requestedPorts(r.request.Topology) {
		held, err := network.HeldPorts(ctx, on.Engine, []engine.PortBinding{port.PortBinding}, func(engine.Container) bool { return false })
		isOwn := func(held network.HeldPort) bool { return held.Holder.Labels[identity.LabelCluster] == r.request.Name }
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(held, isOwn):
		case len(held) > 0:
			problems = append(problems, port.problem("is published by container "+held[0].HolderText()))
		case r.engineIsHere() && r.session.PortInUse(ctx, port.Protocol.Name(), port.endpoint()):
			problems = append(problems, port.problem("is used by a process of this host"))
		}
	}
	return input.Refuse(problems...)
}

// requestedPorts of the load balancer and of the nodes. Of what is no list of ports there are
// none: the API server refuses it.
func requestedPorts(topology *clusterv1.Topology) []requestedPort {
	var balancer infrav1.LoadBalancer
	places := admission.Places(topology)
	decodeVariable(topology.Variables, objects.LoadBalancerVariable, &balancer)
	field := places[0].Field(objects.LoadBalancerVariable)
	ports := []requestedPort{bind(field+".hostPort", balancer.HostPort, balancer.HostAddress, "")}
	for i, mapping := range balancer.PortMappings {
		ports = append(ports, bind(fmt.Sprintf("%s.portMappings[%d].hostPort", field, i), mapping.HostPort, mapping.Address, ""))
	}
	for _, place := range places {
		for i, mapping := range portMappings(place.Variables) {
			ports = append(ports, bind(portField(place, i), mapping.HostPort, mapping.Address, mapping.Protocol))
		}
	}
	return slices.DeleteFunc(ports, func(port requestedPort) bool { return port.HostPort == 0 })
}

func portField(place admission.Place, index int) string {
	return fmt.Sprintf("%s[%d].hostPort", place.Field("portMappings"), index)
}

func bind(field string, hostPort int32, address string, protocol infrav1.PortProtocol) requestedPort {
	port := requestedPort{field, engine.PortBinding{HostPort: uint16(hostPort)}} //nolint:gosec // The API admits 1 to 65535.
	if protocol == infrav1.PortProtocolUDP {
		port.Protocol = engine.ProtocolUDP
	}
	parsed, err := netip.ParseAddr(cmp.Or(address, infrav1.DefaultPortAddress))
	if err != nil {
		return requestedPort{} // The API server refuses it.
	}
	port.HostAddress = parsed
	return port
}

// repeatedPorts are host ports of nodes that more than one Machine would publish.
func repeatedPorts(topology *clusterv1.Topology) []input.Problem {
	var problems []input.Problem
	for _, place := range admission.Places(topology) {
		for i, mapping := range portMappings(place.Variables) {
			if mapping.HostPort != 0 && place.Machines > 1 {
				problems = append(problems, input.Problem{
					Field: portField(place, i), Value: fmt.Sprint(mapping.HostPort),
					Reason: fmt.Sprintf("cannot be published by %d Machines", place.Machines),
					Remedy: "set it for one MachineDeployment with one replica, or use loadBalancer.portMappings",
				})
			}
		}
	}
	return problems
}

func portMappings(variables []clusterv1.ClusterVariable) (mappings []infrav1.PortMapping) {
	decodeVariable(variables, "portMappings", &mappings)
	return mappings
}

// decodeVariable of a list; what is absent or of another form leaves the value as it is.
func decodeVariable(variables []clusterv1.ClusterVariable, name string, value any) {
	at := slices.IndexFunc(variables, func(variable clusterv1.ClusterVariable) bool { return variable.Name == name })
	if at >= 0 {
		_ = json.Unmarshal(variables[at].Value.Raw, value)
	}
}
