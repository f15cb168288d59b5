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
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestFamiliesOf(t *testing.T) {
	t.Parallel()
	const pods4, pods6, services4, services6 = "10.244.0.0/16", "fd00:10:244::/56", "10.96.0.0/16", "fd00:10:96::/112"
	cases := map[string]struct {
		reason         string
		pods, services []string
		want           network.Families
		// field and value of the refusal.
		field, value string
	}{
		"none":                 {reason: "A Cluster needs no ranges.", want: network.Families{network.IPv4}},
		"IPv4":                 {reason: "As most clusters.", pods: []string{pods4}, services: []string{services4}, want: network.Families{network.IPv4}},
		"IPv6":                 {reason: "A single family.", pods: []string{pods6}, services: []string{services6}, want: network.Families{network.IPv6}},
		"dual, IPv4 first":     {reason: "The order decides.", pods: []string{pods4, pods6}, services: []string{services4, services6}, want: network.Families{network.IPv4, network.IPv6}},
		"dual, IPv6 first":     {reason: "The order decides.", pods: []string{pods6, pods4}, services: []string{services6, services4}, want: network.Families{network.IPv6, network.IPv4}},
		"Services of one":      {reason: "Pods may have more than Services.", pods: []string{pods6, pods4}, services: []string{services6}, want: network.Families{network.IPv6, network.IPv4}},
		"Services only":        {reason: "The Pod network may be the user's.", services: []string{services6}, want: network.Families{network.IPv6}},
		"Pods only":            {reason: "kubeadm has a default for Services.", pods: []string{pods4}, want: network.Families{network.IPv4}},
		"two of IPv4":          {reason: "Kubernetes takes one of each.", pods: []string{pods4, "10.1.0.0/16"}, field: network.PodRangesField, value: "10.1.0.0/16"},
		"two of IPv6":          {reason: "Kubernetes takes one of each.", services: []string{services6, "fd00:1::/112"}, field: network.ServiceRangesField, value: "fd00:1::/112"},
		"no range":             {reason: "A typing error.", pods: []string{"10.244.0.0"}, field: network.PodRangesField, value: "10.244.0.0"},
		"multicast":            {reason: "No Pod can have such an address.", pods: []string{"224.0.0.0/16"}, field: network.PodRangesField, value: "224.0.0.0/16"},
		"loopback":             {reason: "Each node has its own.", pods: []string{"127.0.0.0/16"}, field: network.PodRangesField, value: "127.0.0.0/16"},
		"link-local":           {reason: "It is not routed.", services: []string{"fe80::/112"}, field: network.ServiceRangesField, value: "fe80::/112"},
		"overlap":              {reason: "A Service would shadow Pods.", pods: []string{pods4}, services: []string{"10.244.7.0/24"}, field: network.ServiceRangesField, value: "10.244.7.0/24"},
		"overlap of IPv6":      {reason: "A Service would shadow Pods.", pods: []string{pods6}, services: []string{"fd00:10:244::/112"}, field: network.ServiceRangesField, value: "fd00:10:244::/112"},
		"Services lack Pods":   {reason: "No Pod has an address of it.", pods: []string{pods4}, services: []string{services4, services6}, field: network.ServiceRangesField, value: services6},
		"another primary":      {reason: "The API server and the nodes would differ.", pods: []string{pods4, pods6}, services: []string{services6, services4}, field: network.ServiceRangesField, value: services6},
		"other family of each": {reason: "No Pod has an address of it.", pods: []string{pods6}, services: []string{services4}, field: network.ServiceRangesField, value: services4},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := network.FamiliesOf(tc.pods, tc.services)
			var refused *network.RangesError
			if errors.As(err, &refused) != (tc.field != "") {
				t.Fatalf("%s\nerror %v", tc.reason, err)
			}
			if refused != nil && (refused.Field != tc.field || refused.Value != tc.value) {
				t.Errorf("refused is %s %q, want %s %q", refused.Field, refused.Value, tc.field, tc.value)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFamiliesChoose(t *testing.T) {
	t.Parallel()
	v4, v6 := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")
	both := []netip.Addr{v4, v6}
	cases := map[string]struct {
		families  network.Families
		addresses []netip.Addr
		want      []netip.Addr
		first     netip.Addr
	}{
		"IPv4":               {network.Families{network.IPv4}, both, []netip.Addr{v4}, v4},
		"IPv6":               {network.Families{network.IPv6}, both, []netip.Addr{v6}, v6},
		"IPv6 first":         {network.Families{network.IPv6, network.IPv4}, both, []netip.Addr{v6, v4}, v6},
		"primary is missing": {network.Families{network.IPv6, network.IPv4}, both[:1], []netip.Addr{v4}, netip.Addr{}},
		"none":               {nil, both, nil, netip.Addr{}},
	}
	equal := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, tc.families.Choose(tc.addresses), equal); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := tc.families.First(tc.addresses); got != tc.first {
			t.Errorf("%s: first is %s, want %s", name, got, tc.first)
		}
	}
}

// TestEnsureFamilies: a network that this provider creates has both families where a cluster needs
// network.IPv6, and one that lacks it is refused.
func TestEnsureFamilies(t *testing.T) {
	t.Parallel()
	given := netip.MustParsePrefix("fd00:30::/64")
	cases := map[string]struct {
		reason  string
		request network.Request
		// existing subnets of the network; none = it does not exist.
		existing []netip.Prefix
		// ipv6 is the range that its IPv6 subnet is in.
		ipv6   string
		refuse bool
	}{
		"IPv4":      {reason: "No range is of IPv6.", request: network.Request{Families: network.Families{network.IPv4}}},
		"IPv6":      {reason: "The engine's ports lead to IPv4 addresses, as in kind.", request: network.Request{Families: network.Families{network.IPv6}}, ipv6: "fd00::/8"},
		"dual":      {reason: "A unique local one.", request: network.Request{Families: network.Families{network.IPv4, network.IPv6}}, ipv6: "fd00::/8"},
		"given":     {reason: "The user's choice.", request: network.Request{Families: network.Families{network.IPv4, network.IPv6}, Subnets: []netip.Prefix{given}}, ipv6: given.String()},
		"is there":  {reason: "Any subnet will do.", request: network.Request{Families: network.Families{network.IPv6}}, existing: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24"), given}, ipv6: given.String()},
		"IPv4 only": {reason: "It cannot get another subnet.", request: network.Request{Families: network.Families{network.IPv4, network.IPv6}}, existing: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24")}, refuse: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := simulated.New()
			if tc.existing != nil {
				must.Get(eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: network.DefaultName, Subnets: tc.existing}))(t)
			}
			got, err := network.Ensure(t.Context(), eng, tc.request)
			if errors.Is(err, network.ErrUnusable) != tc.refuse || err != nil && !tc.refuse {
				t.Fatalf("%s\nerror %v", tc.reason, err)
			}
			if tc.refuse {
				return
			}
			if !got.Subnets[0].Prefix.Addr().Is4() || (len(got.Subnets) == 2) != (tc.ipv6 != "") {
				t.Fatalf("%s\nsubnets %v", tc.reason, got.Subnets)
			}
			if tc.ipv6 != "" && (!netip.MustParsePrefix(tc.ipv6).Overlaps(got.Subnets[1].Prefix) || got.Subnets[1].Prefix.Bits() != 64) {
				t.Errorf("%s\nsubnet %s, want a /64 in %s", tc.reason, got.Subnets[1].Prefix, tc.ipv6)
			}
		})
	}
}

func TestFamiliesOnNetwork(t *testing.T) {
	t.Parallel()
	dual := network.Families{network.IPv6, network.IPv4}
	cases := map[string]struct {
		reason   string
		families network.Families
		subnets  []netip.Prefix
		want     network.Families
	}{
		"unknown":   {"Nothing is known of the network.", dual, nil, dual},
		"both":      {"The order is that of the ranges.", dual, prefixes("172.30.0.0/16", "fd00::/64"), dual},
		"IPv4 only": {"It cannot have the other.", dual, prefixes("172.30.0.0/16"), network.Families{network.IPv4}},
		"another":   {"The containers have that.", network.Families{network.IPv6}, prefixes("172.30.0.0/16"), network.Families{network.IPv4}},
		"one":       {"Kubernetes does not use the other.", network.Families{network.IPv6}, prefixes("172.30.0.0/16", "fd00::/64"), network.Families{network.IPv6}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.families.On(tc.subnets)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}
