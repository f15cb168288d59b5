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

package management

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestLeftovers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		object client.Object
		// owners are the kinds that own it.
		owners []string
		counts bool
	}{
		"OfTheCluster": {
			reason: "It goes with the Cluster, after it.",
			object: &addonsv1.ClusterResourceSet{}, owners: []string{"Cluster"}, counts: true,
		},
		"OfItsControlPlane": {
			reason: "So does what its parts own.",
			object: &corev1.Secret{}, owners: []string{"KubeadmControlPlane"}, counts: true,
		},
		"OfTheClusterAndASet": {
			reason: "A set owns what capcon installs by it, and the Cluster does too.",
			object: &corev1.ConfigMap{}, owners: []string{"ClusterResourceSet", "Cluster"}, counts: true,
		},
		"OfTheUser": {
			reason: "No controller removes what a user made for the Cluster: waiting for that would never end.",
			object: &corev1.Secret{},
		},
		"InstalledByTheUser": {
			reason: "Nor what the user's own set installs.",
			object: &corev1.ConfigMap{}, owners: []string{"ClusterResourceSet"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := must.Get(Scheme())(t)
			tc.object.SetNamespace("default")
			tc.object.SetName("it")
			tc.object.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "demo"})
			var owners []metav1.OwnerReference
			for _, kind := range tc.owners {
				owners = append(owners, metav1.OwnerReference{Kind: kind, Name: "demo"})
			}
			tc.object.SetOwnerReferences(owners)
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.object).Build()
			left := must.Get(Leftovers(t.Context(), api, "default", "demo"))(t)
			if diff := cmp.Diff(tc.counts, len(left) == 1); diff != "" {
				t.Errorf("%s\nwhether it counts (-want, +got):\n%s%q", tc.reason, diff, left)
			}
		})
	}
}
