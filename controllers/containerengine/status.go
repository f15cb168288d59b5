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
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// clusterOf returns the name of the Cluster of an object of this provider.
func clusterOf(object client.Object) string { return object.GetLabels()[clusterv1.ClusterNameLabel] }

// count what is on the engine, and write it into the status. A machine is on the engine that it says, or on
// that of its cluster before it says one.
func (s *scope) count(clusters []infrav1.ContainerCluster, machines []infrav1.ContainerMachine) {
	name := client.ObjectKeyFromObject(s.engine)
	byName := map[string]*infrav1.ContainerCluster{}
	for i := range clusters {
		if engines.NameOf(&clusters[i]) == name {
			s.clusters = append(s.clusters, clusters[i])
			s.users = append(s.users, clusters[i].Name)
			byName[clusterOf(&clusters[i])] = &clusters[i]
		}
	}
	for i := range machines {
		ofCluster, isOnEngine := byName[clusterOf(&machines[i])], engines.NameOf(&machines[i]) == name
		if ofCluster == nil && !isOnEngine {
			continue
		}
		if ofCluster == nil {
			// The object of its cluster is gone: nothing is known but its own limits.
			ofCluster = &infrav1.ContainerCluster{}
			s.users = append(s.users, machines[i].Name)
		}
		s.machines++
		if machines[i].Spec.ProviderID != "" {
			s.existing++
		}
		counted := counts(&machines[i], ofCluster, s.engine.Spec.Capacity)
		s.reserved.add(counted.cpu, counted.memory)
	}
	slices.Sort(s.users)
	status := &s.engine.Status
	status.Clusters, status.Machines = ptr.To(int32(len(s.clusters))), ptr.To(int32(s.machines)) //nolint:gosec // There are never so many.
	status.Reserved = infrav1.EngineResources{CPU: &s.reserved.cpu, Memory: &s.reserved.memory}
	status.Free = free(total(s.engine.Spec.Capacity, nil), s.reserved)
}

// publish what the engine says of itself.
func (s *scope) publish(info engine.Info) {
	status := &s.engine.Status
	status.ID, status.Version = info.StorageID, info.Version
	status.Product = cmp.Or(info.Traits.Product, info.Name)
	status.Free = free(total(s.engine.Spec.Capacity, &info), s.reserved)
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
	if !s.engine.DeletionTimestamp.IsZero() {
		ready.Status, ready.Reason = metav1.ConditionFalse, infrav1.EngineInUseReason
		ready.Message = fmt.Sprintf("deletion waits for %s on the engine", strings.Join(s.users, ", "))
	}
	reconcile.SetCondition(s.engine, ready)
	reconcile.SettleConditions(s.engine, s.conditions)
	owned := []string{infrav1.EngineReadyCondition, infrav1.EngineReachableCondition, infrav1.EngineHostReadyCondition, clusterv1.PausedCondition}
	if err := helper.Patch(ctx, s.engine, patch.WithOwnedConditions{Conditions: owned}); err != nil {
		return fmt.Errorf("patch ContainerEngine: %w", err)
	}
	return nil
}
