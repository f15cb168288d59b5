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
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// errEngineNotRecorded: the engine did not respond when it was to be recorded.
var errEngineNotRecorded = errors.New("the engine of the cluster is not recorded yet")

// checkEngine stops the reconcile where another engine responds than the one that the cluster
// was created on. The load balancer that it observes is what ensureLoadBalancer starts with.
func (r *Reconciler) checkEngine(ctx context.Context, s *scope) error {
	if s.hasLoadBalancer() {
		existing, err := loadbalancer.Inspect(ctx, r.Engine, s.owner().LoadBalancerContainer())
		if err != nil {
			return s.bothErrors(err)
		}
		s.loadBalancerBefore = existing
	}
	recorded := s.containerCluster.Annotations[infrav1.EngineAnnotation]
	// checkPreflight reports that the engine does not say who it is.
	known, err := r.Host.Ask(ctx, r.Engine)
	identified := err == nil && known.Info.StorageID != ""
	renamed := identified && known.Info.StorageID != recorded
	switch {
	case s.loadBalancerBefore.Exists && !renamed:
		return nil
	case recorded == "" && (err != nil || identified) && s.containerCluster.DeletionTimestamp.IsZero():
		return s.bothErrors(errEngineNotRecorded)
	}
	owns, err := RecordOf(s.containerCluster, s.owner().Cluster).Check(ctx, r.Engine)
	if other := new(OtherEngineError); errors.As(err, &other) {
		changed := reconcile.Failure{Err: err, Status: metav1.ConditionUnknown, Reason: infrav1.EngineChangedReason, After: reconcile.UserInterval}
		ofNetwork := changed
		ofNetwork.Condition = infrav1.NetworkReadyCondition
		return reconcile.Join(ofNetwork, changed)
	}
	if err != nil {
		return s.bothErrors(err)
	}
	if owns && renamed {
		// The engine has the cluster's containers and another identity, as after its host was renamed.
		return r.recordEngine(ctx, s.containerCluster)
	}
	return nil
}

// bothErrors is the outcome of an error for each condition that depends on the engine, retried
// as that of the load balancer.
func (s *scope) bothErrors(err error) error {
	s.Report(s.networkError(err))
	return s.loadBalancerError(err)
}
