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
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/debts"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerengines,verbs=get;list;watch;patch

// releaseLost ends the deletion of a machine whose engine is lost, without the engine: what the machine has
// there is recorded before its finalizer goes.
func (r *Reconciler) releaseLost(ctx context.Context, s *scope) error {
	lost, err := debts.LostEngine(ctx, r.Client, s.placed())
	if err != nil {
		return fmt.Errorf("get ContainerEngine: %w", err)
	}
	if lost == nil {
		return nil
	}
	if !r.isLeftWithCluster(s, lost) {
		name := s.containerName()
		err := debts.Record(ctx, r.Client, lost, debts.OfContainer(s.owner(), name, s.heldThere()...))
		if apierrors.IsConflict(err) {
			// The engine may be back.
			return reconcile.Wait{After: engines.BusyInterval}
		}
		if err != nil {
			return reconcile.Failure{Err: err, Condition: infrav1.ContainerReadyCondition, Reason: infrav1.DeletingReason}
		}
		r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeWarning, "LeftOnLostEngine", "Release",
			"Left container %s on lost ContainerEngine %s, which has that as a debt", name, lost.Name)
	}
	if err := r.removeFinalizer(ctx, s); err != nil {
		return err
	}
	return reconcile.Wait{} // The engine is not needed.
}

// isLeftWithCluster reports whether the deletion of the ContainerCluster records the container with all others of
// the cluster: as many machines would otherwise change the ContainerEngine, one after the other.
func (r *Reconciler) isLeftWithCluster(s *scope, lost *infrav1.ContainerEngine) bool {
	return !s.isSpread() && s.owner().ID != "" && r.isClusterDeletedHere(s) && engines.NameOf(s.containerCluster) == client.ObjectKeyFromObject(lost)
}

// heldThere are the addresses that the container may still have on the network that the lost engine shares with others.
func (s *scope) heldThere() []string {
	if !s.isSpread() {
		return nil
	}
	return s.containerMachine.Spec.Bootstrap.Addresses
}

// releaseUnplaced ends the deletion of a machine for which no engine was chosen: it has nothing anywhere.
func (r *Reconciler) releaseUnplaced(ctx context.Context, s *scope) error {
	nowhere, err := r.isNowhere(ctx, s)
	if err != nil || !nowhere {
		return err
	}
	if err := r.removeFinalizer(ctx, s); err != nil {
		return err
	}
	return reconcile.Wait{}
}

// isNowhere reports whether no container of the machine can have been created: no engine was chosen, or that of its cluster was
// never reached.
func (r *Reconciler) isNowhere(ctx context.Context, s *scope) (bool, error) {
	switch {
	case s.isSpread():
		return s.containerMachine.Annotations[infrav1.EngineNameAnnotation] == "", nil
	case s.containerCluster == nil, s.containerMachine.Spec.ProviderID != "":
		return false, nil
	case engines.IsUnplaced(s.containerCluster):
		return true, nil
	}
	return engines.IsUnreached(ctx, r.Client, s.containerCluster)
}
