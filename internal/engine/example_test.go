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

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// Callers decide by the type of an error, which is the same with all engines.
func Example() {
	ctx := context.Background()
	var containers engine.Engine = simulated.New(simulated.WithSubnets(netip.MustParsePrefix("10.7.0.0/24")))
	_, err := containers.InspectContainer(ctx, "worker")
	fmt.Println("absent:", errors.Is(err, engine.ErrNotFound))
	_, err = containers.CreateContainer(ctx, engine.Spec{Name: "worker", Image: "absent:v1"})
	fmt.Println("its image is absent:", errors.Is(err, engine.ErrNotFound))
	list, err := containers.ListContainers(ctx, nil)
	fmt.Println("containers:", len(list), err)
	// Output:
	// absent: true
	// its image is absent: true
	// containers: 0 <nil>
}
