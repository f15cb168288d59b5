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

package controllers_test

import (
	"context"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// losses are what objects may lose while no manager runs: status by a move or a
// restore, labels and annotations by users who apply their own manifest.
func losses() map[string]func(*world.World) {
	status := func(w *world.World) {
		world.EditStatus(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
			c.Status = infrav1.ContainerClusterStatus{}
		})
		world.EditStatus(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
			m.Status = infrav1.ContainerMachineStatus{}
		})
		world.EditStatus(w, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) { m.Status = clusterv1.MachineStatus{} })
	}
	metadata := func(change func(client.Object)) func(*world.World) {
		return func(w *world.World) {
			world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) { change(c) })
			world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) { change(m) })
		}
	}
	labels := metadata(func(object client.Object) { object.SetLabels(nil) })
	annotations := metadata(func(object client.Object) { object.SetAnnotations(nil) })
	return map[string]func(*world.World){
		"Status": status, "Labels": labels, "Annotations": annotations,
		"All": func(w *world.World) { status(w); labels(w); annotations(w) },
	}
}

// TestLosses kills the manager after each write to engine and API server, and lets
// the objects lose what they may lose before another manager starts. It ends with
// the same containers, each created as often as without the loss.
func TestLosses(t *testing.T) {
	t.Parallel()
	work := interruptions()
	for _, name := range []string{"CreateWorker", "CreateControlPlane"} {
		work[name] = scenarios()[name]
	}
	for name, s := range work {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for loss, lose := range losses() {
				t.Run(loss, func(t *testing.T) {
					var want state
					var created map[string]int
					faults.Each(t, faults.Of(faults.Forgotten), func(t *testing.T, f faults.Fault) *faults.Injector {
						t.Helper()
						w, injector := s.run(t, f, lose)
						end := snapshot(t, w)
						// The labels are Cluster API's to restore.
						end.Objects = nil
						if f == (faults.Fault{}) {
							want, created = end, creations(w)
						}
						if diff := difference(want, end); diff != "" {
							t.Errorf("the end differs (-undisturbed +disturbed):\n%s", diff)
						}
						if diff := gocmp.Diff(created, creations(w)); diff != "" {
							t.Errorf("containers created (-undisturbed +disturbed):\n%s", diff)
						}
						return injector
					})
				})
			}
		})
	}
}

// creations of containers by name.
func creations(w *world.World) map[string]int {
	count := map[string]int{}
	for _, call := range w.Calls.Effects() {
		if call.Method == "CreateContainer" {
			count[call.Name]++
		}
	}
	return count
}

// TestLostNode: the container of a control plane whose bootstrap was completed goes
// away, and so does all that is not spec. kubeadm init with the CA of the cluster
// would create an empty cluster that looks ready.
func TestLostNode(t *testing.T) {
	t.Parallel()
	for name, lose := range losses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(builders.ControlPlane(builders.InitData)))
			settle(w)
			must.Succeed(t, simulatednode.Record(w.Engine, builders.Container(builders.Machine), map[string]string{"": "done"}))
			settle(w)
			must.Succeed(t, w.Engine.RemoveContainer(context.WithoutCancel(t.Context()), builders.Container(builders.Machine)))
			lose(w)
			w.Restart()
			created := creations(w)
			settle(w)
			if diff := gocmp.Diff(created, creations(w)); diff != "" {
				t.Errorf("containers created (-before +after the loss):\n%s", diff)
			}
			machine, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
			if state, message := world.State(machine, infrav1.MachineReadyCondition); state != "False/"+infrav1.ContainerNotFoundReason {
				t.Errorf("Ready is %s: %s", state, message)
			}
		})
	}
}
