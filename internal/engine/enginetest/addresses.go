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

package enginetest

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// addressChecks run on a network with a subnet that the engine chooses, and on one with a
// subnet of IPv6 in addition. What is taken is the address in the last subnet.
func addressChecks() checks {
	out := checks{
		// Of several that start with one address, one runs and the others get a ConflictError.
		"two processes allocating": allocatesOnce,
		// A static address may lie in the dynamic slice if it is free.
		"static in the dynamic slice": func(t *testing.T, c *fixture) {
			want := c.network(t, "net").Subnets[0].Dynamic.Addr().Next().Next()
			c.run(t, c.at("a", want))
			c.wantAddresses(t, "a", want)
		},
	}
	cases := map[string]func(t *testing.T, c *fixture, network engine.Network){
		// Static addresses may be given, at most one per IP family; IPv4 first; none while the
		// container does not run.
		"static": keepsStaticAddresses,
		// Dynamic is the slice the engine gives dynamic addresses from.
		"dynamic": givesDynamicAddresses,
		// Static address taken: a ConflictError of ResourceAddress; the container is still there,
		// and not running.
		"taken": refusesTakenAddress,
		// The gateway's address is taken.
		"gateway": func(t *testing.T, c *fixture, network engine.Network) {
			gateway := network.Subnets[len(network.Subnets)-1].Gateway
			c.create(t, c.at("a", withLast(addresses(network, 5), gateway)...))
			wantTaken(t, "start with the gateway's address", c.StartContainer(t.Context(), c.named("a")),
				engine.ConflictError{Resource: engine.ResourceAddress, Value: gateway.String()})
		},
	}
	for i, title := range []string{"static", "dynamic", "taken", "gateway"} {
		out[title] = func(t *testing.T, c *fixture) { cases[title](t, c, c.network(t, "net")) }
		out[title+" IPv6"] = func(t *testing.T, c *fixture) {
			cases[title](t, c, c.network(t, "net", c.subnet(fmt.Sprintf("fd13:7a3c:0:1%d::/64", i))))
		}
	}
	return out
}

// addresses are the n-th of each subnet.
func addresses(network engine.Network, n int) []netip.Addr {
	var out []netip.Addr
	for _, subnet := range network.Subnets {
		out = append(out, address(subnet, n))
	}
	return out
}

// address is the n-th of a subnet.
func address(subnet engine.Subnet, n int) netip.Addr {
	out := subnet.Prefix.Addr()
	for range n {
		out = out.Next()
	}
	return out
}

func withLast(all []netip.Addr, last netip.Addr) []netip.Addr {
	all[len(all)-1] = last
	return all
}

// at is the spec of a container on the case's network.
func (c *fixture) at(suffix string, static ...netip.Addr) engine.Spec {
	spec := c.spec(suffix)
	spec.Attachment = engine.Attachment{Network: c.named("net"), Addresses: static}
	return spec
}

func (c *fixture) wantAddresses(t *testing.T, suffix string, want ...netip.Addr) {
	t.Helper()
	got := c.inspect(t, c.named(suffix)).Networks[c.named("net")].Addresses
	if !slices.Equal(got, want) {
		t.Errorf("addresses %v, want %v", got, want)
	}
}

func keepsStaticAddresses(t *testing.T, c *fixture, network engine.Network) {
	want := addresses(network, 7)
	request := slices.Clone(want)
	slices.Reverse(request)
	c.run(t, c.at("a", request...))
	c.wantAddresses(t, "a", want...)
	c.stop(t, c.named("a"))
	c.wantAddresses(t, "a")
	c.start(t, c.named("a"))
	c.wantAddresses(t, "a", want...)
}

func givesDynamicAddresses(t *testing.T, c *fixture, network engine.Network) {
	for _, suffix := range []string{"a", "b", "c"} {
		c.run(t, c.at(suffix))
		got := c.inspect(t, c.named(suffix)).Networks[network.Name].Addresses
		if !slices.EqualFunc(network.Subnets, got, func(s engine.Subnet, a netip.Addr) bool { return s.Dynamic.Contains(a) }) {
			t.Errorf("addresses %v, want one of the dynamic slice of each of %v", got, network.Subnets)
		}
	}
}

func refusesTakenAddress(t *testing.T, c *fixture, network engine.Network) {
	first := addresses(network, 9)
	static := first[len(first)-1]
	second := withLast(addresses(network, 10), static)
	conflict := engine.ConflictError{Resource: engine.ResourceAddress, Value: static.String(), Holder: c.named("holder")}
	c.run(t, c.at("holder", first...))
	c.create(t, c.at("second", second...))
	err := c.StartContainer(t.Context(), c.named("second"))
	wantTaken(t, "start with a taken address", err, conflict)
	t.Logf("the error: %v", err)
	if static.Is4() { // one of IPv6 is looked up before the engine starts the container
		c.wantNotStarted(t, c.named("second"))
	}
	c.stop(t, c.named("holder"))
	c.start(t, c.named("second"))
	c.wantAddresses(t, "second", second...)
	conflict.Holder = ""
	wantTaken(t, "start of the first, whose address the second now has", c.StartContainer(t.Context(), c.named("holder")), conflict)
}

func allocatesOnce(t *testing.T, c *fixture) {
	const callers = 6
	static := address(c.network(t, "net").Subnets[0], 11)
	for i := range callers {
		c.create(t, c.at(fmt.Sprint(i), static))
	}
	winner := c.oneWins(t, callers, engine.ConflictError{Resource: engine.ResourceAddress, Value: static.String()},
		func(i int, connection engine.Engine) error {
			return connection.StartContainer(t.Context(), c.named(fmt.Sprint(i)))
		})
	c.wantAddresses(t, fmt.Sprint(winner), static)
}

func attachmentChecks() checks {
	return checks{
		// ConnectNetwork succeeds if it is attached, DisconnectNetwork if it is not.
		"connect and disconnect": connectsAndDisconnects,
		// A container taken off its network can be put back at its address.
		"back where it was": func(t *testing.T, c *fixture) {
			spec := c.at("a", address(c.network(t, "net").Subnets[0], 5))
			c.run(t, spec)
			wantNoError(t, "disconnect", c.DisconnectNetwork(t.Context(), c.named("net"), spec.Name))
			if _, ok := c.inspect(t, spec.Name).Networks[c.named("net")]; ok {
				t.Error("still on the network after disconnect")
			}
			wantNoError(t, "connect", c.ConnectNetwork(t.Context(), c.named("net"), spec.Name, spec.Attachment))
			c.wantAddresses(t, "a", spec.Attachment.Addresses...)
		},
		// Address taken: a ConflictError of ResourceAddress.
		"address taken": func(t *testing.T, c *fixture) {
			holder := c.at("holder", address(c.network(t, "net").Subnets[0], 6))
			c.run(t, holder)
			c.run(t, c.spec("a"))
			wantTaken(t, "connect with a taken address", c.ConnectNetwork(t.Context(), c.named("net"), c.named("a"), holder.Attachment),
				engine.ConflictError{Resource: engine.ResourceAddress, Value: holder.Attachment.Addresses[0].String()})
		},
	}
}

func connectsAndDisconnects(t *testing.T, c *fixture) {
	subnet := c.network(t, "net").Subnets[0]
	c.network(t, "second")
	ctx := t.Context()
	for i, suffix := range []string{"running", "stopped"} {
		spec := c.spec(suffix)
		spec.Attachment.Network = c.named("second")
		name := spec.Name
		c.create(t, spec)
		if suffix == "running" {
			c.start(t, name)
		}
		attachment := c.at(suffix, address(subnet, 20+i)).Attachment
		wantNoError(t, suffix+": connect", c.ConnectNetwork(ctx, c.named("net"), name, attachment))
		wantNoError(t, suffix+": connect again", c.ConnectNetwork(ctx, c.named("net"), name, attachment))
		c.start(t, name)
		c.wantAddresses(t, suffix, attachment.Addresses...)
		wantNoError(t, suffix+": disconnect", c.DisconnectNetwork(ctx, c.named("net"), name))
		wantNoError(t, suffix+": disconnect again", c.DisconnectNetwork(ctx, c.named("net"), name))
		c.wantStatus(t, suffix+": after disconnect", name, engine.StatusRunning)
	}
}
