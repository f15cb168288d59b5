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
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// TestCheckShared: what is not one network for static addresses is refused, with the engine, the reason and the remedy.
func TestCheckShared(t *testing.T) {
	t.Parallel()
	on := func(driver, subnet, gateway, dynamic string) engine.Network {
		made := engine.Network{Name: "lan", Driver: driver, Subnets: []engine.Subnet{{Prefix: netip.MustParsePrefix(subnet)}}}
		made.Subnets[0].Gateway, _ = netip.ParseAddr(gateway)
		made.Subnets[0].Dynamic, _ = netip.ParsePrefix(dynamic)
		return made
	}
	first := on("macvlan", "10.88.0.0/24", "10.88.0.1", "10.88.0.192/28")
	for name, tc := range map[string]struct {
		reason  string
		second  engine.Network
		refused []string
	}{
		"Shared":    {"Only dynamic addresses differ.", on("macvlan", "10.88.0.0/24", "10.88.0.1", "10.88.0.208/28"), nil},
		"Bridge":    {"A bridge ends at its host.", on("bridge", "10.88.0.0/24", "10.88.0.1", "10.88.0.208/28"), []string{`"b"`, `driver "bridge"`, "macvlan"}},
		"Subnet":    {"They are two networks.", on("macvlan", "10.89.0.0/24", "10.89.0.1", "10.89.0.208/28"), []string{"10.89.0.0/24", "--subnet"}},
		"Gateway":   {"One address of it would be given to a container.", on("macvlan", "10.88.0.0/24", "10.88.0.2", "10.88.0.208/28"), []string{"10.88.0.2", "--gateway"}},
		"SameRange": {"Two engines give one address.", on("macvlan", "10.88.0.0/24", "10.88.0.1", "10.88.0.192/28"), []string{"10.88.0.192/28", "--ip-range"}},
		"NoRange":   {"The engine gives any address.", on("macvlan", "10.88.0.0/24", "10.88.0.1", ""), []string{"--ip-range"}},
		"FarApart":  {"No prefix between them is left.", on("macvlan", "10.88.0.0/24", "10.88.0.1", "10.88.0.0/28"), []string{"no range left", "next to each other"}},
		"NoSubnet":  {"Nothing can be allocated.", engine.Network{Name: "lan", Driver: "macvlan"}, []string{"no subnet"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := network.CheckShared(map[string]engine.Network{"a": first, "b": tc.second}, network.Request{Name: "lan"})
			if (err != nil) != (len(tc.refused) > 0) || err != nil && !errors.Is(err, network.ErrUnusable) {
				t.Fatalf("%s %v", tc.reason, err)
			}
			for _, part := range tc.refused {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s %q lacks %q", tc.reason, err, part)
				}
			}
		})
	}
}
