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

package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// HeldPort is a host port that a container has recorded.
type HeldPort struct {
	// Port that is wanted.
	Port engine.PortBinding
	// Holder publishes it when it runs.
	Holder engine.Container
}

// HolderText is for users: a machine, a load balancer or a registry.
func (h HeldPort) HolderText() string {
	if machine := h.Holder.Labels[identity.LabelMachine]; machine != "" {
		return h.Holder.Name + " of Machine " + machine
	}
	return h.Holder.Name
}

// HeldPorts returns those of the ports that containers of this project have recorded, also while
// they do not run. Ports without a host port, and containers that isOwn reports, are left out. What
// other processes listen on is found when a container is started.
func HeldPorts(ctx context.Context, containers engine.ContainerReader, ports []engine.PortBinding, isOwn func(engine.Container) bool) ([]HeldPort, error) {
	wanted := slices.DeleteFunc(slices.Clone(ports), func(port engine.PortBinding) bool { return port.HostPort == 0 })
	if len(wanted) == 0 {
		return nil, nil
	}
	others, err := containers.ListContainers(ctx, map[string]string{identity.LabelHostPorts: ""})
	if err != nil {
		return nil, fmt.Errorf("list containers that publish ports: %w", err)
	}
	var held []HeldPort
	for _, other := range others {
		if isOwn(other) {
			continue
		}
		for text := range strings.SplitSeq(other.Labels[identity.LabelHostPorts], ",") {
			for _, port := range wanted {
				if collides(port, text) {
					held = append(held, HeldPort{Port: port, Holder: other})
				}
			}
		}
	}
	return held, nil
}

// collides reports whether a port cannot be published alongside the one of a label.
func collides(port engine.PortBinding, text string) bool {
	endpoint, protocol, _ := strings.Cut(text, "/")
	taken, err := netip.ParseAddrPort(endpoint)
	return err == nil && protocol == port.Protocol.Name() && taken.Port() == port.HostPort &&
		(taken.Addr() == port.HostAddress || taken.Addr().IsUnspecified() || !port.HostAddress.IsValid() || port.HostAddress.IsUnspecified())
}
