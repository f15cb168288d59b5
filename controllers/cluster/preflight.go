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
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

// checkPreflight evaluates what is known of engine and host. What needs a probe
// is evaluated after the image of a machine was probed.
func (r *Reconciler) checkPreflight(ctx context.Context, s *scope) error {
	facts, err := r.preflightFacts(ctx, s)
	if err != nil {
		return err
	}
	facts.IPv6 = rangesFamilies(s.cluster).Has(network.IPv6)
	items := preflight.Check(facts)
	if facts.Host != nil && preflight.Failed(items) {
		// What the user has fixed meanwhile shows only to a new probe.
		renewed, err := s.Host.Renew(ctx)
		if err != nil {
			return err
		}
		facts.Host = &renewed.Probed
		items = preflight.Check(facts)
	}
	summary := preflight.Summary(items)
	switch {
	case errors.Is(facts.EngineError, engine.ErrUnavailable):
		return reconcile.Failure{
			Err:       fmt.Errorf("get engine info: %w", facts.EngineError),
			Condition: infrav1.PreflightPassedCondition, Status: metav1.ConditionUnknown, Reason: infrav1.EngineUnavailableReason, Message: summary,
		}
	case preflight.Failed(items):
		return reconcile.Wait{
			Condition: infrav1.PreflightPassedCondition, Reason: infrav1.PreflightFailedReason, Message: summary, After: reconcile.UserInterval,
		}
	}
	s.setCondition(infrav1.PreflightPassedCondition, metav1.ConditionTrue, infrav1.PreflightPassedReason, summary)
	return nil
}

// preflightFacts are those of now, for the machines on the engine: all share the
// host, whatever cluster they are of.
func (r *Reconciler) preflightFacts(ctx context.Context, s *scope) (preflight.Facts, error) {
	machines := &infrav1.ContainerMachineList{}
	// Those on the engine of an object are in its namespace. They are read only: each cluster does this with each reconcile.
	if err := r.Client.List(ctx, machines, client.InNamespace(s.Name.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return preflight.Facts{}, fmt.Errorf("list ContainerMachines: %w", err)
	}
	facts := preflight.Facts{}
	for i := range machines.Items {
		if engines.NameOf(&machines.Items[i]) != s.Name {
			continue
		}
		facts.Nodes++
		if machines.Items[i].Spec.ProviderID != "" {
			facts.Existing++
		}
	}
	answer, err := s.Host.Ask(ctx, s.Engine)
	facts.Engine, facts.EngineError, facts.Asked, facts.Answered = answer.Info, err, answer.Asked, answer.Answered
	if host, known := s.Host.Known(); known {
		facts.Host = &host.Probed
	}
	return facts, nil
}
