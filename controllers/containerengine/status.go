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

package containerengine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/debts"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// count what is on the engine, and write it into the status.
func (s *scope) count(usage placement.Usage) {
	s.usage = usage
	status := &s.engine.Status
	status.Clusters, status.Machines = ptr.To(int32(len(usage.Clusters))), ptr.To(int32(usage.Machines)) //nolint:gosec // There are never so many.
	status.Reserved = infrav1.EngineResources{CPU: &usage.Reserved.CPU, Memory: &usage.Reserved.Memory}
	status.Debts = ptr.To(int32(len(s.engine.Spec.Debts))) //nolint:gosec // The API admits 1000.
	s.setCapacity(nil)
}

// setCapacity of the engine, as it is known.
func (s *scope) setCapacity(info *engine.Info) {
	status := &s.engine.Status
	status.Capacity = placement.Total(s.engine.Spec.Capacity, info)
	status.Free = placement.Free(status.Capacity, s.usage.Reserved)
}

// publish what the engine says of itself.
func (s *scope) publish(info engine.Info) {
	status := &s.engine.Status
	status.ID, status.Version = info.StorageID, info.Version
	status.Product = cmp.Or(info.Traits.Product, info.Name)
	s.setCapacity(&info)
}

// deletionMessage says what the deletion waits for.
func (s *scope) deletionMessage() string {
	if len(s.usage.Users) > 0 {
		return fmt.Sprintf("deletion waits for %s on the engine", strings.Join(s.usage.Users, ", "))
	}
	return fmt.Sprintf("deletion waits until what %s left on the engine is removed; set spec.lost if the host is given up",
		strings.Join(debts.Names(s.engine), ", "))
}

// patch writes what the reconcile found, with Ready as its summary.
func (s *scope) patch(ctx context.Context, helper *patch.Helper) error {
	ready := metav1.Condition{Type: infrav1.EngineReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ReadyReason}
	for _, conditionType := range []string{infrav1.EngineReachableCondition, infrav1.EngineHostReadyCondition} {
		condition := conditions.Get(s.engine, conditionType)
		if condition == nil {
			ready.Status, ready.Reason = metav1.ConditionUnknown, conditions.NotYetReportedReason
			break
		}
		if condition.Status != metav1.ConditionTrue {
			ready.Status, ready.Reason, ready.Message = condition.Status, condition.Reason, condition.Message
			break
		}
	}
	if conditions.IsTrue(s.engine, infrav1.EngineReachableCondition) && len(s.engine.Spec.Debts) > 0 {
		ready = s.debtsUnpaid()
	}
	if !s.engine.DeletionTimestamp.IsZero() {
		ready.Status, ready.Reason = metav1.ConditionFalse, infrav1.EngineInUseReason
		ready.Message = s.deletionMessage()
	}
	reconcile.SetCondition(s.engine, ready)
	reconcile.SettleConditions(s.engine, s.conditions)
	owned := []string{infrav1.EngineReadyCondition, infrav1.EngineReachableCondition, infrav1.EngineHostReadyCondition, clusterv1.PausedCondition}
	if err := helper.Patch(ctx, s.engine, patch.WithOwnedConditions{Conditions: owned}); err != nil {
		return fmt.Errorf("patch ContainerEngine: %w", err)
	}
	return nil
}
