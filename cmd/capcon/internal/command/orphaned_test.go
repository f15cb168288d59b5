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

package command

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/moves"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// createdDemo is a world in which "up demo" has run: its container is demo-a-1234.
func createdDemo(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	return w
}

func (w *world) directory() state.Directory {
	return state.For(filepath.Join(w.state, "capcon"), "simulated", "simulated")
}

func (w *world) record(t *testing.T) state.Cluster {
	t.Helper()
	record, _, err := w.directory().Load("demo")
	must.Succeed(t, err)
	return record
}

// lose the objects of the cluster, as clusterctl leaves its source.
func (w *world) lose(t *testing.T) {
	t.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}
	must.Succeed(t, w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster))
	cluster.Finalizers = nil
	must.Succeed(t, w.client.Update(t.Context(), cluster))
	must.Succeed(t, w.client.Delete(t.Context(), cluster))
	for _, kind := range goneWithTheCluster() {
		must.Succeed(t, w.client.DeleteAllOf(t.Context(), kind, client.InNamespace("default")))
	}
}

// restore what "clusterctl move" brings back.
func (w *world) restore(t *testing.T) {
	t.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", Finalizers: []string{clusterv1.ClusterFinalizer}}}
	infrastructure := &infrav1.ContainerCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}, Spec: infrav1.ContainerClusterSpec{OwnerID: "owner"},
	}
	must.Succeed(t, errors.Join(w.client.Create(t.Context(), cluster), w.client.Create(t.Context(), infrastructure)))
}

func TestMovedClusterIsKept(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"Down": {"down", "demo"}, "DownAll": {"down", "--all"}, "GC": {"gc", "--yes"}, "GCAll": {"gc", "--all", "--yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := createdDemo(t)
			must.Succeed(t, moves.Add(t.Context(), w.client, "owner", "default/demo"))
			w.lose(t)
			code, out, errs := w.run(command...)
			if want := map[string]int{"down": 1, "gc": 0}[command[0]]; code != want {
				t.Errorf("exit code %d, want %d:\n%s%s", code, want, out, errs)
			}
			mustContain(t, out+errs, "\"clusterctl move\" moved it to another management cluster")
			if left := containerNames(t, w); !slices.Contains(left, "demo-a-1234") {
				t.Errorf("The container was removed; left are %v", left)
			}
			if !w.record(t).Moved {
				t.Errorf("The record does not say that it was moved: %+v", w.record(t))
			}

			// The plane that knows it is removed, and another one created.
			w.plane.state = plane.State{}
			code, out, errs = w.run("down", "demo")
			if code != 1 || !slices.Contains(containerNames(t, w), "demo-a-1234") {
				t.Errorf("without the plane, down ended with %d:\n%s%s", code, out, errs)
			}
			mustContain(t, errs, "moved it to another management cluster", "kubectl --kubeconfig FILE delete cluster demo", "down demo --force")
			if code, out, errs = w.run("down", "demo", "--force"); code != 0 || slices.Contains(containerNames(t, w), "demo-a-1234") {
				t.Errorf("with --force, down ended with %d:\n%s%s", code, out, errs)
			}
		})
	}
}

func TestClusterThatWasMovedBackIsDeleted(t *testing.T) {
	t.Parallel()
	w := createdDemo(t)
	must.Succeed(t, moves.Add(t.Context(), w.client, "owner", "default/demo"))
	w.lose(t)
	w.run("gc")
	w.restore(t)
	w.run("gc")
	if w.record(t).Moved {
		t.Errorf("The record says that it is moved: %+v", w.record(t))
	}
	w.controllers = w.vanish
	if code, out, errs := w.run("down", "demo"); code != 0 {
		t.Errorf("down ended with %d:\n%s%s", code, out, errs)
	}
}

// The others go, and that one is reported.
func TestDownAllWithAMovedCluster(t *testing.T) {
	t.Parallel()
	w := createdDemo(t)
	must.Succeed(t, moves.Add(t.Context(), w.client, "moved-id", "default/away"))
	must.Succeed(t, w.directory().Save("away", state.Cluster{OwnerID: "moved-id", Plane: "plane-1"}))
	w.addNode(t, "away", "moved-id")
	w.controllers = w.vanish
	code, out, errs := w.run("down", "--all")
	if code != 1 || w.plane.removed != 1 {
		t.Errorf("down ended with %d, planes removed: %d\n%s%s", code, w.plane.removed, out, errs)
	}
	mustContain(t, out+errs, "cluster demo: deleted", `cluster "away" was not deleted`, "management plane: removed")
	if diff := cmp.Diff([]string{"away-a"}, containerNames(t, w)); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
}

// Its plane says that the cluster was not moved: its objects were deleted without their
// finalizers.
func TestOrphanedClusterIsDeleted(t *testing.T) {
	t.Parallel()
	w := createdDemo(t)
	w.lose(t)
	if code, out, errs := w.run("down", "demo"); code != 0 || len(containerNames(t, w)) > 0 {
		t.Errorf("down ended with %d:\n%s%s", code, out, errs)
	}
}

// The objects of a cluster that was created on another engine are kept by its controllers until
// the user says that this engine is lost.
func TestClusterOfALostEngineIsDeleted(t *testing.T) {
	t.Parallel()
	w := createdDemo(t)
	key := client.ObjectKey{Namespace: "default", Name: "demo"}
	cluster := &infrav1.ContainerCluster{}
	must.Succeed(t, w.client.Get(t.Context(), key, cluster))
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.EngineAnnotation, "lost")
	must.Succeed(t, w.client.Update(t.Context(), cluster))
	must.Succeed(t, w.engine.RemoveContainer(t.Context(), "demo-a-1234"))
	w.controllers = func() {
		must.Succeed(t, client.IgnoreNotFound(w.client.Get(t.Context(), key, cluster)))
		if _, recorded := cluster.Annotations[infrav1.EngineAnnotation]; !recorded {
			w.vanish()
		}
	}
	if code, out, errs := w.run("down", "demo", "--timeout", "100ms"); code != 1 {
		t.Errorf("its containers may run on the other engine; down ended with %d:\n%s%s", code, out, errs)
	}
	if code, out, errs := w.run("down", "demo", "--force", "--timeout", "1m"); code != 0 {
		t.Errorf("with --force, down ended with %d:\n%s%s", code, out, errs)
	}
}

func (w *world) addNode(t *testing.T, cluster, ownerID string) {
	t.Helper()
	labels := identity.Owner{Namespace: "default", Cluster: cluster, ID: ownerID}.ContainerLabels(identity.RoleControlPlane, cluster+"-a")
	must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{Name: cluster + "-a", Image: "localhost/capcon/node:v1.36.3", Labels: labels}))(t)
	must.Succeed(t, w.engine.StartContainer(t.Context(), cluster+"-a"))
}

func TestUpRefusesTheNameOfALostCluster(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		plane  plane.State
		words  []string
	}{
		"NoPlane":      {"The plane was removed.", plane.State{}, []string{"down demo --force"}},
		"AnotherPlane": {"A new one answers.", plane.State{ID: "plane-2", Exists: true, Answers: true, Kubeconfig: []byte("management")}, []string{"down demo --force"}},
		"StoppedPlane": {"A new one does not run.", plane.State{ID: "plane-2", Exists: true}, []string{"down demo --force"}},
		"SamePlane":    {"Only the objects are lost.", plane.State{ID: "plane-1", Exists: true, Answers: true, Kubeconfig: []byte("management")}, []string{"capcon down demo\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := createdDemo(t)
			w.lose(t)
			w.plane.state = tc.plane
			w.engine.ResetJournal()
			before := w.record(t)
			code, out, errs := w.run("up", "demo")
			if code != 1 {
				t.Errorf("%s up ended with %d:\n%s", tc.reason, code, out)
			}
			mustContain(t, errs, append(tc.words, `cluster "demo" has 1 container (owner ID owner)`, "clusterctl move --to-kubeconfig", "forget demo")...)
			if calls := w.engine.MutatingCalls(); len(calls) > 0 || len(w.clusters()) > 0 {
				t.Errorf("%s Something was created: %v, %v", tc.reason, calls, w.clusters())
			}
			if diff := cmp.Diff(before, w.record(t)); diff != "" {
				t.Errorf("%s The record changed (-before +after):\n%s", tc.reason, diff)
			}
		})
	}
}

// The record leads to the containers of the lost cluster, of which there is no other trace.
func TestRecordOfALostClusterIsNotOverwritten(t *testing.T) {
	t.Parallel()
	w := createdDemo(t)
	w.lose(t)
	w.restore(t) // one of the same name, that was made with kubectl
	infrastructure := &infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}
	must.Succeed(t, w.client.Delete(t.Context(), infrastructure))
	infrastructure = &infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}, Spec: infrav1.ContainerClusterSpec{OwnerID: "second"}}
	must.Succeed(t, w.client.Create(t.Context(), infrastructure))
	w.controllers = w.vanishObjects
	code, out, errs := w.run("down", "demo", "--keep-plane")
	if code != 0 {
		t.Errorf("down ended with %d:\n%s%s", code, out, errs)
	}
	mustContain(t, errs, "earlier cluster of that name", "gc --owner owner --yes")
	if w.record(t).OwnerID != "owner" || !slices.Contains(containerNames(t, w), "demo-a-1234") {
		t.Errorf("record %+v, containers %v", w.record(t), containerNames(t, w))
	}
}

// "Not found" on an engine that has other data than the one of the record says nothing.
func TestEngineWithOtherData(t *testing.T) {
	t.Parallel()
	w := createdDemo(t)
	before := w.record(t)
	if before.Engine.StorageID == "" {
		t.Fatalf("The record has no identity of the engine: %+v", before)
	}
	w.engine.SwitchStorage("another")
	addImages(w.engine)
	w.plane.state = plane.State{}
	for _, command := range [][]string{{"down", "demo"}, {"down", "--all"}, {"status", "demo"}, {"up", "demo"}, {"kubeconfig", "absent"}, {"gc", "--yes"}} {
		code, out, errs := w.run(command...)
		if command[0] != "gc" && code != 1 {
			t.Errorf("%v ended with %d:\n%s%s", command, code, out, errs)
		}
		if slices.Contains(command, "demo") || slices.Contains(command, "--all") {
			mustContain(t, out+errs, "unknown")
		}
		if diff := cmp.Diff(before, w.record(t)); diff != "" {
			t.Errorf("%v changed the record (-before +after):\n%s", command, diff)
		}
	}
}

// Docker is down and Podman is not: what Docker has is not "not found".
func TestEngineThatWasPassedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	docker := state.For(filepath.Join(w.state, "capcon"), "docker", "d")
	must.Succeed(t, docker.Save("demo", state.Cluster{OwnerID: "x", Engine: state.Engine{Name: "docker", Endpoint: "unix:///var/run/docker.sock"}}))
	w.passedOver = []string{"unix:///var/run/docker.sock"}
	for _, command := range [][]string{{"down", "demo"}, {"up", "demo"}, {"status"}, {"list"}, {"gc"}, {"down", "--all"}} {
		code, out, errs := w.run(command...)
		if code != 1 {
			t.Errorf("%v ended with %d:\n%s%s", command, code, out, errs)
		}
		mustContain(t, errs, `docker at unix:///var/run/docker.sock, which has cluster "demo", does not respond`, "--engine simulated")
	}
	w.passedOver = []string{"unix:///run/user/1/docker.sock"}
	if code, _, errs := w.run("list"); code != 0 || strings.Contains(errs, "does not respond") {
		t.Errorf("An engine without clusters may be passed over; list ended with %d: %s", code, errs)
	}
}
