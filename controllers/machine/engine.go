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
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// checkEngine stops the reconcile of a machine whose container was not found where that was
// the answer of another engine than the cluster's: on that one, the container may run.
// Without its ContainerCluster there is nothing to compare with, and nothing is created.
func (r *Reconciler) checkEngine(ctx context.Context, s *scope) error {
	if s.container != nil || s.containerCluster == nil {
		return nil
	}
	_, err := containercluster.RecordOf(s.containerCluster, s.clusterName).Check(ctx, r.Engine)
	if other := new(containercluster.OtherEngineError); errors.As(err, &other) {
		return reconcile.Failure{
			Err: err, Condition: infrav1.ContainerReadyCondition, Status: metav1.ConditionUnknown,
			Reason: infrav1.EngineChangedReason, After: reconcile.UserInterval,
		}
	}
	if err != nil {
		return engineError(err)
	}
	return nil
}
