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

package planes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	orphansCluster = "orphans-test"
	// lostPlane is alongside capcon's.
	lostPlane = "capcon-test-orphans"
)

// TestOrphans has two management clusters on one engine, each with a cluster of the same
// namespace and name. Both come up, with containers of their own. Then one management
// cluster is lost with its data: gc says whose the orphaned containers are, and removes
// these by their owner ID, and nothing of the other cluster.
func TestOrphans(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	before := capcontest.Ours(t, eng)
	kept := capcontest.Declare(t, eng, orphansCluster)
	ready, err := plane.New(eng, plane.Options{Name: lostPlane}).Ensure(t.Context(), capcontest.PlaneImage, nil)
	must.Succeed(t, err)
	lost := capcontest.Describe(orphansCluster)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := capcontest.DiscardPlane(ctx, eng, lostPlane); engine.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
		if id := lost.ContainerCluster.Spec.OwnerID; id != "" {
			_, _ = kept.Program.Run(ctx, "gc", "--owner", id, "--yes")
		}
	})
	lost.Engine = eng
	if lost.API, err = capcontest.ConnectPlane(t.Output(), ready.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []*capcontest.Declared{kept, lost} {
		cluster.Deployments = nil // a control plane is enough
		cluster.Create(t)
	}
	for _, cluster := range []*capcontest.Declared{kept, lost} {
		cluster.MachinesHaveNodes(t, 1)
		key := client.ObjectKeyFromObject(cluster.ContainerCluster)
		must.Succeed(t, cluster.API.Get(t.Context(), key, cluster.ContainerCluster))
	}
	keptContainers, lostContainers := containersOf(t, kept), containersOf(t, lost)
	// A node and a load balancer each.
	if len(keptContainers) != 2 || len(lostContainers) != 2 {
		t.Fatalf("containers of the clusters: %q and %q", keptContainers, lostContainers)
	}

	must.Succeed(t, capcontest.DiscardPlane(t.Context(), eng, lostPlane))
	id := lost.ContainerCluster.Spec.OwnerID
	gcNamesTheOwner(t, kept.Program, id, len(lostContainers))
	kept.Program.MustRun("gc", "--owner", id, "--yes")
	if left := containersOf(t, lost); len(left) > 0 {
		t.Errorf("left of the lost cluster: %q", left)
	}
	if diff := cmp.Diff(keptContainers, containersOf(t, kept)); diff != "" {
		t.Errorf("containers of the other cluster (-before, +after):\n%s", diff)
	}
	kept.ComesUp(t, 1)
	kept.Delete(t)
	kept.Program.MustRun("down", orphansCluster)
	capcontest.NothingLeftSince(t, eng, before)
}

// gcNamesTheOwner of so many containers, which it would remove if it is given the owner ID,
// and removes nothing by itself.
func gcNamesTheOwner(t *testing.T, program *capcontest.Program, id string, containers int) {
	t.Helper()
	var decisions []struct{ Action, Kind, Name, OwnerID, Reason string }
	must.Succeed(t, json.Unmarshal([]byte(program.MustRun("gc", "-o", "json")), &decisions))
	found := 0
	for _, decision := range decisions {
		if decision.Action != "keep" && decision.OwnerID != "" {
			t.Errorf("gc would %s %s %s", decision.Action, decision.Kind, decision.Name)
		}
		if decision.OwnerID != id {
			continue
		}
		found++
		if want := fmt.Sprintf("; delete it with --owner %s", id); !strings.HasSuffix(decision.Reason, want) {
			t.Errorf("%s %s is kept because it %s, want the end %q", decision.Kind, decision.Name, decision.Reason, want)
		}
	}
	if found != containers {
		t.Errorf("gc lists %d objects of the lost cluster, want its %d containers", found, containers)
	}
}

// containersOf a cluster, with what would show that one was replaced or restarted.
func containersOf(t *testing.T, cluster *capcontest.Declared) []string {
	t.Helper()
	owner := identity.Owner{Namespace: cluster.Key().Namespace, Cluster: cluster.Name, ID: cluster.ContainerCluster.Spec.OwnerID}
	listed := must.Get(cluster.Engine.ListContainers(t.Context(), owner.Labels()))(t)
	var found []string
	for _, container := range listed {
		inspected := must.Get(cluster.Engine.InspectContainer(t.Context(), container.ID))(t)
		found = append(found, fmt.Sprint(inspected.Name, inspected.ID, inspected.StartedAt))
	}
	slices.Sort(found)
	return found
}
