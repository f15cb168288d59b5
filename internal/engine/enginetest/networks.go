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
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func networkChecks() checks {
	return checks{
		// Without an IPv4 subnet in the spec the engine chooses one; its upper half is dynamic. Other
		// subnets are those of the spec, at most one per IP family; IPv4 first.
		"subnets": choosesSubnets,
		// A subnet of eight addresses is enough.
		"small subnet": func(t *testing.T, c *fixture) {
			subnet := c.subnet("198.18.30.8/29")
			created := c.network(t, "net", subnet)
			c.wantSubnets(t, created, subnet)
			static := address(created.Subnets[0], 2)
			c.run(t, c.at("static", static))
			c.wantAddresses(t, "static", static)
			c.run(t, c.at("dynamic"))
		},
		// Subnet taken: a ConflictError of ResourceSubnet.
		"subnet taken": func(t *testing.T, c *fixture) {
			c.network(t, "net", c.subnet("198.18.20.0/24"), c.subnet("fd13:7a3c:0:21::/64"))
			for _, taken := range []string{"198.18.20.0/25", "fd13:7a3c:0:21::/80"} {
				forget(t, c.RemoveNetwork, c.named("other"))
				spec := engine.NetworkSpec{Name: c.named("other"), Subnets: subnetsOf(c.subnet(taken))}
				wantTaken(t, "create a network in "+taken, failure(c.CreateNetwork(t.Context(), spec)),
					engine.ConflictError{Resource: engine.ResourceSubnet})
				wantKind(t, "inspect what was not created", failure(c.InspectNetwork(t.Context(), c.named("other"))), engine.ErrNotFound)
			}
		},
		// A subnet with host bits set: ErrInvalid.
		"subnet invalid": func(t *testing.T, c *fixture) {
			forget(t, c.RemoveNetwork, c.named("net"))
			spec := engine.NetworkSpec{Name: c.named("net"), Subnets: subnetsOf(netip.MustParsePrefix("198.18.40.7/24"))}
			wantKind(t, "create", failure(c.CreateNetwork(t.Context(), spec)), engine.ErrInvalid)
		},
		// Name taken: a ConflictError of ResourceName.
		"name taken": func(t *testing.T, c *fixture) {
			c.network(t, "net")
			wantTaken(t, "create the same name again", failure(c.CreateNetwork(t.Context(), engine.NetworkSpec{Name: c.named("net")})),
				engine.ConflictError{Resource: engine.ResourceName, Value: c.named("net")})
		},
		// Name taken also when two callers create concurrently: one of them wins.
		"created concurrently": createsNetworkOnce,
		// A creation that was interrupted does not block the next.
		"interrupted": createsAfterInterruption,
		// The network of that exact name.
		"exact name": func(t *testing.T, c *fixture) {
			created := c.network(t, "net")
			for _, name := range []string{c.named("ne"), c.named("net-2"), created.ID[:12]} {
				wantKind(t, "inspect "+name, failure(c.InspectNetwork(t.Context(), name)), engine.ErrNotFound)
				wantNoError(t, "remove "+name, c.RemoveNetwork(t.Context(), name))
			}
			wantNoError(t, "after the removal of other names", failure(c.InspectNetwork(t.Context(), created.Name)))
		},
		// Containers attached, running or not: ErrConflict.
		"remove": removesOnlyUnusedNetwork,
	}
}

func subnetsOf(prefixes ...netip.Prefix) []netip.Prefix { return prefixes }

func choosesSubnets(t *testing.T, c *fixture) {
	ipv4, ipv6, both := c.subnet("198.18.10.0/24"), c.subnet("fd13:7a3c:0:20::/64"), c.subnet("fd13:7a3c:0:22::/112")
	for title, test := range map[string]struct{ spec, want []netip.Prefix }{
		"none": {nil, subnetsOf(netip.Prefix{})},
		"ipv4": {subnetsOf(ipv4), subnetsOf(ipv4)},
		"ipv6": {subnetsOf(ipv6), subnetsOf(netip.Prefix{}, ipv6)},
		"both": {subnetsOf(both, c.subnet("198.18.50.0/24")), subnetsOf(c.subnet("198.18.50.0/24"), both)},
	} {
		created := c.network(t, title, test.spec...)
		if created.ID == "" || created.Name != c.named(title) || created.Driver != "bridge" || created.Labels["enginetest"] != c.name {
			t.Errorf("%s: network %+v, want an ID, its name, its labels and the driver bridge", title, created)
		}
		if len(created.Subnets) == 0 || !created.Subnets[0].Prefix.Addr().Is4() {
			t.Fatalf("%s: subnets %v, want one of IPv4 first", title, created.Subnets)
		}
		if !test.want[0].IsValid() {
			test.want[0] = created.Subnets[0].Prefix
		}
		c.wantSubnets(t, created, test.want...)
	}
}

// wantSubnets also wants the network inspected as it was created.
func (c *fixture) wantSubnets(t *testing.T, created engine.Network, prefixes ...netip.Prefix) {
	t.Helper()
	var want []engine.Subnet
	for _, prefix := range prefixes {
		want = append(want, engine.Subnet{Prefix: prefix, Gateway: prefix.Addr().Next(), Dynamic: engine.DynamicSlice(prefix)})
	}
	opts := cmp.Options{addressComparer(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}
	if diff := cmp.Diff(want, created.Subnets, opts); diff != "" {
		t.Errorf("subnets (-want +got):\n%s", diff)
	}
	again, err := c.InspectNetwork(t.Context(), created.Name)
	succeed(t, "inspect network", err)
	if diff := cmp.Diff(created, again, opts); diff != "" {
		t.Errorf("inspected against created (-want +got):\n%s", diff)
	}
}

func createsNetworkOnce(t *testing.T, c *fixture) {
	const callers = 8
	forget(t, c.RemoveNetwork, c.named("net"))
	created := make([]engine.Network, callers)
	winner := c.oneWins(t, callers, engine.ConflictError{Resource: engine.ResourceName, Value: c.named("net")},
		func(i int, connection engine.Engine) (err error) {
			created[i], err = connection.CreateNetwork(t.Context(), engine.NetworkSpec{Name: c.named("net")})
			return err
		})
	found, err := c.InspectNetwork(t.Context(), c.named("net"))
	if err != nil || found.ID != created[winner].ID {
		t.Errorf("network %s, %v, want the winner's, %s", found.ID, err, created[winner].ID)
	}
}

func createsAfterInterruption(t *testing.T, c *fixture) {
	name := c.named("net")
	forget(t, c.RemoveNetwork, name)
	t.Cleanup(func() { c.removeTemporary(t, name) })
	for _, after := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		err := failure(c.CreateNetwork(ctx, engine.NetworkSpec{Name: name}))
		cancel()
		if err == nil {
			wantNoError(t, "remove", c.RemoveNetwork(t.Context(), name))
		}
	}
	created, err := c.CreateNetwork(t.Context(), engine.NetworkSpec{Name: name})
	if engine.IsTaken(err, engine.ResourceName) {
		// The last one was created though its caller had gone.
		created, err = c.InspectNetwork(t.Context(), name)
	}
	succeed(t, "create after interruptions", err)
	c.wantSubnets(t, created, created.Subnets[0].Prefix)
}

// removeTemporary removes what interrupted creations of the network left behind.
func (c *fixture) removeTemporary(t *testing.T, name string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	found, err := c.ListNetworks(ctx, map[string]string{engine.LabelCreating: name})
	wantNoError(t, "list networks", err)
	for _, network := range found {
		wantNoError(t, "remove", c.RemoveNetwork(ctx, network.Name))
	}
}

func removesOnlyUnusedNetwork(t *testing.T, c *fixture) {
	name := c.network(t, "net").Name
	remove := func() error { return c.RemoveNetwork(t.Context(), name) }
	c.create(t, c.at("a"))
	wantKind(t, "a container that never ran is attached", remove(), engine.ErrConflict)
	c.start(t, c.named("a"))
	wantKind(t, "a running container is attached", remove(), engine.ErrConflict)
	c.stop(t, c.named("a"))
	wantKind(t, "a stopped container is attached", remove(), engine.ErrConflict)
	c.remove(t, c.named("a"))
	wantNoError(t, "remove the network", remove())
}
