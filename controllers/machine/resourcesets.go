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

package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// +kubebuilder:rbac:groups=addons.cluster.x-k8s.io,resources=clusterresourcesetbindings,verbs=get;update

// resetResourceSets marks the resources of ClusterResourceSets as not applied before kubeadm
// init creates an empty cluster. Cluster API applies them as soon as an API server answers,
// and not again: where that init is interrupted or its Machine replaced, the next cluster
// would have no Pod network.
func (r *Reconciler) resetResourceSets(ctx context.Context, s *scope) error {
	if s.config.KubeadmOperation() != userdata.KubeadmInit {
		return nil
	}
	binding := &addonsv1.ClusterResourceSetBinding{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(s.cluster), binding)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get ClusterResourceSetBinding: %w", err)
	}
	if !markNotApplied(binding) {
		return nil
	}
	if err := r.Client.Update(ctx, binding); err != nil {
		return fmt.Errorf("update ClusterResourceSetBinding: %w", err)
	}
	r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeNormal, "ResourceSetsReset", "Reset",
		"Marked the resources of ClusterResourceSets as not applied, because kubeadm init creates an empty cluster")
	return nil
}

// markNotApplied reports whether a resource was marked as applied.
func markNotApplied(binding *addonsv1.ClusterResourceSetBinding) bool {
	changed := false
	for i := range binding.Spec.Bindings {
		resources := binding.Spec.Bindings[i].Resources
		for j := range resources {
			if ptr.Deref(resources[j].Applied, false) {
				resources[j].Applied = ptr.To(false)
				changed = true
			}
		}
	}
	return changed
}
