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
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

func TestPlaceExhausted(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	eng.AddImage(engine.Image{Tags: []string{testImage}}, nil)
	if _, err := network.Ensure(t.Context(), eng, network.Request{Subnets: prefixes("10.9.0.0/29")}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := network.Place(t.Context(), eng, placement(name)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := network.Place(t.Context(), eng, placement("c"))
	var exhausted *network.ExhaustedError
	if !errors.As(err, &exhausted) || exhausted.Static != 2 || exhausted.Taken != 2 {
		t.Errorf("Place: %v, want 2 of 2 taken", err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names(t, eng)); diff != "" {
		t.Errorf("containers: -want +got:\n%s", diff)
	}
}

// TestPlaceConcurrently is two processes, each with several machines, that meet at
// every address.
func TestPlaceConcurrently(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	placeConcurrently(t, eng, 2, 12, placement)
}

// placeConcurrently places from several processes concurrently and proves that no
// address is held twice, neither by label nor in use.
func placeConcurrently(t *testing.T, eng network.Engine, processes, each int, placement func(name string) network.Placement) {
	t.Helper()
	var mu sync.Mutex
	recorded, used := map[netip.Addr]string{}, map[netip.Addr]string{}
	claim := func(held map[netip.Addr]string, container engine.Container, addresses []netip.Addr) {
		mu.Lock()
		defer mu.Unlock()
		for _, address := range addresses {
			if holder, found := held[address]; found {
				t.Errorf("%s is held by %s and %s", address, holder, container.Name)
			}
			held[address] = container.Name
		}
	}
	var wait sync.WaitGroup
	for process := range processes {
		wait.Go(func() {
			for machine := range each {
				p := placement(fmt.Sprintf("capcon-place-%d-%d", process, machine))
				container, err := network.Place(t.Context(), eng, p)
				if err != nil {
					t.Errorf("Place %s: %v", p.Spec.Name, err)
					continue
				}
				claim(recorded, container, network.Addresses(container, p.Network))
				claim(used, container, container.Networks[p.Network].Addresses)
			}
		})
	}
	wait.Wait()
	if len(recorded) != processes*each || len(used) != processes*each {
		t.Errorf("%d recorded and %d used addresses, want %d", len(recorded), len(used), processes*each)
	}
}
