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

func networkChecks() map[string]check {
	return map[string]check{
		"engine chooses": {
			contract: "Without a subnet in the spec the engine chooses one; its upper half is dynamic",
			run: func(t *testing.T, c *fixture) {
				created := c.network(t, "net")
				if created.ID == "" || created.Name != c.named("net") || created.Driver != "bridge" {
					t.Errorf("network %+v, want an ID, its name and the driver bridge", created)
				}
				if created.Labels["enginetest"] != c.name {
					t.Errorf("labels %v, want those given", created.Labels)
				}
				c.wantSubnets(t, created, firstSubnet(t, created).Prefix)
			},
		},
		"list": {
			contract: "ListNetworks returns every network that carries all labels, ordered by name",
			run:      listsNetworks,
		},
		"explicit subnet": {
			contract: "Subnets of the spec are the network's",
			run: func(t *testing.T, c *fixture) {
				subnet := c.subnet("198.18.10.0/24")
				c.wantSubnets(t, c.network(t, "net", subnet), subnet)
			},
		},
		"small subnet": {
			contract: "a subnet of eight addresses is enough",
			run: func(t *testing.T, c *fixture) {
				subnet := c.subnet("198.18.30.8/29")
				created := c.network(t, "net", subnet)
				c.wantSubnets(t, created, subnet)
				static := address(created.Subnets[0], 2)
				c.run(t, c.at("static", static))
				c.wantAddresses(t, "static", static)
				c.run(t, c.at("dynamic"))
			},
		},
		"subnet taken": {
			contract: "Subnet taken: a ConflictError of ResourceSubnet",
			run: func(t *testing.T, c *fixture) {
				c.network(t, "net", c.subnet("198.18.20.0/24"))
				half := c.subnet("198.18.20.0/25")
				forget(t, c.RemoveNetwork, c.named("other"))
				_, err := c.CreateNetwork(t.Context(), engine.NetworkSpec{Name: c.named("other"), Subnets: []netip.Prefix{half}})
				wantTaken(t, "create a network in a taken subnet", err, engine.ResourceSubnet, "")
				_, err = c.InspectNetwork(t.Context(), c.named("other"))
				wantKind(t, "inspect what was not created", err, engine.ErrNotFound)
			},
		},
		"subnet invalid": {
			contract: "a subnet with host bits set: ErrInvalid",
			run: func(t *testing.T, c *fixture) {
				forget(t, c.RemoveNetwork, c.named("net"))
				_, err := c.CreateNetwork(t.Context(), engine.NetworkSpec{
					Name: c.named("net"), Subnets: []netip.Prefix{netip.MustParsePrefix("198.18.40.7/24")},
				})
				wantKind(t, "create", err, engine.ErrInvalid)
			},
		},
		"name taken": {
			contract: "Name taken: a ConflictError of ResourceName",
			run: func(t *testing.T, c *fixture) {
				c.network(t, "net")
				_, err := c.CreateNetwork(t.Context(), engine.NetworkSpec{Name: c.named("net")})
				wantTaken(t, "create the same name again", err, engine.ResourceName, c.named("net"))
			},
		},
		"created concurrently": {
			contract: "Name taken also when two callers create concurrently: one of them wins",
			run:      createsNetworkOnce,
		},
		"interrupted": {
			contract: "a creation that was interrupted does not block the next",
			run:      createsAfterInterruption,
		},
		"exact name": {
			contract: "the network of that exact name",
			run: func(t *testing.T, c *fixture) {
				created := c.network(t, "net")
				for _, name := range []string{c.named("ne"), c.named("net-2"), created.ID[:12]} {
					_, err := c.InspectNetwork(t.Context(), name)
					wantKind(t, "inspect "+name, err, engine.ErrNotFound)
					wantNoError(t, "remove "+name, c.RemoveNetwork(t.Context(), name))
				}
				if _, err := c.InspectNetwork(t.Context(), created.Name); err != nil {
					t.Errorf("after the removal of other names: %v", err)
				}
			},
		},
		"remove": {
			contract: "Containers attached, running or not: ErrConflict; absent succeeds",
			run:      removesOnlyUnusedNetwork,
		},
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
	began := time.Now()
	winner := c.oneWins(t, callers, engine.ConflictError{Resource: engine.ResourceName, Value: c.named("net")},
		func(i int, connection engine.Engine) (err error) {
			created[i], err = connection.CreateNetwork(t.Context(), engine.NetworkSpec{Name: c.named("net")})
			return err
		})
	t.Logf("%d callers took %s", callers, time.Since(began))
	found, err := c.InspectNetwork(t.Context(), c.named("net"))
	if err != nil || found.ID != created[winner].ID {
		t.Errorf("network %s, %v, want the winner's, %s", found.ID, err, created[winner].ID)
	}
}

func createsAfterInterruption(t *testing.T, c *fixture) {
	name := c.named("net")
	forget(t, c.RemoveNetwork, name)
	t.Cleanup(func() { c.removeNetworks(t, map[string]string{engine.LabelCreating: name}) })
	for _, after := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		_, err := c.CreateNetwork(ctx, engine.NetworkSpec{Name: name})
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
	c.wantSubnets(t, created, firstSubnet(t, created).Prefix)
}

// removeNetworks removes the networks that carry all labels.
func (c *fixture) removeNetworks(t *testing.T, labels map[string]string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	found, err := c.ListNetworks(ctx, labels)
	wantNoError(t, "list networks", err)
	for _, network := range found {
		wantNoError(t, "remove", c.RemoveNetwork(ctx, network.Name))
	}
}

func removesOnlyUnusedNetwork(t *testing.T, c *fixture) {
	c.network(t, "net")
	c.create(t, c.at("a"))
	wantKind(t, "a container that never ran is attached", c.RemoveNetwork(t.Context(), c.named("net")), engine.ErrConflict)
	c.start(t, c.named("a"))
	wantKind(t, "a running container is attached", c.RemoveNetwork(t.Context(), c.named("net")), engine.ErrConflict)
	c.stop(t, c.named("a"))
	wantKind(t, "a stopped container is attached", c.RemoveNetwork(t.Context(), c.named("net")), engine.ErrConflict)
	wantNoError(t, "remove the container", c.RemoveContainer(t.Context(), c.named("a")))
	wantNoError(t, "remove the network", c.RemoveNetwork(t.Context(), c.named("net")))
	wantNoError(t, "remove it again", c.RemoveNetwork(t.Context(), c.named("net")))
}

func listsNetworks(t *testing.T, c *fixture) {
	second, first := c.network(t, "b"), c.network(t, "a")
	for title, test := range map[string]struct {
		selector map[string]string
		want     []engine.Network
	}{
		"a label":  {map[string]string{"enginetest": c.name}, []engine.Network{first, second}},
		"a key":    {map[string]string{"enginetest": c.name, "absent": ""}, nil},
		"no match": {map[string]string{"enginetest": c.name + "-not"}, nil},
	} {
		found, err := c.ListNetworks(t.Context(), test.selector)
		wantNoError(t, title, err)
		if len(found) != len(test.want) {
			t.Fatalf("%s: networks %+v, want %+v", title, found, test.want)
		}
		for i, network := range found {
			want := test.want[i]
			if network.ID != want.ID || network.Name != want.Name || network.Driver != want.Driver ||
				network.CreatedAt.IsZero() || !network.CreatedAt.Equal(want.CreatedAt) ||
				network.Labels["enginetest"] != c.name || firstSubnet(t, network).Prefix != firstSubnet(t, want).Prefix {
				t.Errorf("%s: network %+v, want what was created: %+v", title, network, want)
			}
		}
	}
}
