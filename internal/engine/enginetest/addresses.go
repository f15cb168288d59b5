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

func addressChecks() map[string]check {
	return map[string]check{
		"static": {
			contract: "in a subnet the engine chose, static addresses may be given; none while it does not run",
			run:      keepsStaticAddress,
		},
		"static in the dynamic slice": {
			contract: "a static address may lie in the dynamic slice if it is free",
			run: func(t *testing.T, c *fixture) {
				subnet := firstSubnet(t, c.network(t, "net"))
				want := subnet.Dynamic.Addr().Next().Next()
				c.run(t, c.at("a", want))
				c.wantAddresses(t, "a", want)
			},
		},
		"dynamic": {
			contract: "Dynamic is the slice the engine gives dynamic addresses from",
			run: func(t *testing.T, c *fixture) {
				subnet := firstSubnet(t, c.network(t, "net"))
				for _, suffix := range []string{"a", "b", "c"} {
					c.run(t, c.at(suffix))
					got := c.inspect(t, c.named(suffix)).Networks[c.named("net")].Addresses
					if len(got) != 1 || !subnet.Dynamic.Contains(got[0]) {
						t.Errorf("addresses %v, want one of %s", got, subnet.Dynamic)
					}
				}
			},
		},
		"taken": {
			contract: "Static address taken: a ConflictError of ResourceAddress; the container is still there, and not running",
			run:      refusesTakenAddress,
		},
		"gateway": {
			contract: "the gateway's address is taken",
			run: func(t *testing.T, c *fixture) {
				subnet := firstSubnet(t, c.network(t, "net"))
				c.create(t, c.at("a", subnet.Gateway))
				err := c.StartContainer(t.Context(), c.named("a"))
				wantTaken(t, "start with the gateway's address", err, engine.ResourceAddress, subnet.Gateway.String())
			},
		},
		"outside the subnet": {
			contract: "A value the engine refuses: ErrInvalid",
			run: func(t *testing.T, c *fixture) {
				c.network(t, "net")
				c.wantNotCreated(t, c.at("a", netip.MustParseAddr("192.0.2.7")), engine.ErrInvalid)
			},
		},
		"two processes allocating": {
			contract: "of several that start with one address, one runs and the others get a ConflictError",
			run:      allocatesOnce,
		},
	}
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

func keepsStaticAddress(t *testing.T, c *fixture) {
	want := address(firstSubnet(t, c.network(t, "net")), 7)
	c.run(t, c.at("a", want))
	c.wantAddresses(t, "a", want)
	c.stop(t, c.named("a"))
	c.wantAddresses(t, "a")
	c.start(t, c.named("a"))
	c.wantAddresses(t, "a", want)
}

func refusesTakenAddress(t *testing.T, c *fixture) {
	subnet := firstSubnet(t, c.network(t, "net"))
	static := address(subnet, 9)
	c.run(t, c.at("holder", static))
	c.create(t, c.at("second", static))
	err := c.StartContainer(t.Context(), c.named("second"))
	wantTaken(t, "start with a taken address", err, engine.ResourceAddress, static.String())
	wantHolder(t, "start with a taken address", err, c.named("holder"))
	t.Logf("the error: %v", err)
	c.wantNotStarted(t, c.named("second"))
	c.stop(t, c.named("holder"))
	c.start(t, c.named("second"))
	c.wantAddresses(t, "second", static)
	err = c.StartContainer(t.Context(), c.named("holder"))
	wantTaken(t, "start of the first, whose address the second now has", err, engine.ResourceAddress, static.String())
}

func allocatesOnce(t *testing.T, c *fixture) {
	const callers = 6
	static := address(firstSubnet(t, c.network(t, "net")), 11)
	for i := range callers {
		c.create(t, c.at(fmt.Sprint(i), static))
	}
	winner := c.oneWins(t, callers, engine.ConflictError{Resource: engine.ResourceAddress, Value: static.String()},
		func(i int, connection engine.Engine) error {
			return connection.StartContainer(t.Context(), c.named(fmt.Sprint(i)))
		})
	c.wantAddresses(t, fmt.Sprint(winner), static)
}
