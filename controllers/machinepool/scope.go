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

package machinepool

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// scope is one reconcile of one ContainerMachinePool.
type scope struct {
	clusterName, machinePoolName string
	// cluster and machinePool may be nil while deleting.
	cluster     *clusterv1.Cluster
	machinePool *clusterv1.MachinePool
	pool        *infrav1.ContainerMachinePool

	// instances as observed by this reconcile, sorted by name.
	instances []instance
	// dangling names Machines of the pool whose ContainerMachine is gone.
	dangling []string
	// dataHash identifies the bootstrap data; empty where there is none, or it is invalid.
	dataHash string
	// conditions as they were before this reconcile.
	conditions []metav1.Condition
}

// desiredReplicas is the desired number of instances. Where the replicas are managed
// externally, it is the number that exists.
func (s *scope) desiredReplicas() int {
	if !annotations.ReplicasManagedByExternalAutoscaler(s.machinePool) {
		return int(ptr.Deref(s.machinePool.Spec.Replicas, 1))
	}
	staying := 0
	for _, i := range s.instances {
		if !i.leaving() && i.containerMachine.DeletionTimestamp.IsZero() {
			staying++
		}
	}
	return staying
}

// infrastructureProvisioned: the cluster has a network to put instances on.
func (s *scope) infrastructureProvisioned() bool {
	return ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false)
}

// Report sets the condition ReplicasReady for an outcome.
func (s *scope) Report(outcome error) {
	reconcile.Report(s.pool, infrav1.ReplicasReadyCondition, outcome)
}

func (s *scope) setCondition(conditionType string, status metav1.ConditionStatus, reason, message string) {
	reconcile.SetCondition(s.pool, metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message})
}

// patch writes what the reconcile observed. Ready says what ReplicasReady does.
func (s *scope) patch(ctx context.Context, helper *patch.Helper) error {
	ready := metav1.Condition{Type: infrav1.MachinePoolReadyCondition, Status: metav1.ConditionUnknown, Reason: conditions.NotYetReportedReason}
	if replicas := conditions.Get(s.pool, infrav1.ReplicasReadyCondition); replicas != nil {
		ready.Status, ready.Reason, ready.Message = replicas.Status, replicas.Reason, replicas.Message
	}
	reconcile.SetCondition(s.pool, ready)
	reconcile.SettleConditions(s.pool, s.conditions)
	owned := []string{
		infrav1.ReplicasReadyCondition, infrav1.ReplicasUpToDateCondition,
		infrav1.MachinePoolReadyCondition, clusterv1.PausedCondition,
	}
	if err := helper.Patch(ctx, s.pool, patch.WithOwnedConditions{Conditions: owned}); err != nil {
		return fmt.Errorf("patch ContainerMachinePool: %w", err)
	}
	return nil
}
