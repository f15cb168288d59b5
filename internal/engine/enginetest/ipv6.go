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
	"net/netip"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func ipv6Checks() map[string]check {
	return map[string]check{
		"engine chooses IPv4": {
			contract: "no IPv4 subnet = the engine chooses one; Subnets IPv4 first",
			run: func(t *testing.T, c *fixture) {
				prefix := c.subnet("fd13:7a3c:0:10::/64")
				created := c.network(t, "net", prefix)
				if len(created.Subnets) != 2 || !created.Subnets[0].Prefix.Addr().Is4() {
					t.Fatalf("subnets %v, want one of IPv4 and then one of IPv6", created.Subnets)
				}
				c.wantSubnets(t, created, created.Subnets[0].Prefix, prefix)
			},
		},
		"both explicit": {
			contract: "Subnets, at most one per IP family",
			run: func(t *testing.T, c *fixture) {
				first, second := c.subnet("198.18.50.0/24"), c.subnet("fd13:7a3c:0:11::/112")
				c.wantSubnets(t, c.network(t, "net", second, first), first, second)
			},
		},
		"static": {
			contract: "static addresses, at most one per IP family; IPv4 first; none while it does not run",
			run:      keepsBothAddresses,
		},
		"dynamic": {
			contract: "an address of each family from its dynamic slice",
			run: func(t *testing.T, c *fixture) {
				network := c.network(t, "net", c.subnet("fd13:7a3c:0:13::/64"))
				c.run(t, c.at("a"))
				got := c.inspect(t, c.named("a")).Networks[network.Name].Addresses
				if len(got) != 2 {
					t.Fatalf("addresses %v, want two", got)
				}
				for i, address := range got {
					if !network.Subnets[i].Dynamic.Contains(address) {
						t.Errorf("address %s, want one of %s", address, network.Subnets[i].Dynamic)
					}
				}
			},
		},
		"taken": {
			contract: "Static address taken: a ConflictError of ResourceAddress",
			run: func(t *testing.T, c *fixture) {
				network := c.network(t, "net", c.subnet("fd13:7a3c:0:14::/64"))
				first, second := address(network.Subnets[0], 5), address(network.Subnets[0], 6)
				shared := address(network.Subnets[1], 5)
				c.run(t, c.at("holder", first, shared))
				c.create(t, c.at("second", second, shared))
				err := c.StartContainer(t.Context(), c.named("second"))
				wantTaken(t, "start with a taken IPv6 address", err, engine.ResourceAddress, shared.String())
				c.stop(t, c.named("holder"))
				c.start(t, c.named("second"))
				c.wantAddresses(t, "second", second, shared)
			},
		},
		"gateway": {
			contract: "the gateway's address is taken",
			run: func(t *testing.T, c *fixture) {
				network := c.network(t, "net", c.subnet("fd13:7a3c:0:15::/64"))
				gateway := network.Subnets[1].Gateway
				c.create(t, c.at("a", address(network.Subnets[0], 5), gateway))
				err := c.StartContainer(t.Context(), c.named("a"))
				wantTaken(t, "start with the gateway's IPv6 address", err, engine.ResourceAddress, gateway.String())
			},
		},
		"outside the subnet": {
			contract: "an address outside the network's subnets: ErrInvalid",
			run: func(t *testing.T, c *fixture) {
				c.network(t, "net")
				c.wantNotCreated(t, c.at("a", netip.MustParseAddr("fd13:7a3c:0:16::5")), engine.ErrInvalid)
			},
		},
		"subnet taken": {
			contract: "Subnet taken: a ConflictError of ResourceSubnet",
			run: func(t *testing.T, c *fixture) {
				c.network(t, "net", c.subnet("fd13:7a3c:0:17::/64"))
				forget(t, c.RemoveNetwork, c.named("other"))
				_, err := c.CreateNetwork(t.Context(), engine.NetworkSpec{
					Name: c.named("other"), Subnets: []netip.Prefix{c.subnet("fd13:7a3c:0:17::/80")},
				})
				wantTaken(t, "create a network in a taken IPv6 subnet", err, engine.ResourceSubnet, "")
			},
		},
	}
}

func keepsBothAddresses(t *testing.T, c *fixture) {
	network := c.network(t, "net", c.subnet("fd13:7a3c:0:12::/64"))
	first, second := address(network.Subnets[0], 7), address(network.Subnets[1], 7)
	c.run(t, c.at("a", second, first))
	c.wantAddresses(t, "a", first, second)
	c.stop(t, c.named("a"))
	c.wantAddresses(t, "a")
	c.start(t, c.named("a"))
	c.wantAddresses(t, "a", first, second)
}
