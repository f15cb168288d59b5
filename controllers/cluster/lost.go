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
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/debts"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// lostEngine returns the ContainerEngine of a cluster that is deleted, if it is lost; nil otherwise.
func (r *Reconciler) lostEngine(ctx context.Context, s *scope) (*infrav1.ContainerEngine, error) {
	if s.containerCluster.DeletionTimestamp.IsZero() || s.nowhere {
		return nil, nil
	}
	lost, err := debts.LostEngine(ctx, r.Client, s.containerCluster)
	if err != nil {
		return nil, fmt.Errorf("get ContainerEngine: %w", err)
	}
	if lost != nil && len(s.containerCluster.Spec.EngineNames) > 0 {
		if all, err := r.allLost(ctx, s.containerCluster); err != nil || !all {
			return nil, err
		}
	}
	return lost, nil
}

// reconcileDeleteLost lets the object go without the engine, which is lost.
func (r *Reconciler) reconcileDeleteLost(ctx context.Context, s *scope, lost *infrav1.ContainerEngine) (ctrl.Result, error) {
	return reconcile.Run(ctx, s,
		// Machines go first: what they left is part of what the cluster left.
		r.waitForMachines,
		// The engine still has all of it when it is back.
		func(ctx context.Context, s *scope) error { return r.recordDebt(ctx, s, lost) },
		r.recordDebts,
		r.removeFinalizer,
	)
}

// recordDebt of all that the cluster has on an engine that is lost.
func (r *Reconciler) recordDebt(ctx context.Context, s *scope, lost *infrav1.ContainerEngine) error {
	debt := debts.OfCluster(s.owner(), s.networkName(), s.retainedVolumes())
	err := debts.Record(ctx, r.Client, lost, debt)
	if apierrors.IsConflict(err) {
		// The engine may be back.
		return reconcile.Wait{After: engines.BusyInterval}
	}
	if err != nil {
		return deleteError(err)
	}
	r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeWarning, "LeftOnLostEngine", "Release",
		"Left all containers, the volume and the network %s on lost ContainerEngine %s, which has that as a debt", debt.NetworkName, lost.Name)
	return nil
}
