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

package capcon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	eng := integration.Engine(t, nodeImage, loadBalancerImage, planeImage)
	before := ours(t, eng)
	kept := declare(t, eng, orphansCluster)
	ready, err := plane.New(eng, plane.Options{Name: lostPlane}).Ensure(t.Context(), planeImage, nil)
	must.Succeed(t, err)
	lost := describe(orphansCluster)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := discardPlane(ctx, eng, lostPlane); engine.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
		if id := lost.containerCluster.Spec.OwnerID; id != "" {
			_, _ = kept.program.run(ctx, "gc", "--owner", id, "--yes")
		}
	})
	lost.engine = eng
	if lost.api, err = connectPlane(t.Output(), ready.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []*declared{kept, lost} {
		cluster.deployments = nil // a control plane is enough
		cluster.create(t)
	}
	for _, cluster := range []*declared{kept, lost} {
		cluster.machinesHaveNodes(t, 1)
		key := client.ObjectKeyFromObject(cluster.containerCluster)
		must.Succeed(t, cluster.api.Get(t.Context(), key, cluster.containerCluster))
	}
	keptContainers, lostContainers := containersOf(t, kept), containersOf(t, lost)
	// A node and a load balancer each.
	if len(keptContainers) != 2 || len(lostContainers) != 2 {
		t.Fatalf("containers of the clusters: %q and %q", keptContainers, lostContainers)
	}

	must.Succeed(t, discardPlane(t.Context(), eng, lostPlane))
	id := lost.containerCluster.Spec.OwnerID
	gcNamesTheOwner(t, kept.program, id, len(lostContainers))
	kept.program.mustRun("gc", "--owner", id, "--yes")
	if left := containersOf(t, lost); len(left) > 0 {
		t.Errorf("left of the lost cluster: %q", left)
	}
	if diff := cmp.Diff(keptContainers, containersOf(t, kept)); diff != "" {
		t.Errorf("containers of the other cluster (-before, +after):\n%s", diff)
	}
	kept.comesUp(t, 1)
	kept.delete(t)
	kept.program.mustRun("down", orphansCluster)
	nothingLeftSince(t, eng, before)
}

// gcNamesTheOwner of so many containers, which it would remove if it is given the owner ID,
// and removes nothing by itself.
func gcNamesTheOwner(t *testing.T, program *capcon, id string, containers int) {
	t.Helper()
	var decisions []struct{ Action, Kind, Name, OwnerID, Reason string }
	must.Succeed(t, json.Unmarshal([]byte(program.mustRun("gc", "-o", "json")), &decisions))
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
func containersOf(t *testing.T, cluster *declared) []string {
	t.Helper()
	owner := identity.Owner{Namespace: cluster.key().Namespace, Cluster: cluster.name, ID: cluster.containerCluster.Spec.OwnerID}
	listed := must.Get(cluster.engine.ListContainers(t.Context(), owner.Labels()))(t)
	var found []string
	for _, container := range listed {
		inspected := must.Get(cluster.engine.InspectContainer(t.Context(), container.ID))(t)
		found = append(found, fmt.Sprint(inspected.Name, inspected.ID, inspected.StartedAt))
	}
	slices.Sort(found)
	return found
}
