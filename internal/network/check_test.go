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
	"fmt"
	"net/netip"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bridge", "default", "host", "none", "container", "ns", "pasta", "podman", "private", "slirp4netns"} {
		if err := network.CheckName(name); !errors.Is(err, network.ErrUnusable) {
			t.Errorf("CheckName(%q) = %v: no cluster can live there, on one engine or the other", name, err)
		}
		eng := simulated.New()
		if _, err := network.Ensure(t.Context(), eng, network.Request{Name: name}); !errors.Is(err, network.ErrUnusable) {
			t.Errorf("Ensure(%q) = %v", name, err)
		}
		if calls := eng.Journal(); len(calls) > 0 {
			t.Errorf("the engine was asked for %q: %v", name, calls)
		}
	}
	for _, name := range []string{network.DefaultName, "Host", "bridge0", "docker"} {
		if err := network.CheckName(name); err != nil {
			t.Errorf("CheckName(%q) = %v: that is a network like others", name, err)
		}
	}
}

func TestParseSubnet(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, text string
		// want is the reason of the refusal; empty where there is none.
		want, remedy string
	}{
		"IPv4":          {reason: "The usual.", text: "172.30.0.0/16"},
		"IPv6":          {reason: "The usual of IPv6.", text: "fd00:30::/64"},
		"Smallest":      {reason: "Gateway, load balancer and machine fit.", text: "10.0.0.0/29"},
		"SmallestIPv6":  {reason: "The same in IPv6.", text: "fd00::/125"},
		"Public":        {reason: "Some have a range that is routed to them.", text: "203.0.113.0/24"},
		"NoPrefix":      {"An address is no subnet.", "10.0.0.0", "is not in CIDR notation", "use for example 172.30.0.0/16 or fd00:30::/64"},
		"Nonsense":      {"Not even an address.", "10.0.0.0/33", "is not in CIDR notation", "use for example 172.30.0.0/16 or fd00:30::/64"},
		"Mapped":        {"IPv4 is written as IPv4.", "::ffff:10.0.0.0/112", "is not in CIDR notation", "use for example 172.30.0.0/16 or fd00:30::/64"},
		"HostBits":      {"Engines refuse it, each with words of its own.", "10.0.0.1/16", "has host bits set", "use 10.0.0.0/16"},
		"TooSmall":      {"One address is not enough.", "10.0.0.0/30", "is too small for a load balancer and a machine", "use a larger range, at least a /29"},
		"TooSmallIPv6":  {"The same in IPv6.", "fd00::/126", "is too small for a load balancer and a machine", "use a larger range, at least a /125"},
		"Everything":    {"Nothing else could be reached.", "0.0.0.0/0", "is not a usable unicast range", "use a private range, such as 172.30.0.0/16 or fd00:30::/64"},
		"Loopback":      {"It never leaves the container.", "127.0.0.0/8", "is not a usable unicast range", "use a private range, such as 172.30.0.0/16 or fd00:30::/64"},
		"Multicast":     {"It is not one container's.", "224.0.0.0/24", "is not a usable unicast range", "use a private range, such as 172.30.0.0/16 or fd00:30::/64"},
		"LinkLocal":     {"It is every link's own.", "169.254.0.0/16", "is not a usable unicast range", "use a private range, such as 172.30.0.0/16 or fd00:30::/64"},
		"LinkLocalIPv6": {"It is every link's own.", "fe80::/64", "is not a usable unicast range", "use a private range, such as 172.30.0.0/16 or fd00:30::/64"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix, err := network.ParseSubnet(tc.text)
			if tc.want == "" {
				if err != nil || prefix.String() != tc.text {
					t.Errorf("%s\nParseSubnet = %v, %v", tc.reason, prefix, err)
				}
				return
			}
			var refused *network.SubnetError
			if !errors.As(err, &refused) || refused.Reason != tc.want || refused.Remedy != tc.remedy {
				t.Errorf("%s\nParseSubnet = %v, %v, want it refused: %s: %s", tc.reason, prefix, err, tc.want, tc.remedy)
			}
		})
	}
}

func TestParseSubnets(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, list, want, refused string
	}{
		"none":       {"They are chosen.", "", "[]", ""},
		"one":        {"As before there were two.", "172.30.0.0/16", "[172.30.0.0/16]", ""},
		"both":       {"As ranges of Kubernetes are written.", "172.30.0.0/16,fd00:30::/64", "[172.30.0.0/16 fd00:30::/64]", ""},
		"spaces":     {"They are no difference.", "fd00:30::/64, 172.30.0.0/16", "[fd00:30::/64 172.30.0.0/16]", ""},
		"one family": {"A network has one of each.", "10.1.0.0/16,10.2.0.0/16", "", `subnet "10.2.0.0/16" is of the same family as 10.1.0.0/16; use at most one subnet of each family`},
		"second":     {"Each is checked.", "10.1.0.0/16,fd00::1/64", "", `subnet "fd00::1/64" has host bits set; use fd00::/64`},
		"empty":      {"It was forgotten.", "10.1.0.0/16,", "", `subnet "" is not in CIDR notation; use for example 172.30.0.0/16 or fd00:30::/64`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subnets, err := network.ParseSubnets(tc.list)
			if got := fmt.Sprint(err); tc.refused != "" && got != tc.refused || tc.refused == "" && (err != nil || fmt.Sprint(subnets) != tc.want) {
				t.Errorf("%s\nParseSubnets = %v, %v, want %s%s", tc.reason, subnets, err, tc.want, tc.refused)
			}
		})
	}
}

// TestOverlaps of subnets and networks with ranges of Pods and Services.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	ranges := network.Ranges{Pods: []string{"10.244.0.0/16", "fd00:10:244::/56"}, Services: []string{"10.128.0.0/12", "nonsense"}}
	cases := map[string]struct{ subnet, bySubnet, byRange string }{
		"apart": {"172.30.0.0/16", "", ""},
		"Pods": {
			"10.244.3.0/24", `subnet "10.244.3.0/24" overlaps the range 10.244.0.0/16 of Pods (spec.clusterNetwork.pods.cidrBlocks of the Cluster); use another subnet`,
			`spec.clusterNetwork.pods.cidrBlocks: "10.244.0.0/16" overlaps subnet 10.244.3.0/24 of network "mine"; use another range`,
		},
		"Pods, IPv6": {
			"fd00:10::/32", `subnet "fd00:10::/32" overlaps the range fd00:10:244::/56 of Pods (spec.clusterNetwork.pods.cidrBlocks of the Cluster); use another subnet`,
			`spec.clusterNetwork.pods.cidrBlocks: "fd00:10:244::/56" overlaps subnet fd00:10::/32 of network "mine"; use another range`,
		},
		"Services": {
			"10.130.0.0/16", `subnet "10.130.0.0/16" overlaps the range 10.128.0.0/12 of Services (spec.clusterNetwork.services.cidrBlocks of the Cluster); use another subnet`,
			`spec.clusterNetwork.services.cidrBlocks: "10.128.0.0/12" overlaps subnet 10.130.0.0/16 of network "mine"; use another range`,
		},
	}
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subnet := netip.MustParsePrefix(tc.subnet)
			if got := text(network.CheckOverlap([]netip.Prefix{subnet}, ranges)); got != tc.bySubnet {
				t.Errorf("CheckOverlap = %s, want %s", got, tc.bySubnet)
			}
			existing := engine.Network{Name: "mine", Subnets: []engine.Subnet{{Prefix: netip.MustParsePrefix("192.168.9.0/24")}, {Prefix: subnet}}}
			if got := text(ranges.CheckNetwork(existing)); got != tc.byRange {
				t.Errorf("CheckNetwork = %s, want %s", got, tc.byRange)
			}
		})
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	subnet := netip.MustParsePrefix("10.0.0.0/24")
	for text, possible := range map[string]bool{
		// The gateway may be any other.
		"10.0.0.1": true,
		"10.0.0.2": true, "10.0.0.254": true, "10.0.0.0": false, "10.0.0.255": false, "10.0.1.2": false, "fd00::2": false,
	} {
		if err := network.CheckAddress(subnet, netip.MustParseAddr(text)); (err == nil) != possible {
			t.Errorf("CheckAddress(%s, %s) = %v", subnet, text, err)
		}
	}
}
