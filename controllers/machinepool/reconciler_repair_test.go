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
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// repaired tests that removed fields and owners are restored.
func repaired() map[string]reconcileTest {
	return map[string]reconcileTest{
		"OwnersAndLabels": {
			reason: "Instances are found by one of both, and get the other back.",
			args: args{
				replicas: 2,
				change: func(_ *testing.T, w *world.World) {
					isPool := func(owner metav1.OwnerReference) bool { return owner.Kind == "ContainerMachinePool" }
					world.Edit(w, names(w)[0], &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
						m.OwnerReferences = slices.DeleteFunc(m.OwnerReferences, isPool)
					})
					world.Edit(w, names(w)[1], &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) { m.Labels = nil })
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 2, provisioned: true},
		},
		"EngineDown": {
			reason: "Readiness of instances is Unknown while the engine is not reachable.",
			args: args{
				replicas: 2,
				change: func(_ *testing.T, w *world.World) {
					w.Calls.Hook(func(simulated.Call) error { return engine.ErrUnavailable }, nil)
				},
			},
			want: want{ready: "Unknown/" + infrav1.ReplicasNotReadyReason, replicasUpToDate: upToDate, message: "EngineUnavailable", instances: 2, kept: 2, provisioned: true},
		},
	}
}

// ignored tests changes that must have no effect.
func ignored() map[string]reconcileTest {
	outdate := func(w *world.World) {
		editMachinePool(w, func(m *clusterv1.MachinePool) { m.Spec.Template.Spec.Version = "v1.36.4" })
	}
	return map[string]reconcileTest{
		"Paused": {
			reason: "A pool that is paused is neither scaled nor rolled out.",
			args: args{
				replicas: 2,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					edit(w, func(p *infrav1.ContainerMachinePool) {
						p.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
					})
					outdate(w)
					replicas(3)(t, w)
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 2, provisioned: true},
		},
		"ExternallyManaged": {
			reason: "An externally managed pool is not changed.",
			args: args{
				options: []builders.Option{builders.MachinePool(2, func(_ *clusterv1.MachinePool, p *infrav1.ContainerMachinePool) {
					p.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "other"}
				}), onlyLastPool},
			},
			want: want{ready: "absent", replicasUpToDate: "absent"},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				if pool := get(w); len(pool.Finalizers) > 0 || len(pool.Status.Conditions) > 0 {
					t.Errorf("finalizers %v, conditions %v", pool.Finalizers, pool.Status.Conditions)
				}
			},
		},
		"NotTakenOver": {
			reason: "Without its MachinePool the desired number of replicas is unknown.",
			args: args{
				options: []builders.Option{builders.MachinePool(2, func(_ *clusterv1.MachinePool, p *infrav1.ContainerMachinePool) {
					p.OwnerReferences = nil
				}), onlyLastPool},
			},
			want: want{ready: "absent", replicasUpToDate: "absent"},
		},
		"MachinePoolDeleted": {
			reason: "What is to go is not scaled up any more.",
			args: args{
				replicas: 1,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					editMachinePool(w, func(m *clusterv1.MachinePool) {
						m.Finalizers, m.Spec.Replicas = []string{clusterv1.MachinePoolFinalizer}, ptr.To[int32](3)
					})
					world.Delete(w, builders.Pool, &clusterv1.MachinePool{})
				},
			},
			want: want{ready: "False/" + infrav1.ReplicasNotReadyReason, replicasUpToDate: upToDate, instances: 1, kept: 1, provisioned: true},
		},
	}
}
