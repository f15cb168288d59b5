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
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

const (
	// hostPortSeparator between the entries of a label.
	hostPortSeparator = ","
	// maxHostPortAttempts is how many ports of one load balancer may turn out to be taken.
	maxHostPortAttempts = 32
)

// ErrNoHostPort says that all ports of the range are in use.
var ErrNoHostPort = errors.New("no free host port")

// choice is that of host ports for a container that is created.
type choice struct {
	name   string
	pinned map[uint16]uint16
	choose network.HostPortRange
	// used are the ports that containers have recorded, also while they do not run, and
	// those that turned out to be taken.
	used     map[uint16]bool
	chosen   map[uint16]uint16
	attempts int
}

func newChoice(ctx context.Context, containers engine.ContainerReader, spec Spec) (*choice, error) {
	c := &choice{name: spec.Name(), pinned: spec.HostPorts, choose: spec.HostPortRange, used: map[uint16]bool{}, chosen: map[uint16]uint16{}}
	if c.choose == (network.HostPortRange{}) {
		c.choose = network.DefaultHostPorts()
	}
	if !pinsHostPorts(spec) {
		others, err := containers.ListContainers(ctx, map[string]string{identity.LabelHostPorts: ""})
		if err != nil {
			return nil, fmt.Errorf("list containers that publish ports: %w", err)
		}
		for _, other := range others {
			for _, port := range recorded(other) {
				c.used[port] = c.used[port] || other.Name != c.name
			}
		}
	}
	for _, hostPort := range spec.HostPorts {
		c.used[hostPort] = true
	}
	err := c.complete()
	return c, err
}

// complete chooses a port for each that has none.
func (c *choice) complete() error {
	for _, port := range slices.Sorted(maps.Keys(c.pinned)) {
		if c.pinned[port] != 0 {
			c.chosen[port] = c.pinned[port]
		}
		if c.chosen[port] != 0 {
			continue
		}
		key := network.HostPortKey(c.name, engine.PortBinding{ContainerPort: port})
		hostPort := c.choose.Choose(key, func(port uint16) bool { return c.used[port] })
		if hostPort == 0 {
			return fmt.Errorf("%w in %s; remove what uses them, or extend the range", ErrNoHostPort, c.choose)
		}
		c.chosen[port], c.used[hostPort] = hostPort, true
	}
	return nil
}

// replace the port that is taken, where it was chosen here; otherwise err is returned.
func (c *choice) replace(err error) error {
	var conflict *engine.ConflictError
	if !errors.As(err, &conflict) || conflict.Resource != engine.ResourceHostPort || c.attempts == maxHostPortAttempts {
		return err
	}
	c.attempts++
	for port, hostPort := range c.chosen {
		if c.pinned[port] == 0 && strconv.Itoa(int(hostPort)) == conflict.Value {
			c.chosen[port] = 0
			return c.complete()
		}
	}
	return err
}

// recorded are the host ports of a container's label.
func recorded(container engine.Container) []uint16 {
	var hostPorts []uint16
	for text := range strings.SplitSeq(container.Labels[identity.LabelHostPorts], hostPortSeparator) {
		endpoint, _, _ := strings.Cut(text, "/")
		if parsed, err := netip.ParseAddrPort(endpoint); err == nil {
			hostPorts = append(hostPorts, parsed.Port())
		}
	}
	return hostPorts
}

// checkHeld refuses pinned host ports that another container has, before one that runs is removed
// for them. Those that the container has recorded are its own.
func checkHeld(ctx context.Context, containers engine.ContainerReader, spec Spec, existing engine.Container) error {
	own := strings.Split(existing.Labels[identity.LabelHostPorts], hostPortSeparator)
	var ports []engine.PortBinding
	for _, binding := range spec.bindings(spec.HostPorts) {
		if !slices.Contains(own, record(binding)) {
			ports = append(ports, binding)
		}
	}
	held, err := network.HeldPorts(ctx, containers, ports, func(other engine.Container) bool { return other.Name == spec.Name() })
	if err != nil || len(held) == 0 {
		return err
	}
	return &engine.ConflictError{
		Resource: engine.ResourceHostPort, Value: strconv.Itoa(int(held[0].Port.HostPort)), Holder: held[0].Holder.Name,
	}
}

// record is the entry of a label for a host port.
func record(port engine.PortBinding) string {
	return netip.AddrPortFrom(port.HostAddress, port.HostPort).String() + "/" + port.Protocol.Name()
}

// HostPort that publishes a port of the load balancer of a Service, also while it does not
// run; 0 where none does.
func (s State) HostPort(port uint16) uint16 {
	if hostPort := s.HostPorts[port]; hostPort != 0 {
		return hostPort
	}
	hostPorts := recorded(s.container)
	published := strings.Split(s.container.Labels[identity.LabelPorts], ",")
	i := slices.IndexFunc(published, func(text string) bool { return strings.TrimSuffix(text, udpSuffix) == strconv.Itoa(int(port)) })
	if i < 0 || len(hostPorts) != len(published) {
		return 0
	}
	return hostPorts[i]
}
