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
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

func subnet(prefix, gateway, dynamic string) engine.Subnet {
	s := engine.Subnet{Prefix: netip.MustParsePrefix(prefix)}
	if gateway != "" {
		s.Gateway = netip.MustParseAddr(gateway)
	}
	if dynamic != "" {
		s.Dynamic = netip.MustParsePrefix(dynamic)
	}
	return s
}

func holders(addresses ...string) Holders {
	taken := Holders{}
	for _, address := range addresses {
		taken[netip.MustParseAddr(address)] = "other"
	}
	return taken
}

func TestAllocate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		subnet engine.Subnet
		taken  Holders
		want   string
		err    *ExhaustedError
	}{
		"First": {
			reason: "The network's own address and the gateway are left out.",
			subnet: subnet("172.18.0.0/16", "172.18.0.1", "172.18.128.0/17"), want: "172.18.0.2",
		},
		"Gap": {
			reason: "An address given back is used again.",
			subnet: subnet("172.18.0.0/16", "172.18.0.1", "172.18.128.0/17"), taken: holders("172.18.0.2", "172.18.0.4"), want: "172.18.0.3",
		},
		"GatewayElsewhere": {
			reason: "A gateway may be anywhere; the first address is then free.",
			subnet: subnet("10.0.0.0/24", "10.0.0.2", "10.0.0.128/25"), taken: holders("10.0.0.1"), want: "10.0.0.3",
		},
		"GatewayUnknown": {
			reason: "Engines take the first address where they report none.",
			subnet: subnet("10.0.0.0/24", "", "10.0.0.128/25"), want: "10.0.0.2",
		},
		"DynamicFirst": {
			reason: "A dynamic slice at the beginning is jumped over.",
			subnet: subnet("10.0.0.0/24", "10.0.0.1", "10.0.0.0/25"), want: "10.0.0.128",
		},
		"DynamicInTheMiddle": {
			reason: "Static addresses continue after the dynamic slice.",
			subnet: subnet("10.0.0.0/29", "10.0.0.1", "10.0.0.2/31"), want: "10.0.0.4",
		},
		"WholeIsDynamic": {
			reason: "In a network made by hand the engine begins at the beginning, so we begin at the end, before the broadcast address.",
			subnet: subnet("10.0.0.0/24", "10.0.0.1", ""), taken: holders("10.0.0.254"), want: "10.0.0.253",
		},
		"WholeIsDynamicSaidSo": {
			reason: "An ip-range of the whole subnet is the same.",
			subnet: subnet("10.0.0.0/24", "10.0.0.1", "10.0.0.0/24"), want: "10.0.0.254",
		},
		"IPv6": {
			reason: "IPv6 has no broadcast address; the first is the routers'.",
			subnet: subnet("fd00::/64", "fd00::1", "fd00:0:0:0:8000::/65"), taken: holders("fd00::2"), want: "fd00::3",
		},
		"IPv6Last": {
			reason: "The last address of IPv6 is like any other.",
			subnet: subnet("fd00::/126", "fd00::1", ""), want: "fd00::3",
		},
		"Exhausted": {
			reason: "The numbers count what could be used, and no other.",
			subnet: subnet("10.0.0.0/29", "10.0.0.1", "10.0.0.4/30"), taken: holders("10.0.0.2", "10.0.0.3", "10.0.0.5"),
			err: &ExhaustedError{Static: 2, Taken: 2},
		},
		"TooSmall": {
			reason: "A subnet of two hosts is full with gateway and broadcast.",
			subnet: subnet("10.0.0.0/31", "10.0.0.0", ""), err: &ExhaustedError{},
		},
		"NoSubnet": {reason: "The zero value has no address.", err: &ExhaustedError{}},
		"EndOfAddresses": {
			reason: "The search ends where the addresses end.",
			subnet: subnet("255.255.255.248/29", "255.255.255.249", "255.255.255.252/30"), taken: holders("255.255.255.250", "255.255.255.251"),
			err: &ExhaustedError{Static: 2, Taken: 2},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Allocate(tc.subnet, tc.taken, 0)
			if tc.err != nil {
				var exhausted *ExhaustedError
				if !errors.As(err, &exhausted) || !errors.Is(err, ErrExhausted) {
					t.Fatalf("%s\nAllocate = %s, %v, want ErrExhausted", tc.reason, got, err)
				}
				if diff := cmp.Diff(tc.err, exhausted, cmpopts.IgnoreFields(ExhaustedError{}, "Subnet")); diff != "" {
					t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
				}
				return
			}
			if err != nil || got != netip.MustParseAddr(tc.want) {
				t.Errorf("%s\nAllocate = %s, %v, want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}

func TestAllocatePreferred(t *testing.T) {
	t.Parallel()
	s := subnet("10.0.0.0/29", "10.0.0.1", "10.0.0.4/30")
	for preferred, want := range []string{"10.0.0.2", "10.0.0.3", "10.0.0.2"} {
		if got, err := Allocate(s, nil, uint32(preferred)); err != nil || got.String() != want { //nolint:gosec // Not negative.
			t.Errorf("allocate from %d = %s, %v, want %s", preferred, got, err, want)
		}
	}
	if got, err := Allocate(s, Holders{netip.MustParseAddr("10.0.0.3"): "other"}, 1); err != nil || got.String() != "10.0.0.2" {
		t.Errorf("allocate from a taken address = %s, %v, want the other one", got, err)
	}
}

func TestTaken(t *testing.T) {
	t.Parallel()
	labels := func(network, address string) map[string]string {
		return map[string]string{identity.LabelNetwork: network, identity.LabelAddress: address}
	}
	got := Taken("capcon",
		[]engine.Container{
			{Name: "stopped", Labels: labels("capcon", "10.0.0.2")},
			{Name: "dual", Labels: labels("capcon", "10.0.0.3,fd00::3")},
			{Name: "elsewhere", Labels: labels("other", "10.0.0.4")},
			{Name: "forged", Labels: labels("capcon", "not an address")},
		})
	want := map[string]string{"10.0.0.2": "stopped", "10.0.0.3": "dual", "fd00::3": "dual"}
	texts := map[string]string{}
	for address, holder := range got {
		texts[address.String()] = holder
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("Taken: -want +got:\n%s", diff)
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, subnet, dynamic, want string
	}{
		"Default": {"A quarter of what is not dynamic.", "172.18.0.0/16", "172.18.128.0/17", "172.18.96.0/19"},
		"Small":   {"The smallest that has one.", "10.0.0.0/26", "10.0.0.32/27", "10.0.0.24/29"},
		"Tiny":    {"Nodes need the few addresses.", "10.0.0.0/27", "10.0.0.16/28", "invalid Prefix"},
		"IPv6":    {"It is the same there.", "fd00::/64", "fd00::8000:0/97", "fd00::6000:0/99"},
		"ByHand":  {"The engine gives any address to containers.", "172.18.0.0/16", "", "invalid Prefix"},
		"Lower":   {"Below a dynamic slice at the beginning is nothing.", "172.18.0.0/16", "172.18.0.0/17", "invalid Prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subnet := engine.Subnet{Prefix: netip.MustParsePrefix(tc.subnet)}
			if tc.dynamic != "" {
				subnet.Dynamic = netip.MustParsePrefix(tc.dynamic)
			}
			if got := Reserved(subnet).String(); got != tc.want {
				t.Errorf("%s Reserved %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
