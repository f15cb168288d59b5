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

package up

import (
	"context"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// reach the management plane, and refuse what its clusters do not have if they are in memory.
func (r *run) reach(ctx context.Context) (plane.State, error) {
	found, err := r.session.ReachPlane(ctx)
	if err == nil && found.InMemory {
		err = checkInMemory(r.request)
	}
	return found, err
}

// checkInMemory refuses flags for what clusters in memory do not have. The rest is refused by the webhooks.
func checkInMemory(request input.Request) error {
	cni := request.CNI
	if cni == input.CNINone {
		cni = ""
	}
	var problems []input.Problem
	for _, given := range []struct{ flag, value, reason string }{
		{"--image", request.Image, "nodes in memory have no image"},
		{"--load-balancer-image", request.LoadBalancerImage, "the load balancers of clusters in memory are simulated"},
		{"--registry", request.Registry, "clusters in memory have no images"},
		{"--cni", cni, "clusters in memory run no Pods"},
		{"--engine-name", request.EngineName, "clusters in memory are on no engine"},
		{"--cpus", request.CPUs, "nodes in memory use no resources"},
		{"--memory", request.Memory, "nodes in memory use no resources"},
	} {
		if given.value != "" {
			problems = append(problems, input.Problem{
				Field: given.flag, Value: given.value, Reason: given.reason,
				Remedy: "omit it, or create clusters of containers: delete those in memory, and run \"capcon plane down\"",
			})
		}
	}
	return input.Refuse(problems...)
}
