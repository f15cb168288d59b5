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

package cluster

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// ensureOwnerID gives the cluster its identity before anything is created
// that would have to carry it. It is written at once and with a lock: two
// managers must not both believe in an ID of their own.
// Before the patch of the reconcile is prepared, so that the two do not meet.
func (r *Reconciler) ensureOwnerID(ctx context.Context, containerCluster *infrav1.ContainerCluster) error {
	if containerCluster.Annotations[infrav1.OwnerIDAnnotation] != "" || !containerCluster.DeletionTimestamp.IsZero() {
		return nil
	}
	original := containerCluster.DeepCopy()
	metav1.SetMetaDataAnnotation(&containerCluster.ObjectMeta, infrav1.OwnerIDAnnotation, identity.NewOwnerID())
	patch := client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, containerCluster, patch); err != nil {
		return fmt.Errorf("record owner ID: %w", err)
	}
	return nil
}
