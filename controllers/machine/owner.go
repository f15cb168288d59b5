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
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// otherOwner describes who owns the container, where that is not this machine;
// empty where it is. The labels of a container say which machine it was created
// for. One that spec.providerID names may also be adopted: by one ContainerMachine,
// of the same role, and only while the one it was created for is not there.
func (r *Reconciler) otherOwner(ctx context.Context, s *scope, container engine.Container) (string, error) {
	labels := container.Labels
	if s.owner().Owns(labels) && labels[identity.LabelMachine] == s.containerMachine.Name {
		return "", nil
	}
	adopts := s.containerMachine.Spec.ProviderID == identity.ProviderID(container.Name)
	if !adopts || !s.owner().MayOwn(labels) || !s.mayHaveRole(labels[identity.LabelRole]) {
		return describeOwner(labels), nil
	}
	machines := &infrav1.ContainerMachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(s.containerMachine.Namespace)); err != nil {
		return "", fmt.Errorf("list ContainerMachines: %w", err)
	}
	for i := range machines.Items {
		if precedes(&machines.Items[i], s.containerMachine, container) {
			return fmt.Sprintf("ContainerMachine %q", machines.Items[i].Name), nil
		}
	}
	return "", nil
}

// precedes says whether the other machine has the better claim to a container that
// spec.providerID of this one names: it was created for that machine, or that
// machine named it first.
func precedes(other, machine *infrav1.ContainerMachine, container engine.Container) bool {
	id := identity.ProviderID(container.Name)
	if other.Name == machine.Name || other.Spec.ProviderID != "" && other.Spec.ProviderID != id {
		return false
	}
	if other.Name == container.Labels[identity.LabelMachine] {
		return true
	}
	if other.Spec.ProviderID == "" {
		return false
	}
	if at, otherAt := machine.CreationTimestamp, other.CreationTimestamp; !at.Equal(&otherAt) {
		return otherAt.Before(&at)
	}
	return other.Name < machine.Name
}

// mayHaveRole says whether a container of that role can be this machine's. While
// the object is deleted its Machine may be gone: then any role of a node will do.
func (s *scope) mayHaveRole(role string) bool {
	if s.machine != nil {
		return role == string(s.role())
	}
	return role == string(identity.RoleControlPlane) || role == string(identity.RoleWorker)
}

func describeOwner(labels map[string]string) string {
	if labels[identity.LabelCluster] == "" {
		return "none, it has no owner labels"
	}
	return fmt.Sprintf("%s %q of cluster %s/%s, owner ID %s", labels[identity.LabelRole],
		labels[identity.LabelMachine], labels[identity.LabelNamespace], labels[identity.LabelCluster], labels[identity.LabelOwnerID])
}

// recordEngineName sets the annotation that says which engine the machine is on, before anything is created
// there. A machine that has its container stays where it is.
func (r *Reconciler) recordEngineName(ctx context.Context, s *scope) error {
	if s.containerCluster == nil || !s.containerMachine.DeletionTimestamp.IsZero() {
		return nil
	}
	if s.isSpread() {
		return r.placeMachine(ctx, s)
	}
	recorded, name := s.containerMachine.Annotations[infrav1.EngineNameAnnotation], s.containerCluster.Spec.EngineName
	if recorded == name || recorded != "" && s.containerMachine.Spec.ProviderID != "" {
		return nil
	}
	return r.writeEngineName(ctx, s, name)
}

func (r *Reconciler) writeEngineName(ctx context.Context, s *scope, name string) error {
	before := s.containerMachine.DeepCopy()
	if name == "" {
		delete(s.containerMachine.Annotations, infrav1.EngineNameAnnotation)
	} else {
		metav1.SetMetaDataAnnotation(&s.containerMachine.ObjectMeta, infrav1.EngineNameAnnotation, name)
	}
	if err := r.Client.Patch(ctx, s.containerMachine, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("record engine of the machine: %w", err)
	}
	return nil
}

// isSpread reports whether the cluster is over several engines.
func (s *scope) isSpread() bool {
	return s.containerCluster != nil && len(s.containerCluster.Spec.EngineNames) > 0
}

// placeMachine chooses the engine of a machine whose cluster is over several, and records it: that is its reservation. Of two
// machines that are placed concurrently, the second reads that of the first.
func (r *Reconciler) placeMachine(ctx context.Context, s *scope) error {
	if s.containerMachine.Annotations[infrav1.EngineNameAnnotation] != "" {
		return nil
	}
	r.placing.Lock()
	defer r.placing.Unlock()
	inventory, err := placement.ReadInventory(ctx, r.Live, s.containerMachine.Namespace)
	if err != nil {
		return err
	}
	chosen, err := inventory.ChooseEngine(placement.Request{
		Machine: s.containerMachine, Cluster: s.containerCluster, FailureDomain: s.wantedFailureDomain(),
	})
	if err != nil {
		return err
	}
	return r.writeEngineName(ctx, s, chosen)
}

// placed is the object that says which engine the machine is on: itself, unless its record got lost or is
// still to be written.
func (s *scope) placed() client.Object {
	if s.containerCluster != nil && !s.isSpread() && s.containerMachine.Annotations[infrav1.EngineNameAnnotation] == "" {
		return s.containerCluster
	}
	return s.containerMachine
}

// findEngine finds the engine of the machine. Its ContainerEngine says why there is none, and its
// return causes the next reconcile.
func (r *Reconciler) findEngine(ctx context.Context, s *scope) error {
	connection, err := r.Engines.For(s.placed())
	if err != nil {
		return reconcile.Failure{
			Err: err, Condition: infrav1.ContainerReadyCondition, Status: metav1.ConditionUnknown,
			Reason: infrav1.EngineUnavailableReason, After: reconcile.UserInterval,
		}
	}
	s.Connection, s.engines = connection, connection.Engine
	if !s.isSpread() {
		return nil
	}
	names, err := placement.Neighbors(ctx, r.Client, s.networkName())
	if err != nil {
		return err
	}
	s.engines = r.Engines.Joint(connection, names)
	return nil
}

// checkEngine stops the reconcile of a machine whose container was not found where that was
// the answer of another engine than the cluster's: on that one, the container may run.
// Without its ContainerCluster there is nothing to compare with, and nothing is created.
func (r *Reconciler) checkEngine(ctx context.Context, s *scope) error {
	if s.container != nil || s.containerCluster == nil || s.isSpread() { // A ContainerEngine records its own identity.
		return nil
	}
	_, err := containercluster.RecordOf(s.containerCluster, s.clusterName).Check(ctx, s.Engine)
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
