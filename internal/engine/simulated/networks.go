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

package simulated

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

type network struct {
	id        string
	name      string
	labels    map[string]string
	createdAt time.Time
	subnets   []engine.Subnet
	// driver; empty = bridge.
	driver string
}

// AddNetwork makes a network that a user created, with its driver and subnets.
func (e *Engine) AddNetwork(made engine.Network) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.networks[made.Name] = &network{
		id: e.newID(), name: made.Name, labels: made.Labels, driver: made.Driver, subnets: made.Subnets, createdAt: e.now(),
	}
}

// CreateNetwork implements engine.Networks.
func (e *Engine) CreateNetwork(ctx context.Context, spec engine.NetworkSpec) (engine.Network, error) {
	var out engine.Network
	err := e.do(ctx, Call{Method: "CreateNetwork", Name: spec.Name, Mutating: true}, func() (err error) {
		out, err = e.createNetwork(spec)
		return err
	})
	return out, err
}

func (e *Engine) createNetwork(spec engine.NetworkSpec) (engine.Network, error) {
	if err := adapter.CheckNetwork(spec); err != nil {
		return engine.Network{}, err
	}
	if _, ok := e.networks[spec.Name]; ok {
		return engine.Network{}, taken(engine.ResourceName, spec.Name)
	}
	prefixes := slices.Clone(spec.Subnets)
	if !slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Addr().Is4() }) {
		chosen, err := e.chooseSubnet()
		if err != nil {
			return engine.Network{}, err
		}
		prefixes = append(prefixes, chosen)
	}
	slices.SortStableFunc(prefixes, func(a, b netip.Prefix) int { return a.Addr().BitLen() - b.Addr().BitLen() })
	n := &network{id: e.newID(), name: spec.Name, labels: maps.Clone(spec.Labels), createdAt: e.now()}
	for _, prefix := range prefixes {
		if e.overlaps(prefix) {
			return engine.Network{}, taken(engine.ResourceSubnet, prefix.String())
		}
		n.subnets = append(n.subnets, engine.Subnet{
			Prefix: prefix, Gateway: prefix.Addr().Next(), Dynamic: engine.DynamicSlice(prefix),
		})
	}
	e.networks[spec.Name] = n
	return n.observed(), nil
}

func (e *Engine) chooseSubnet() (netip.Prefix, error) {
	for _, candidate := range e.pool {
		if !e.overlaps(candidate) {
			return candidate, nil
		}
	}
	return netip.Prefix{}, &engine.ConflictError{Resource: engine.ResourceSubnet}
}

func (e *Engine) overlaps(prefix netip.Prefix) bool {
	for _, n := range e.networks {
		if slices.ContainsFunc(n.subnets, func(s engine.Subnet) bool { return s.Prefix.Overlaps(prefix) }) {
			return true
		}
	}
	return false
}

// free reports whether no running container and no gateway has the addresses.
func (e *Engine) free(n *network, addresses []netip.Addr) error {
	for _, address := range addresses {
		if taken, holder := e.holder(n, address); taken {
			return &engine.ConflictError{Resource: engine.ResourceAddress, Value: address.String(), Holder: holder}
		}
	}
	return nil
}

func (e *Engine) holds(n *network, address netip.Addr) bool {
	held, _ := e.holder(n, address)
	return held
}

// holder reports whether an address is taken, and the name of the container that has it.
func (e *Engine) holder(n *network, address netip.Addr) (bool, string) {
	for _, subnet := range n.subnets {
		if subnet.Gateway == address || subnet.Prefix.Addr() == address {
			return true, ""
		}
	}
	for _, c := range e.containers {
		if at, ok := c.endpoints[n.name]; ok && slices.Contains(at.addresses, address) {
			return true, c.spec.Name
		}
	}
	return false, ""
}

// allocate returns one address per subnet, the static ones where given.
func (n *network) allocate(e *Engine, static []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, subnet := range n.subnets {
		at := slices.IndexFunc(static, subnet.Prefix.Contains)
		if at >= 0 {
			out = append(out, static[at])
			continue
		}
		pool := subnet.Dynamic
		if !pool.IsValid() {
			pool = subnet.Prefix
		}
		for address := pool.Addr(); pool.Contains(address); address = address.Next() {
			if !e.holds(n, address) {
				out = append(out, address)
				break
			}
		}
	}
	return out
}

// InspectNetwork implements engine.Networks.
func (e *Engine) InspectNetwork(ctx context.Context, name string) (engine.Network, error) {
	return inspect(ctx, e, Call{Method: "InspectNetwork", Name: name}, "network", e.networks)
}

// ListNetworks implements engine.Inventory.
func (e *Engine) ListNetworks(ctx context.Context, selector map[string]string) ([]engine.Network, error) {
	return list(ctx, e, "ListNetworks", e.networks, func(n engine.Network) bool { return adapter.Carries(n.Labels, selector) })
}

func (n *network) observed() engine.Network {
	return engine.Network{
		ID: n.id, Name: n.name, Labels: maps.Clone(n.labels), Driver: cmp.Or(n.driver, "bridge"), CreatedAt: n.createdAt, Subnets: slices.Clone(n.subnets),
	}
}

// RemoveNetwork implements engine.Networks.
func (e *Engine) RemoveNetwork(ctx context.Context, name string) error {
	return e.do(ctx, Call{Method: "RemoveNetwork", Name: name, Mutating: true}, func() error {
		for _, c := range e.sorted() {
			if _, ok := c.endpoints[name]; ok {
				return conflict("container %q is attached to network %q", c.spec.Name, name)
			}
		}
		delete(e.networks, name)
		return nil
	})
}

// ConnectNetwork implements engine.Networks.
func (e *Engine) ConnectNetwork(ctx context.Context, name, containerName string, attachment engine.Attachment) error {
	return e.do(ctx, Call{Method: "ConnectNetwork", Name: name, Mutating: true}, func() error {
		n, ok := e.networks[name]
		if !ok {
			return absent("network", name)
		}
		c, err := e.find(containerName)
		if err != nil {
			return err
		}
		if _, ok := c.endpoints[name]; ok {
			return nil
		}
		if err := adapter.Permits(n.subnets, attachment.Addresses); err != nil {
			return err
		}
		at := &endpoint{attachment: attachment}
		if c.running() {
			if err := e.free(n, attachment.Addresses); err != nil {
				return err
			}
			at.addresses = n.allocate(e, attachment.Addresses)
		}
		c.endpoints[name] = at
		if c.running() {
			e.emit(c, engine.EventConnect, name)
		}
		return nil
	})
}

// DisconnectNetwork implements engine.Networks.
func (e *Engine) DisconnectNetwork(ctx context.Context, name, containerName string) error {
	return e.do(ctx, Call{Method: "DisconnectNetwork", Name: name, Mutating: true}, func() error {
		c, err := e.find(containerName)
		if err != nil {
			return engine.IgnoreNotFound(err)
		}
		if _, ok := c.endpoints[name]; !ok {
			return nil
		}
		delete(c.endpoints, name)
		if c.running() {
			e.emit(c, engine.EventDisconnect, name)
		}
		return nil
	})
}
