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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestPlaceGivenAddresses(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	p := placement("a")
	p.Addresses = addresses("10.7.0.9")
	container, err := network.Place(t.Context(), eng, p)
	if err != nil || container.Networks[network.DefaultName].Addresses[0] != p.Addresses[0] {
		t.Fatalf("Place = %v, %v", container.Networks, err)
	}
	other := placement("b")
	other.Addresses = p.Addresses
	_, err = network.Place(t.Context(), eng, other)
	if !engine.IsTaken(err, engine.ResourceAddress) {
		t.Errorf("Place of a taken address: %v, want a conflict", err)
	}
	if diff := cmp.Diff([]string{"a"}, names(t, eng)); diff != "" {
		t.Errorf("containers: -want +got:\n%s", diff)
	}
}

// Podman would start a container with the address of its gateway.
func TestPlaceGivenGateway(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	p := placement("a")
	p.Addresses = addresses("10.7.0.1")
	_, err := network.Place(t.Context(), eng, p)
	if !engine.IsTaken(err, engine.ResourceAddress) || !strings.Contains(err.Error(), "the gateway of network") {
		t.Errorf("Place at the gateway: %v, want a conflict that names it", err)
	}
	if slices.ContainsFunc(eng.Journal(), func(call simulated.Call) bool { return call.Method == "CreateContainer" }) {
		t.Errorf("a container was created for it: %v", eng.Journal())
	}
}

func TestPlaceDual(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	eng.AddImage(engine.Image{Tags: []string{testImage}}, nil)
	must.Get(network.Ensure(t.Context(), eng, network.Request{Subnets: prefixes("10.8.0.0/24", "fd00:8::/64")}))(t)
	p := placement("a")
	p.Addresses = addresses("fd00:8::9")
	container := must.Get(network.Place(t.Context(), eng, p))(t)
	got := network.Addresses(container, network.DefaultName)
	if len(got) != 2 || !netip.MustParsePrefix("10.8.0.0/24").Contains(got[0]) || got[1] != p.Addresses[0] {
		t.Errorf("addresses %s, want one of 10.8.0.0/24 and %s", got, p.Addresses[0])
	}
}
