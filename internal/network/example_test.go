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
	"fmt"
	"net/netip"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// A container gets its address before it starts, so that its files can contain it.
func ExamplePlace() {
	ctx := context.Background()
	subnet := netip.MustParsePrefix("10.7.0.0/24")
	containers := simulated.New(simulated.WithSubnets(subnet))
	containers.AddImage(engine.Image{Tags: []string{testImage}}, nil)
	if _, err := network.Ensure(ctx, containers, network.Request{Subnets: []netip.Prefix{subnet}}); err != nil {
		fmt.Println(err)
		return
	}
	owner := identity.Owner{Namespace: "default", Cluster: "demo", ID: "id"}
	container, err := network.Place(ctx, containers, network.Placement{
		Network: network.DefaultName,
		Spec:    engine.Spec{Name: "worker", Image: testImage, Labels: owner.ContainerLabels(identity.RoleWorker, "worker")},
		Prepare: func(_ context.Context, addresses []netip.Addr) error {
			fmt.Println("prepare for an address in the subnet:", subnet.Contains(addresses[0]))
			return nil
		},
	})
	fmt.Println(container.Name, container.Status, err)
	// Output:
	// prepare for an address in the subnet: true
	// worker running <nil>
}
