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

package clusterpower

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// eventOf a reason says what an Event is called and how bad it is; other reasons have none.
var eventOf = map[string]struct{ kind, name, action string }{
	infrav1.StoppedReason:     {corev1.EventTypeNormal, "ClusterStopped", "Stop"},
	infrav1.StopFailedReason:  {corev1.EventTypeWarning, "ClusterStopFailed", "Stop"},
	infrav1.StartedReason:     {corev1.EventTypeNormal, "ClusterStarted", "Start"},
	infrav1.StartFailedReason: {corev1.EventTypeWarning, "ClusterStartFailed", "Start"},
}

// report the condition, with an Event where its reason is a new one.
func (r *Reconciler) report(ctx context.Context, s *scope, status metav1.ConditionStatus, reason, message string) error {
	helper, err := patch.NewHelper(s.containerCluster, r.Client)
	if err != nil {
		return fmt.Errorf("prepare patch: %w", err)
	}
	before := conditions.GetReason(s.containerCluster, infrav1.StoppedCondition)
	reconcile.SetCondition(s.containerCluster, metav1.Condition{Type: infrav1.StoppedCondition, Status: status, Reason: reason, Message: message})
	owned := patch.WithOwnedConditions{Conditions: []string{infrav1.StoppedCondition}}
	if err := reconcile.IgnoreGone(helper.Patch(ctx, s.containerCluster, owned)); err != nil {
		return fmt.Errorf("patch ContainerCluster: %w", err)
	}
	if event, hasEvent := eventOf[reason]; hasEvent && reason != before {
		r.Events.Eventf(s.cluster, nil, event.kind, event.name, event.action, "%s", message)
	}
	return nil
}

// reportEngine reports an error of a call that only reads.
func (r *Reconciler) reportEngine(ctx context.Context, s *scope, reason string, cause error) (ctrl.Result, error) {
	status := metav1.ConditionFalse
	switch {
	case errors.Is(cause, engine.ErrUnavailable):
		status, reason = metav1.ConditionUnknown, infrav1.EngineUnavailableReason
	case isAbsent(cause):
		status, reason = metav1.ConditionUnknown, infrav1.EngineChangedReason
	}
	return ctrl.Result{RequeueAfter: retryInterval}, r.report(ctx, s, status, reason, cause.Error())
}

// isAbsent reports whether the engine of the cluster did not respond: none did, or another one.
func isAbsent(err error) bool {
	var other *containercluster.OtherEngineError
	return errors.Is(err, engine.ErrUnavailable) || errors.As(err, &other)
}

// refusal of an engine, in words that stay the same with each retry.
func refusal(err error) string {
	var taken *engine.ConflictError
	if !errors.As(err, &taken) || taken.Value == "" {
		return engine.Cause(err).Error()
	}
	text := fmt.Sprintf("%s %s is in use", taken.Resource, taken.Value)
	if taken.Holder == "" {
		return text
	}
	return text + fmt.Sprintf(" by container %s; stop or remove that container", taken.Holder)
}
