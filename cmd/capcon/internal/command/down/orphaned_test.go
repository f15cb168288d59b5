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

package down_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestMovedClusterIsKept(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"Down": {"down", "demo"}, "DownAll": {"down", "--all"}, "GC": {"gc", "--yes"}, "GCAll": {"gc", "--all", "--yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.Created(t)
			must.Succeed(t, plane.AddMove(t.Context(), w.Client, "owner", "default/demo"))
			w.Lose()
			end := map[string]func(...string) string{"down": w.MustFail, "gc": w.MustRun}[command[0]]
			commandtest.Contains(t, end(command...), "\"clusterctl move\" moved it to another management cluster")
			if !slices.Contains(w.Containers(), "demo-a-1234") || !w.Record().Moved {
				t.Errorf("The container was removed, or the record does not say that it was moved: %v, %+v", w.Containers(), w.Record())
			}

			// The plane that knows it is removed, and another one created.
			w.Plane.Current = plane.State{}
			commandtest.Contains(t, w.MustFail("down", "demo"), "moved it to another management cluster",
				"kubectl --kubeconfig FILE delete cluster demo", "down demo --force")
			if !slices.Contains(w.Containers(), "demo-a-1234") {
				t.Error("without the plane, the container was removed")
			}
			if w.MustRun("down", "demo", "--force"); slices.Contains(w.Containers(), "demo-a-1234") {
				t.Error("with --force, the container was kept")
			}
		})
	}
}

func TestClusterThatWasMovedBackIsDeleted(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	must.Succeed(t, plane.AddMove(t.Context(), w.Client, "owner", "default/demo"))
	w.Lose()
	w.Run("gc")
	w.Create(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", Finalizers: []string{clusterv1.ClusterFinalizer}}},
		commandtest.ContainerCluster("demo", "owner"))
	w.Run("gc")
	if w.Record().Moved {
		t.Errorf("The record says that it is moved: %+v", w.Record())
	}
	w.Controllers = w.Vanish
	w.MustRun("down", "demo")
}

// The others go, and that one is reported.
func TestDownAllWithAMovedCluster(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	must.Succeed(t, plane.AddMove(t.Context(), w.Client, "moved-id", "default/away"))
	must.Succeed(t, w.Directory().Save("away", state.Cluster{OwnerID: "moved-id", Plane: "plane-1"}))
	w.AddContainer("away-a", "away", "moved-id", identity.RoleControlPlane)
	w.Controllers = w.Vanish
	commandtest.Contains(t, w.MustFail("down", "--all"), "cluster demo: deleted", `cluster "away" was not deleted`, "management plane: removed")
	if diff := cmp.Diff([]string{"away-a"}, w.Containers()); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
}

// Its plane says that the cluster was not moved: its objects were deleted without their
// finalizers.
func TestOrphanedClusterIsDeleted(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.Lose()
	if w.MustRun("down", "demo"); len(w.Containers()) > 0 {
		t.Errorf("left are %v", w.Containers())
	}
}

// The objects of a cluster that was created on another engine are kept by its controllers until
// the user says that this engine is lost.
func TestClusterOfALostEngineIsDeleted(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	key := client.ObjectKey{Namespace: "default", Name: "demo"}
	cluster := &infrav1.ContainerCluster{}
	commandtest.Update(w, "demo", cluster, func(cluster *infrav1.ContainerCluster) {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.EngineAnnotation, "lost")
		conditions.Set(cluster, metav1.Condition{
			Type: infrav1.LoadBalancerReadyCondition, Status: metav1.ConditionUnknown, Reason: infrav1.EngineUnavailableReason, Message: "connection refused",
		})
	})
	must.Succeed(t, w.Engine.RemoveContainer(t.Context(), "demo-a-1234"))
	w.Controllers = func() {
		must.Succeed(t, client.IgnoreNotFound(w.Client.Get(t.Context(), key, cluster)))
		if _, recorded := cluster.Annotations[infrav1.EngineAnnotation]; !recorded {
			w.Vanish()
		}
	}
	commandtest.Contains(t, w.MustFail("down", "demo", "--timeout", "3s"), "waits for its engine: connection refused")
	w.MustRun("down", "demo", "--force", "--timeout", "1m")
}

// TestVolumeIsKept: the data of PersistentVolumes may be all that is left of a cluster.
func TestVolumeIsKept(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	owner := identity.Owner{Namespace: "default", Cluster: "demo", ID: w.Record().OwnerID}
	must.Succeed(t, w.Engine.CreateVolume(t.Context(), owner.Volume(), owner.VolumeLabels()))
	w.Controllers = w.Vanish
	commandtest.Contains(t, w.MustRun("down", "demo"), "volume of demo: kept: "+owner.Volume(), "gc --owner "+owner.ID+" --yes")
	commandtest.Contains(t, w.MustRun("gc", "--yes"), "keep", owner.Volume())
	must.Get(w.Engine.InspectVolume(t.Context(), owner.Volume()))(t)
	w.MustRun("gc", "--owner", owner.ID, "--yes")
	if _, err := w.Engine.InspectVolume(t.Context(), owner.Volume()); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("inspect volume: %v", err)
	}
}
