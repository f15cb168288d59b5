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

package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// NoCNIAnnotation on a Cluster says that its Pod network was left to the user
// on purpose, and not merely has not been made yet.
const NoCNIAnnotation = "container.infrastructure.cluster.x-k8s.io/capcon-without-cni"

// cniKey names the manifest within its ConfigMap.
const cniKey = "cni.yaml"

// cni returns what puts the Pod network into the cluster: a ConfigMap with
// the manifest and a ClusterResourceSet for this one Cluster. A set of its
// own, because a shared one would tie the manifests of all clusters, each
// with its own Pod subnet, together.
func cni(v Values) []client.Object {
	if v.CNIManifest == "" {
		return nil
	}
	name := CNIName(v.Name)
	return []client.Object{
		&corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: meta(v, name),
			Data:       map[string]string{cniKey: v.CNIManifest},
		},
		&addonsv1.ClusterResourceSet{
			TypeMeta:   metav1.TypeMeta{APIVersion: addonsv1.GroupVersion.String(), Kind: "ClusterResourceSet"},
			ObjectMeta: meta(v, name),
			Spec: addonsv1.ClusterResourceSetSpec{
				Strategy:        string(addonsv1.ClusterResourceSetStrategyReconcile),
				ClusterSelector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.ClusterNameLabel: v.Name}},
				Resources: []addonsv1.ResourceRef{
					{Kind: string(addonsv1.ConfigMapClusterResourceSetResourceKind), Name: name},
				},
			},
		},
	}
}
