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

package reconcile

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/paused"
)

// CheckPaused reports whether the object or its cluster, which may be nil, is
// paused, and writes the Paused condition of one that is: nothing else will.
func CheckPaused(ctx context.Context, c client.Client, cluster *clusterv1.Cluster, object paused.ConditionSetter) (bool, error) {
	if (cluster == nil || !ptr.Deref(cluster.Spec.Paused, false)) && !annotations.HasPaused(object) {
		return false, nil
	}
	if _, _, err := paused.EnsurePausedCondition(ctx, c, cluster, object); err != nil {
		return true, fmt.Errorf("set Paused condition: %w", err)
	}
	return true, nil
}

// MovedAway reports whether clusterctl deletes the object because another
// management cluster has it from now on, with all that it stands for. The pause
// of the Cluster says so too, but comes by a watch of its own: with a cache that
// is behind, it may be seen after the deletion. What the object says of itself
// never is, because clusterctl writes it first.
func MovedAway(object metav1.Object) bool {
	_, moved := object.GetAnnotations()[clusterctlv1.DeleteForMoveAnnotation]
	return moved
}

// MarkActive sets the Paused condition of an object that is not paused, to be
// written with all the rest: Cluster API leaves a second between two
// reconciles of an object, and a write of its own would cost one.
func MarkActive(object conditions.Setter) {
	conditions.Set(object, metav1.Condition{
		Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason,
	})
}
