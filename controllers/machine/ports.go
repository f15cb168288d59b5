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

package machine

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// ports that the machine publishes; those without a host port get a free one. Webhooks
// refuse an address that is not valid.
func (s *scope) ports() []engine.PortBinding {
	var ports []engine.PortBinding
	for _, mapping := range s.containerMachine.Spec.PortMappings {
		port := engine.PortBinding{
			HostPort:      uint16(mapping.HostPort),      //nolint:gosec // The API admits 1 to 65535.
			ContainerPort: uint16(mapping.ContainerPort), //nolint:gosec // The API admits 1 to 65535.
		}
		if mapping.Protocol == infrav1.PortProtocolUDP {
			port.Protocol = engine.ProtocolUDP
		}
		// The zero value is all addresses.
		address, err := netip.ParseAddr(cmp.Or(mapping.Address, infrav1.DefaultPortAddress))
		if err == nil && !address.IsUnspecified() {
			port.HostAddress = address
		}
		ports = append(ports, port)
	}
	return ports
}

func hostPortText(port engine.PortBinding) string {
	address := port.HostAddress
	if !address.IsValid() {
		address = netip.IPv4Unspecified()
	}
	return netip.AddrPortFrom(address, port.HostPort).String() + "/" + port.Protocol.Name()
}

// checkPorts refuses a host port that another machine has, before anything is created. What
// other processes have is found when the container is started.
func (r *Reconciler) checkPorts(ctx context.Context, s *scope) error {
	wanted := slices.DeleteFunc(s.ports(), func(port engine.PortBinding) bool { return port.HostPort == 0 })
	if s.hasStarted() || len(wanted) == 0 {
		return nil
	}
	containers, err := r.Engine.ListContainers(ctx, map[string]string{identity.LabelHostPorts: ""})
	if err != nil {
		return engineError(fmt.Errorf("list containers that publish ports: %w", err))
	}
	for _, container := range containers {
		if container.Name == s.containerName() {
			continue
		}
		for text := range strings.SplitSeq(container.Labels[identity.LabelHostPorts], ",") {
			for i, port := range wanted {
				if collides(port, text) {
					return waitForUser(infrav1.HostPortInUseReason, fmt.Sprintf(
						"spec.portMappings: host port %s is published by container %s; use another host port, or omit hostPort if the template has several replicas",
						hostPortText(wanted[i]), holder(container)))
				}
			}
		}
	}
	return nil
}

// holder of a port is a machine, a load balancer or a registry.
func holder(container engine.Container) string {
	if machine := container.Labels[identity.LabelMachine]; machine != "" {
		return container.Name + " of Machine " + machine
	}
	return container.Name
}

// collides reports whether a port cannot be published alongside the one of a label.
func collides(port engine.PortBinding, text string) bool {
	endpoint, protocol, _ := strings.Cut(text, "/")
	taken, err := netip.ParseAddrPort(endpoint)
	return err == nil && protocol == port.Protocol.Name() && taken.Port() == port.HostPort &&
		(taken.Addr() == port.HostAddress || taken.Addr().IsUnspecified() || !port.HostAddress.IsValid())
}

// publishPorts sets the ports in the status. A container that does not run keeps those it had.
func (s *scope) publishPorts() {
	if len(s.container.Ports) == 0 {
		return
	}
	mappings := make([]infrav1.PortMapping, 0, len(s.container.Ports))
	for _, port := range s.container.Ports {
		mapping := infrav1.PortMapping{
			ContainerPort: int32(port.ContainerPort), HostPort: int32(port.HostPort),
			Address: netip.IPv4Unspecified().String(), Protocol: infrav1.PortProtocolTCP,
		}
		if port.HostAddress.IsValid() {
			mapping.Address = port.HostAddress.String()
		}
		if port.Protocol == engine.ProtocolUDP {
			mapping.Protocol = infrav1.PortProtocolUDP
		}
		mappings = append(mappings, mapping)
	}
	s.containerMachine.Status.PortMappings = mappings
}
