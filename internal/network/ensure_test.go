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

package network_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// inspected is an engine that has one network, of a shape that the simulated
// one never makes.
type inspected struct {
	engine.Networks
	network engine.Network
}

func (i inspected) InspectNetwork(context.Context, string) (engine.Network, error) {
	return i.network, nil
}

func TestEnsureCreates(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	first := must.Get(network.Ensure(t.Context(), eng, network.Request{}))(t)
	if first.Name != network.DefaultName || first.Labels[identity.LabelManaged] == "" || len(first.Subnets) != 1 {
		t.Errorf("created %+v, want a managed network with a subnet", first)
	}
	eng.ResetJournal()
	second, err := network.Ensure(t.Context(), eng, network.Request{Subnets: []netip.Prefix{first.Subnets[0].Prefix}})
	if err != nil || second.ID != first.ID {
		t.Errorf("Ensure again = %+v, %v", second, err)
	}
	if calls := eng.MutatingCalls(); len(calls) != 0 {
		t.Errorf("Ensure again changed something: %v", calls)
	}
}

func TestEnsureAfterAnotherCreated(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	eng.OnCall(func(call simulated.Call) error {
		if call.Method == "CreateNetwork" && call.Number == 2 {
			_, err := eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "capcon", Subnets: prefixes("10.7.0.0/24")})
			return err
		}
		return nil
	})
	found, err := network.Ensure(t.Context(), eng, network.Request{})
	if err != nil || found.Subnets[0].Prefix != netip.MustParsePrefix("10.7.0.0/24") {
		t.Errorf("Ensure = %+v, %v, want the other's network", found, err)
	}
}

func TestEnsureRefuses(t *testing.T) {
	t.Parallel()
	subnets := func(texts ...string) []engine.Subnet {
		var out []engine.Subnet
		for _, prefix := range prefixes(texts...) {
			out = append(out, engine.Subnet{Prefix: prefix})
		}
		return out
	}
	cases := map[string]struct {
		reason  string
		network engine.Network
		subnets []netip.Prefix
		want    string
	}{
		"Default":    {"Docker's own bridge takes no static addresses.", engine.Network{Name: "bridge", Driver: "bridge", Subnets: subnets("172.17.0.0/16")}, nil, "predefined network of the engine"},
		"Driver":     {"A macvlan is not reached by its host.", engine.Network{Name: "n", Driver: "macvlan", Subnets: subnets("10.0.0.0/24")}, nil, "driver"},
		"Internal":   {"No port of the API server would be published.", engine.Network{Name: "n", Driver: "bridge", Internal: true, Subnets: subnets("10.0.0.0/24")}, nil, "internal"},
		"NoSubnet":   {"Without a subnet there is nothing to allocate from.", engine.Network{Name: "n", Driver: "bridge"}, nil, "no subnet"},
		"OnlyIPv6":   {"IPv4 is what is meant where nothing is said.", engine.Network{Name: "n", Driver: "bridge", Subnets: subnets("fd00::/64")}, nil, "no IPv4"},
		"Other":      {"A subnet asked for is meant.", engine.Network{Name: "n", Driver: "bridge", Subnets: subnets("10.0.0.0/24")}, prefixes("10.1.0.0/24"), "10.0.0.0/24 instead of 10.1.0.0/24"},
		"NoFamily":   {"IPv6 asked for is meant.", engine.Network{Name: "n", Driver: "bridge", Subnets: subnets("10.0.0.0/24")}, prefixes("10.0.0.0/24", "fd00::/64"), "family of fd00::/64"},
		"TooSmall":   {"Two addresses are gateway and broadcast.", engine.Network{Name: "n", Driver: "bridge", Subnets: subnets("10.0.0.0/30", "10.0.1.0/31")}, nil, "too small"},
		"IPv6Usable": {"IPv6 alone is well where it is asked for.", engine.Network{Name: "n", Driver: "bridge", Subnets: subnets("fd00::/64")}, prefixes("fd00::/64"), ""},
		"Masked":     {"A prefix written with a host's address is the same subnet.", engine.Network{Name: "n", Driver: "bridge", Subnets: subnets("10.0.0.0/24")}, prefixes("10.0.0.1/24"), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := inspected{network: tc.network}
			_, err := network.Ensure(t.Context(), eng, network.Request{Name: tc.network.Name, Subnets: tc.subnets})
			if tc.want == "" {
				if err != nil {
					t.Errorf("%s\nEnsure: %v", tc.reason, err)
				}
				return
			}
			var unusable *network.UnusableError
			if !errors.As(err, &unusable) || !errors.Is(err, network.ErrUnusable) {
				t.Fatalf("%s\nEnsure: %v, want an UnusableError", tc.reason, err)
			}
			if !strings.Contains(err.Error(), tc.want) || unusable.Remedy == "" {
				t.Errorf("%s\nEnsure: %q, want %q and a remedy", tc.reason, err, tc.want)
			}
		})
	}
}

func TestEnsurePassesErrorsOn(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	must.Get(network.Ensure(t.Context(), eng, network.Request{Name: "a", Subnets: prefixes("10.7.0.0/24")}))(t)
	_, err := network.Ensure(t.Context(), eng, network.Request{Name: "b", Subnets: prefixes("10.7.0.0/25")})
	if !engine.IsTaken(err, engine.ResourceSubnet) {
		t.Errorf("Ensure: %v, want a conflict of the subnet", err)
	}
	eng.Down()
	if _, err := network.Ensure(t.Context(), eng, network.Request{}); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Ensure: %v, want ErrUnavailable", err)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	if gone, err := network.Remove(t.Context(), eng, "absent"); err != nil || !gone {
		t.Errorf("Remove of an absent network = %t, %v", gone, err)
	}
	must.Get(eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "users", Subnets: prefixes("10.6.0.0/24")}))(t)
	if gone, err := network.Remove(t.Context(), eng, "users"); err != nil || gone {
		t.Errorf("Remove of a user's network = %t, %v, want it kept", gone, err)
	}
	must.Get(network.Place(t.Context(), eng, placement("a")))(t)
	if gone, err := network.Remove(t.Context(), eng, network.DefaultName); err != nil || gone {
		t.Errorf("Remove of a network in use = %t, %v, want it kept", gone, err)
	}
	must.Succeed(t, eng.RemoveContainer(t.Context(), "a"))
	if gone, err := network.Remove(t.Context(), eng, network.DefaultName); err != nil || !gone {
		t.Errorf("Remove = %t, %v", gone, err)
	}
	eng.Down()
	if _, err := network.Remove(t.Context(), eng, "users"); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Remove: %v, want ErrUnavailable", err)
	}
}
