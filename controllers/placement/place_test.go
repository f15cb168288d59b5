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

package placement_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const namespace = "team"

func quantity(text string) *resource.Quantity { return ptr.To(resource.MustParse(text)) }

// engineWith returns an engine that is ready.
func engineWith(name, cpu, memory string, change func(*infrav1.ContainerEngine)) *infrav1.ContainerEngine {
	engine := &infrav1.ContainerEngine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"name": name}},
		Status: infrav1.ContainerEngineStatus{
			Capacity:   infrav1.EngineResources{CPU: quantity(cpu), Memory: quantity(memory)},
			Conditions: []metav1.Condition{{Type: infrav1.EngineReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready"}},
		},
	}
	if change != nil {
		change(engine)
	}
	return engine
}

func unplaced(name string, selector map[string]string) *infrav1.ContainerCluster {
	return &infrav1.ContainerCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: name}},
		Spec:       infrav1.ContainerClusterSpec{EngineSelector: &metav1.LabelSelector{MatchLabels: selector}},
	}
}

func on(engine string, cluster *infrav1.ContainerCluster) *infrav1.ContainerCluster {
	cluster.Spec.EngineName = engine
	return cluster
}

func reserved(cluster, cpu, memory string) infrav1.EngineReservation {
	return infrav1.EngineReservation{ClusterName: cluster, CPU: quantity(cpu), Memory: quantity(memory)}
}

// topology with one control plane and workers: 2 CPUs and 2Gi, and 1 CPU and 1Gi for each worker.
func topology(workers int32) *clusterv1.Cluster {
	cluster := &clusterv1.Cluster{}
	cluster.Spec.Topology.ClassRef.Name = "class"
	cluster.Spec.Topology.Workers.MachineDeployments = []clusterv1.MachineDeploymentTopology{{Replicas: &workers}}
	return cluster
}

func place(t *testing.T, c client.Client, cluster *clusterv1.Cluster, name string) (engine string, err error) {
	t.Helper()
	object := &infrav1.ContainerCluster{}
	must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object))
	err = placement.Place(t.Context(), c, cluster, object)
	return object.Spec.EngineName, err
}

func TestPlace(t *testing.T) {
	t.Parallel()
	lost := func(e *infrav1.ContainerEngine) { e.Spec.Lost = ptr.To(true) }
	cases := map[string]struct {
		reason   string
		cluster  *infrav1.ContainerCluster
		topology *clusterv1.Cluster
		others   []client.Object
		want     string
		reserves infrav1.EngineReservation
		refusals []string
	}{
		"MostMemory": {
			reason: "Clusters are spread.", cluster: unplaced("c", nil), topology: topology(2),
			others: []client.Object{engineWith("a", "8", "8Gi", nil), engineWith("b", "8", "16Gi", nil)},
			want:   "b", reserves: reserved("c", "4", "4Gi"),
		},
		"Selected": {
			reason: "Labels say which engines may have it.", cluster: unplaced("c", map[string]string{"name": "a"}), topology: topology(0),
			others: []client.Object{engineWith("a", "8", "8Gi", nil), engineWith("b", "8", "16Gi", nil)},
			want:   "a", reserves: reserved("c", "2", "2Gi"),
		},
		"WithoutTopology": {
			reason: "A cluster has one control plane at least.", cluster: unplaced("c", nil), topology: &clusterv1.Cluster{},
			others: []client.Object{engineWith("a", "8", "8Gi", func(e *infrav1.ContainerEngine) {
				e.Spec.Capacity.ControlPlane.Memory = quantity("3Gi")
			})},
			want: "a", reserves: reserved("c", "2", "3Gi"),
		},
		"Says": {
			reason: "Its author knows better.", topology: topology(2),
			cluster: func() *infrav1.ContainerCluster {
				c := unplaced("c", nil)
				c.Spec.EngineReservation.CPU = quantity("1")
				return c
			}(),
			others: []client.Object{engineWith("a", "1", "8Gi", nil)},
			want:   "a", reserves: reserved("c", "1", "4Gi"),
		},
		"NotReady": {
			reason: "Each engine says why not.", cluster: unplaced("c", nil), topology: topology(2),
			others: []client.Object{
				engineWith("cpu", "3", "8Gi", nil), engineWith("memory", "8", "3Gi", nil), engineWith("lost", "8", "8Gi", lost),
				engineWith("indebted", "8", "8Gi", func(e *infrav1.ContainerEngine) { e.Spec.Debts = []infrav1.EngineDebt{{Name: "id"}} }),
				engineWith("maintained", "8", "8Gi", func(e *infrav1.ContainerEngine) { e.Spec.Maintenance = ptr.To(true) }),
				engineWith("down", "8", "8Gi", func(e *infrav1.ContainerEngine) {
					e.Status.Conditions[0].Status, e.Status.Conditions[0].Reason = metav1.ConditionFalse, "Unreachable"
				}),
				engineWith("unknown", "8", "8Gi", func(e *infrav1.ContainerEngine) { e.Status.Capacity.Memory = nil }),
			},
			refusals: []string{
				"cpu has 3 CPUs free, and the cluster needs 4", "down is not ready: Unreachable", "indebted has what deleted clusters left there while it was lost", "lost is lost", "maintained is in maintenance",
				"memory has 3Gi of memory free, and the cluster needs 4Gi", "unknown has no known capacity: set spec.capacity",
			},
		},
		"Reserved": {
			reason: "What clusters without machines have reserved is not free.", cluster: unplaced("c", nil), topology: topology(2),
			others: []client.Object{
				on("a", unplaced("other", nil)),
				engineWith("a", "8", "8Gi", func(e *infrav1.ContainerEngine) {
					e.Spec.Reservations = []infrav1.EngineReservation{reserved("other", "2", "5Gi")}
				}),
			},
			refusals: []string{"a has 3Gi of memory free, and the cluster needs 4Gi"},
		},
		"Interrupted": {
			reason: "A manager that ended after the reservation is continued.", cluster: unplaced("c", nil), topology: topology(2),
			others: []client.Object{
				engineWith("b", "8", "16Gi", nil),
				engineWith("a", "8", "5Gi", func(e *infrav1.ContainerEngine) {
					e.Spec.Reservations = []infrav1.EngineReservation{reserved("c", "4", "4Gi")}
				}),
			},
			want: "a", reserves: reserved("c", "4", "4Gi"),
		},
		"Grown": {
			reason:  "The reservation of a cluster follows it, also where it does not fit: it stays on its engine.",
			cluster: on("a", unplaced("c", nil)), topology: topology(9),
			others: []client.Object{engineWith("b", "16", "16Gi", nil), engineWith("a", "4", "4Gi", func(e *infrav1.ContainerEngine) {
				e.Spec.Reservations = []infrav1.EngineReservation{reserved("c", "4", "4Gi")}
			})},
			want: "a", reserves: reserved("c", "11", "11Gi"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(tc.cluster).WithObjects(tc.others...).Build()
			engine, err := place(t, c, tc.topology, "c")
			none := new(placement.NoEngineError)
			if isRefused := errors.As(err, &none); engine != tc.want || err != nil && !isRefused {
				t.Fatalf("%s It is on %q, want %q (%v)", tc.reason, engine, tc.want, err)
			}
			if diff := cmp.Diff(tc.refusals, none.Reasons); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
			if tc.want == "" {
				return
			}
			stored := &infrav1.ContainerEngine{}
			must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: engine}, stored))
			var got *infrav1.EngineReservation
			for i := range stored.Spec.Reservations {
				if stored.Spec.Reservations[i].ClusterName == "c" {
					got = &stored.Spec.Reservations[i]
				}
			}
			if diff := cmp.Diff(&tc.reserves, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
			version := stored.ResourceVersion
			if again, err := place(t, c, tc.topology, "c"); again != engine || err != nil {
				t.Errorf("placed again on %q (%v)", again, err)
			}
			must.Succeed(t, c.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))
			if stored.ResourceVersion != version {
				t.Error("it is reserved again")
			}
		})
	}
}

// TestConcurrent: all clusters read the engines before the first of them reserves. No engine gets more than it has, and
// what fits is placed in the end.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const clusters, fit = 10, 6
	objects := []client.Object{engineWith("a", "8", "64Gi", nil), engineWith("b", "5", "64Gi", nil)}
	for i := range clusters {
		objects = append(objects, unplaced(fmt.Sprintf("c%d", i), nil))
	}
	var read sync.WaitGroup
	read.Add(clusters)
	first := sync.Map{}
	store := fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(objects...).Build()
	clientOf := func(name string) client.Client {
		return interceptor.NewClient(store, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				err := c.List(ctx, list, options...)
				if _, isEngines := list.(*infrav1.ContainerEngineList); isEngines {
					if _, again := first.LoadOrStore(name, true); !again {
						read.Done()
						read.Wait()
					}
				}
				return err
			},
		})
	}
	var conflicts, refused sync.Map
	var running sync.WaitGroup
	for i := range clusters {
		running.Go(func() {
			name := fmt.Sprintf("c%d", i)
			c := clientOf(name)
			for {
				_, err := place(t, c, topology(0), name)
				switch none := new(placement.NoEngineError); {
				case placement.IsConflict(err):
					conflicts.Store(name, true)
					continue
				case errors.As(err, &none):
					refused.Store(name, true)
				case err != nil:
					t.Error(err)
				}
				return
			}
		})
	}
	running.Wait()
	placed := map[string]int{}
	list := &infrav1.ContainerClusterList{}
	must.Succeed(t, store.List(t.Context(), list))
	for _, cluster := range list.Items {
		placed[cluster.Spec.EngineName]++
	}
	// 2 CPUs each: four on the engine with 8, and two on the one with 5.
	if diff := cmp.Diff(map[string]int{"a": 4, "b": 2, "": clusters - fit}, placed); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	count := func(of *sync.Map) (n int) {
		of.Range(func(any, any) bool { n++; return true })
		return n
	}
	if count(&conflicts) == 0 || count(&refused) != clusters-fit {
		t.Errorf("%d clusters had conflicts, and %d were refused", count(&conflicts), count(&refused))
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	engine := engineWith("a", "8", "8Gi", func(e *infrav1.ContainerEngine) {
		e.Spec.Reservations = []infrav1.EngineReservation{
			reserved("gone", "1", "1Gi"), reserved("here", "1", "1Gi"), reserved("elsewhere", "1", "1Gi"), reserved("next", "1", "1Gi"),
		}
	})
	c := fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(
		engine, on("a", unplaced("here", nil)), on("b", unplaced("elsewhere", nil)), unplaced("next", nil)).Build()
	must.Succeed(t, c.Get(t.Context(), client.ObjectKeyFromObject(engine), engine))
	stale := engine.DeepCopy()
	must.Succeed(t, placement.Release(t.Context(), c, engine))
	must.Succeed(t, c.Get(t.Context(), client.ObjectKeyFromObject(engine), engine))
	var got []string
	for _, reservation := range engine.Spec.Reservations {
		got = append(got, reservation.ClusterName)
	}
	if diff := cmp.Diff([]string{"here", "next"}, got); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	if err := placement.Release(t.Context(), c, stale); !placement.IsConflict(err) {
		t.Errorf("who has not read the latest reservations removes some: %v", err)
	}
}
