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
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestDownStartsAPlaneThatIsDown(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.Plane.Current.Answers = false
	w.Plane.Ensured = nil
	w.Controllers = w.Vanish
	w.MustRun("down", "demo")
	if len(w.Plane.Ensured) != 1 || w.Plane.Removed != 1 {
		t.Errorf("The plane is started to finish the job and then removed, got %v, %d", w.Plane.Ensured, w.Plane.Removed)
	}
}

func TestDownRemovesWhatALostPlaneLeft(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.AddContainer("other", "demo", "another-owner", identity.RoleControlPlane)
	w.Plane.Current = plane.State{} // container and volume were removed
	commandtest.Contains(t, w.MustFail("status"), "no management cluster", "demo", "capcon down", "demo-a-1234 of cluster demo is running")
	commandtest.Contains(t, w.MustFail("down", "--all"), `cluster "demo" was not deleted`, "kubectl --kubeconfig FILE delete cluster demo", "capcon down demo --force")
	if len(w.Containers()) != 2 {
		t.Error("another management cluster may have it")
	}
	w.MustRun("down", "--all", "--force")
	if diff := cmp.Diff([]string{"other"}, w.Containers()); diff != "" {
		t.Errorf("containers of another owner (-want +got):\n%s", diff)
	}
}

// A down waits for its cluster while another down, of the last one, removes the
// plane: then its own cluster is gone too.
func TestDownEndsWhenAnotherRemovesThePlane(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.Controllers = func() {
		w.Vanish()
		w.ReadErrors = map[string]error{"": syscall.ECONNREFUSED}
		w.Plane.Current = plane.State{}
	}
	w.MustRun("down", "demo")
}

// A cluster is created while down removes the plane behind the last one.
func TestDownKeepsAPlaneThatGotACluster(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.Controllers = w.Vanish
	w.Plane.Meanwhile = func(string) {
		other := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}}
		w.Create(other)
	}
	commandtest.Contains(t, w.MustRun("down", "demo"), "kept for clusters default/other")
	if w.Plane.Removed != 0 {
		t.Error("the plane was removed")
	}
}

// withThree clusters, whose objects go when all of them are being deleted: one after the other would wait forever.
func withThree(t *testing.T) *commandtest.World {
	t.Helper()
	w := commandtest.New(t)
	w.Plane.Current = commandtest.Running("plane")
	for _, name := range []string{"a", "b", "c"} {
		w.Create(commandtest.ContainerCluster(name, name+"-id"), &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Finalizers: []string{clusterv1.ClusterFinalizer}},
		})
	}
	var mutex sync.Mutex
	w.Controllers = func() {
		mutex.Lock()
		defer mutex.Unlock()
		clusters := &clusterv1.ClusterList{}
		must.Succeed(t, w.Client.List(t.Context(), clusters))
		if slices.ContainsFunc(clusters.Items, func(c clusterv1.Cluster) bool { return c.DeletionTimestamp.IsZero() && c.Name != "c" }) {
			return
		}
		for _, cluster := range clusters.Items {
			if cluster.DeletionTimestamp.IsZero() {
				continue
			}
			must.Succeed(t, w.Client.Delete(t.Context(), commandtest.ContainerCluster(cluster.Name, "")))
			cluster.Finalizers = nil
			must.Succeed(t, w.Client.Update(t.Context(), &cluster))
		}
	}
	return w
}

func TestDownSeveral(t *testing.T) {
	t.Parallel()
	w := withThree(t)
	commandtest.Contains(t, w.MustRun("down", "a", "b", "nosuch", "a"), "cluster a: deleted", "cluster b: deleted", "cluster nosuch: not found", "kept for clusters default/c")
	if diff := cmp.Diff([]string{"default/c"}, w.Clusters()); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	w.MustRun("down", "c", "nosuch")
	if w.Plane.Removed != 1 {
		t.Errorf("the plane was removed %d times, want once, with the last cluster", w.Plane.Removed)
	}
}

// One that must be kept is found before the others are deleted.
func TestDownSeveralDeletesNoneIfOneIsKept(t *testing.T) {
	t.Parallel()
	w := withThree(t)
	must.Succeed(t, plane.AddMove(t.Context(), w.Client, "moved-id", "default/away"))
	must.Succeed(t, w.Directory().Save("away", state.Cluster{OwnerID: "moved-id", Plane: "plane"}))
	w.AddContainer("away-a", "away", "moved-id", identity.RoleControlPlane)
	commandtest.Contains(t, w.MustFail("down", "a", "away"), `cluster "away" was not deleted`, "down away --force")
	if diff := cmp.Diff([]string{"default/a", "default/b", "default/c"}, w.Clusters()); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	for _, cluster := range []string{"a", "b"} {
		found := &clusterv1.Cluster{}
		if w.Get(cluster, found); !found.DeletionTimestamp.IsZero() {
			t.Errorf("cluster %s is being deleted", cluster)
		}
	}
	commandtest.Contains(t, w.MustFail("down", "a", "B"), `NAME "B"`)
	commandtest.Contains(t, w.MustFail("down", "a", "b", "--trace", "x.json"), "several names", "one cluster")
}

// TestDownOfAnEngine: what the engine of another host has of a cluster without objects is found there, and a record that leads to it is kept
// while it is not reached.
func TestDownOfAnEngine(t *testing.T) {
	t.Parallel()
	w, build := commandtest.WithEngine(t)
	must.Succeed(t, w.Client.Delete(t.Context(), w.Cluster()))
	must.Succeed(t, w.Client.Delete(t.Context(), commandtest.ContainerCluster("demo", "")))
	commandtest.Contains(t, w.MustFail("up", "demo"), "has 1 container (owner ID demo-id), but no objects in the management plane", "capcon down demo")
	w.BreakEngine("build", "connection refused")
	for _, command := range [][]string{{"down", "demo"}, {"down", "--all"}, {"up", "demo"}} {
		commandtest.Contains(t, w.MustFail(command...), `engine "build": the management plane does not reach it`)
	}
	running := w.Plane.Current
	w.Plane.Current = plane.State{}
	commandtest.Contains(t, w.MustFail("down", "demo"), `cluster "demo" was not deleted: engine "build": its credentials were in the management plane, which is gone`,
		"capcon plane up", "capcon engine add build ENDPOINT", "capcon down demo --force", "capcon gc --owner demo-id --yes")
	if w.Record().EngineName != "build" {
		t.Error("the record is gone")
	}
	w.Plane.Current = running
	commandtest.Update(w, "build", &infrav1.ContainerEngine{}, func(e *infrav1.ContainerEngine) {
		e.Status.Conditions = []metav1.Condition{{Type: infrav1.EngineReachableCondition, Status: metav1.ConditionTrue, Reason: "Reachable"}}
	})
	w.MustRun("down", "demo", "--keep-plane")
	if left := must.Get(build.ListContainers(t.Context(), nil))(t); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// TestDownOfALostEngine: with --force, the record of a cluster without objects goes, and what leads to its containers is said.
func TestDownOfALostEngine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		change func(w *commandtest.World)
		isKept bool
		want   []string
	}{
		"PlaneLost": {
			reason: "The credentials of the engine went with the management plane.", isKept: true,
			change: func(w *commandtest.World) { w.Plane.Current = plane.State{} },
			want:   []string{`record deleted; what engine "build" has of the cluster is kept`, "capcon gc --owner demo-id --yes"},
		},
		"EngineLost": {
			reason: "The management plane does not reach the engine.", isKept: true,
			change: func(w *commandtest.World) { w.BreakEngine("build", "connection refused") },
			want:   []string{`record deleted; what engine "build" has of the cluster is kept`, "capcon gc --owner demo-id --yes"},
		},
		"Reached": {
			reason: "There is nothing to keep.", change: func(*commandtest.World) {}, want: []string{"cluster demo: deleted"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, build := commandtest.WithEngine(t)
			must.Succeed(t, w.Client.Delete(t.Context(), w.Cluster()))
			must.Succeed(t, w.Client.Delete(t.Context(), commandtest.ContainerCluster("demo", "")))
			must.Succeed(t, w.Directory().Save("demo", state.Cluster{OwnerID: "demo-id", EngineName: "build", Plane: "another one"}))
			tc.change(w)
			commandtest.Contains(t, w.MustFail("down", "demo", "--keep-plane"), "capcon down demo --force")
			commandtest.Contains(t, w.MustRun("down", "demo", "--force", "--keep-plane"), tc.want...)
			if left := must.Get(build.ListContainers(t.Context(), nil))(t); (len(left) > 0) != tc.isKept {
				t.Errorf("%s left are %v", tc.reason, left)
			}
			if record := w.Record(); record.OwnerID != "" {
				t.Errorf("%s the record is %+v", tc.reason, record)
			}
		})
	}
}

// TestDownOverEngines: what is left of a cluster over several engines is removed from those that are reached, and said of the others.
func TestDownOverEngines(t *testing.T) {
	t.Parallel()
	w, build, other := commandtest.Spread(t)
	w.MustRun("list") // which records the engines
	if got := w.Record().OtherEngines; !slices.Equal(got, []string{"other"}) {
		t.Errorf("recorded next to build: %v", got)
	}
	must.Succeed(t, w.Client.Delete(t.Context(), w.Cluster()))
	must.Succeed(t, w.Client.Delete(t.Context(), commandtest.ContainerCluster("demo", "")))
	for _, machine := range []string{"demo-a", "demo-b"} {
		must.Succeed(t, w.Client.Delete(t.Context(), &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: machine}}))
	}
	w.BreakEngine("other", "connection refused")
	commandtest.Contains(t, w.MustFail("down", "demo", "--keep-plane"), `engine "other"`, "connection refused", "capcon down demo --force")
	commandtest.Contains(t, w.MustRun("down", "demo", "--force", "--keep-plane"), `what engine "other" has of the cluster is kept`, "gc --owner demo-id --yes")
	if left := must.Get(build.ListContainers(t.Context(), nil))(t); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	if kept := must.Get(other.ListContainers(t.Context(), nil))(t); len(kept) != 1 {
		t.Errorf("kept are %v", kept)
	}
}

// TestForceKeepsTheEngineOfAnObject: which engine a ContainerEngine is, its clusters say; whether it is lost, its object.
func TestForceKeepsTheEngineOfAnObject(t *testing.T) {
	t.Parallel()
	w, _ := commandtest.WithEngine(t)
	commandtest.Update(w, "demo", &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) { cluster.Finalizers = []string{clusterv1.ClusterFinalizer} })
	commandtest.Update(w, "demo", &infrav1.ContainerCluster{}, func(cluster *infrav1.ContainerCluster) {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.EngineAnnotation, "build")
	})
	w.MustFail("down", "demo", "--force", "--timeout", "100ms")
	cluster := &infrav1.ContainerCluster{}
	if w.Get("demo", cluster); cluster.Annotations[infrav1.EngineAnnotation] != "build" {
		t.Errorf("annotations: %v", cluster.Annotations)
	}
}

// TestTraceOnEngines: the steps in nodes are read where they are.
func TestTraceOnEngines(t *testing.T) {
	t.Parallel()
	w, build, other := commandtest.Spread(t)
	for _, one := range []*simulated.Engine{build, other} {
		one.HandleExec(func(container string, _ engine.Command) (engine.Output, error) {
			const line = `{"__REALTIME_TIMESTAMP":"%d","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"Started %s"}`
			return engine.Output{Stdout: fmt.Appendf(nil, line, w.Now().UnixMicro(), container)}, nil
		})
	}
	commandtest.Update(w, "demo", &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) { cluster.Finalizers = []string{clusterv1.ClusterFinalizer} })
	file := filepath.Join(t.TempDir(), "trace.json")
	w.MustFail("down", "demo", "--timeout", "100ms", "--trace", file)
	commandtest.Contains(t, string(must.Get(os.ReadFile(file))(t)), `"Node demo-a"`, "Started demo-a", `"Node demo-b"`, "Started demo-b")
	if calls := w.Engine.MutatingCalls(); len(calls) > 0 {
		t.Errorf("changed the engine of the plane: %v", calls)
	}
}
