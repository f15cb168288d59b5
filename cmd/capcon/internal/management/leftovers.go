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
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Leftovers returns the kinds and names of what the deletion of a Cluster has
// not yet taken along. What its user made for it stays and does not count.
func Leftovers(ctx context.Context, c client.Client, namespace, name string) ([]string, error) {
	lists := map[string]client.ObjectList{
		"ContainerMachineTemplate": &infrav1.ContainerMachineTemplateList{},
		"KubeadmConfigTemplate":    &bootstrapv1.KubeadmConfigTemplateList{},
		"ClusterResourceSet":       &addonsv1.ClusterResourceSetList{},
		"ConfigMap":                &corev1.ConfigMapList{},
		"Secret":                   &corev1.SecretList{},
	}
	var left []string
	for kind, list := range lists {
		err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
		if err != nil {
			return nil, fmt.Errorf("list %ss of cluster %q: %w", kind, name, err)
		}
		err = meta.EachListItem(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			if ok && goesAlong(object) {
				left = append(left, kind+" "+object.GetName())
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read %ss of cluster %q: %w", kind, name, err)
		}
	}
	return left, nil
}

// goesAlong reports whether the object has an owner that goes with its Cluster.
// A ClusterResourceSet has what it installs for an owned object too, and goes
// only where it is owned itself.
func goesAlong(object client.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return owner.Kind != "ClusterResourceSet"
	})
}
