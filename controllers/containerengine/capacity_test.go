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

package containerengine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestCapacity(t *testing.T) {
	t.Parallel()
	quantity := func(text string) *resource.Quantity { return ptr.To(resource.MustParse(text)) }
	limited := clusterOn("limited")
	limited.Spec.Resources.Workers.CPU = quantity("500m")
	elsewhere := clusterOn("elsewhere")
	elsewhere.Spec.EngineName = "other"
	f := newFixture(t, func(e *infrav1.ContainerEngine, _ *corev1.Secret) { e.Spec.Capacity.Workers.Memory = quantity("512Mi") },
		clusterOn("c"), limited, elsewhere, machineOf("elsewhere", "e", nil),
		machineOf("c", "control-plane", func(m *infrav1.ContainerMachine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" }),
		machineOf("c", "worker", nil),
		machineOf("c", "own-limits", func(m *infrav1.ContainerMachine) {
			m.Spec.Resources.CPU, m.Spec.Resources.Memory = quantity("3"), quantity("3Gi")
		}),
		machineOf("limited", "of-role", nil),
		machineOf("gone", "left", func(m *infrav1.ContainerMachine) {
			m.Annotations = map[string]string{infrav1.EngineNameAnnotation: "build"}
		}),
	)
	f.expect("at first", well())
	// CPUs: 2 + 1 + 3 + 0.5 + 1; memory: 2Gi + 512Mi + 3Gi + 512Mi + 512Mi.
	type counted struct {
		Clusters, Machines                            int32
		CPU, Memory, FreeCPU, FreeMemory, ID, Version string
	}
	read := func() counted {
		status := f.get().Status
		text := func(q *resource.Quantity) string {
			if q == nil {
				return "unknown"
			}
			return q.String()
		}
		return counted{
			*status.Clusters, *status.Machines, text(status.Reserved.CPU), text(status.Reserved.Memory), text(status.Free.CPU), text(status.Free.Memory),
			status.ID, status.Version,
		}
	}
	got := read()
	want := counted{2, 5, "7500m", "6656Mi", "500m", "9728Mi", got.ID, "29.1"}
	if diff := cmp.Diff(want, got); diff != "" || got.ID == "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	f.edit(func(e *infrav1.ContainerEngine) {
		e.Spec.Capacity.CPU, e.Spec.Capacity.Memory = quantity("4"), quantity("8Gi")
	})
	f.engine.Down()
	_, err := f.reconcile()
	must.Succeed(t, err)
	want.FreeCPU, want.FreeMemory = "0", "1536Mi"
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("What the object says is known without the engine (-want, +got):\n%s", diff)
	}
}
