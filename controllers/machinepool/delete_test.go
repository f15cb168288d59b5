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

package machinepool_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

func TestDelete(t *testing.T) {
	t.Parallel()
	filled := func(w *world.World) { w.SettlePool() }
	cases := map[string]struct {
		reason string
		setup  func(w *world.World)
		// machines and instances are how many of them are not being deleted after
		// the first reconcile.
		machines, instances int
		message             string
		// goes is what happens after the first reconcile.
		goes func(w *world.World)
	}{
		"MachinesFirst": {
			reason: "Nodes are drained: the Machines take the instances with them.",
			setup:  filled, instances: 2, message: "waiting for ContainerMachines to be deleted: ",
		},
		"Unclaimed": {
			reason: "Instances that have no Machine get none any more.",
			setup: func(w *world.World) {
				for range 2 {
					_, _ = w.ReconcilePool()
				}
			},
		},
		"Empty": {
			reason: "A pool of none goes immediately.",
			setup: func(w *world.World) {
				editMachinePool(w, func(m *clusterv1.MachinePool) { m.Spec.Replicas = ptr.To[int32](0) })
				w.SettlePool()
			},
		},
		"Paused": {
			reason: "Of a cluster that is being moved nothing is deleted.",
			setup: func(w *world.World) {
				filled(w)
				world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
			},
			machines: 2, instances: 2,
			goes: func(w *world.World) {
				world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Spec.Paused = nil })
			},
		},
		"MovedAway": {
			reason: "The pool says so itself, before the pause of its Cluster is seen.",
			setup: func(w *world.World) {
				filled(w)
				world.Edit(w, builders.Pool, &infrav1.ContainerMachinePool{}, func(p *infrav1.ContainerMachinePool) {
					p.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
				})
			},
			machines: 2, instances: 2,
			goes: func(w *world.World) {
				world.Edit(w, builders.Pool, &infrav1.ContainerMachinePool{}, func(p *infrav1.ContainerMachinePool) { p.Annotations = nil })
			},
		},
		"MachinePoolGone": {
			reason: "The name of its owner is enough to find what is its.",
			setup: func(w *world.World) {
				filled(w)
				world.Purge(w, builders.Pool, &clusterv1.MachinePool{})
			},
			instances: 2, message: "waiting for ContainerMachines to be deleted: ",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(builders.MachinePool(2)))
			w.Nodes.FirstBoot(record.Done)
			c.setup(w)
			if _, there := world.Get(w, builders.Pool, &clusterv1.MachinePool{}); there {
				editMachinePool(w, func(m *clusterv1.MachinePool) { m.Finalizers = []string{clusterv1.MachinePoolFinalizer} })
				world.Delete(w, builders.Pool, &clusterv1.MachinePool{})
			}
			world.Delete(w, builders.Pool, &infrav1.ContainerMachinePool{})
			must.Get(w.ReconcilePool())(t)
			if machines, instances := staying(w); machines != c.machines || instances != c.instances {
				t.Errorf("%s\n%d Machines and %d instances stay, want %d and %d", c.reason, machines, instances, c.machines, c.instances)
			}
			if _, message := world.State(get(w), infrav1.MachinePoolReadyCondition); !strings.Contains(message, c.message) {
				t.Errorf("%s\nmessage %q lacks %q", c.reason, message, c.message)
			}
			if c.goes != nil {
				c.goes(w)
			}
			w.SettlePool()
			if _, there := world.Get(w, builders.Pool, &infrav1.ContainerMachinePool{}); there || len(names(w)) > 0 || len(w.Machines()) > 0 {
				t.Errorf("%s\nthat the pool is left is %t, and so are %v and %d Machines", c.reason, there, names(w), len(w.Machines()))
			}
		})
	}
}

// staying counts what is not being deleted.
func staying(w *world.World) (machines, instances int) {
	for _, machine := range w.Machines() {
		if machine.DeletionTimestamp.IsZero() {
			machines++
		}
	}
	for _, instance := range w.ContainerMachines() {
		if instance.DeletionTimestamp.IsZero() {
			instances++
		}
	}
	return machines, instances
}

// Its owner is what says which MachinePool it is of. Where that reference got
// lost, the pool's own mark on its instances remains, and nothing else is its.
func TestDeleteWithoutOwner(t *testing.T) {
	t.Parallel()
	const other = "control-plane"
	w := world.New(t, builders.New(builders.MachinePool(2), func(o *builders.Objects) {
		machine, containerMachine := builders.MachinePair(other)
		o.Others = append(o.Others, machine, containerMachine)
	}))
	w.Nodes.FirstBoot(record.Done)
	w.SettlePool()
	edit(w, func(p *infrav1.ContainerMachinePool) { p.OwnerReferences = nil })
	editMachinePool(w, func(m *clusterv1.MachinePool) { m.Finalizers = []string{clusterv1.MachinePoolFinalizer} })
	world.Delete(w, builders.Pool, &clusterv1.MachinePool{})
	world.Delete(w, builders.Pool, &infrav1.ContainerMachinePool{})

	must.Get(w.ReconcilePool())(t)
	if machines, instances := staying(w); machines != 1 || instances != 3 {
		t.Errorf("%d Machines and %d ContainerMachines stay; want the other one, and 3, which their Machines take with them", machines, instances)
	}
	w.SettlePool()
	if _, there := world.Get(w, builders.Pool, &infrav1.ContainerMachinePool{}); there {
		t.Error("the pool is left")
	}
	if diff := cmp.Diff([]string{other}, names(w)); diff != "" {
		t.Errorf("ContainerMachines left (-want, +got):\n%s", diff)
	}
}
