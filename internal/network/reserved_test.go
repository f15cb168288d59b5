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
	"net/netip"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

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
			if got := network.Reserved(subnet).String(); got != tc.want {
				t.Errorf("%s Reserved %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
