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

package machine_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// What ClusterResourceSets applied to a cluster is applied to the one that a later kubeadm
// init creates in its place.
func TestInitResetsResourceSets(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		data   string
		// change after the resources were applied.
		change  func(t *testing.T, w *world.World)
		applied bool
	}{
		"Interrupted": {
			reason: "The container is recreated, and its etcd is empty.", data: builders.InitData,
			change: record("interrupted"),
		},
		"Removed": {
			reason: "So is the one of a container that was removed during its init.", data: builders.InitData,
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.RemoveContainer(t.Context(), container()))
			},
		},
		"Completed": {
			reason: "A cluster that is complete keeps what it has.", data: builders.InitData,
			change: record("done"), applied: true,
		},
		"Join": {
			reason: "A control plane that joins has the etcd of the others.", data: builders.JoinControlPlaneData,
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.KillContainer(container(), 137, false))
			},
			applied: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := builders.New(builders.ControlPlane(tc.data))
			binding := &addonsv1.ClusterResourceSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: objects.Cluster.Namespace, Name: objects.Cluster.Name}}
			binding.Spec.Bindings = []addonsv1.ResourceSetBinding{{
				ClusterResourceSetName: "cni", Resources: []addonsv1.ResourceBinding{{Applied: ptr.To(false)}},
			}}
			objects.Others = append(objects.Others, binding)
			w := world.New(t, objects)
			w.SettleMachine(builders.Machine)
			world.Edit(w, builders.Cluster, &addonsv1.ClusterResourceSetBinding{}, func(b *addonsv1.ClusterResourceSetBinding) {
				b.Spec.Bindings[0].Resources[0].Applied = ptr.To(true)
			})
			tc.change(t, w)
			w.SettleMachine(builders.Machine)

			found, _ := world.Get(w, builders.Cluster, &addonsv1.ClusterResourceSetBinding{})
			if applied := ptr.Deref(found.Spec.Bindings[0].Resources[0].Applied, false); applied != tc.applied {
				t.Errorf("%s\nthe resource is marked as applied: %t, want %t", tc.reason, applied, tc.applied)
			}
		})
	}
}
