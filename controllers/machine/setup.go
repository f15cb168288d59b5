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

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"
	capipredicates "sigs.k8s.io/cluster-api/util/predicates"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log := ctrl.LoggerFrom(ctx)
	scheme := mgr.GetScheme()
	clusterToMachines, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.ContainerMachineList{}, scheme)
	if err != nil {
		return fmt.Errorf("map Clusters to ContainerMachines: %w", err)
	}
	return capicontroller.NewControllerManagedBy(mgr, log).
		For(&infrav1.ContainerMachine{}, builder.WithPredicates(reconcile.TakenOver("Machine"))).
		Named("containermachine").
		WithOptions(options).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(
			util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("ContainerMachine"))), reconcile.MachineSpecOrNodeChanged()).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(clusterToMachines),
			predicate.Or(capipredicates.ClusterPausedTransitionsOrInfrastructureProvisioned(scheme, log), reconcile.ClusterStoppedChanged())).
		// Its spec holds the owner ID, without which nothing is created.
		Watches(&infrav1.ContainerCluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesOfCluster), predicate.GenerationChangedPredicate{}).
		WatchesRawSource(r.ClusterCache.GetClusterSource("containermachine", clusterToMachines)).
		WatchesRawSource(engineevents.Source(r.Engine, engineevents.Mapping{
			Container: containerToMachine,
			All:       r.allMachines,
			Exits:     r.Exits,
		})).
		Complete(ctx, r)
}

// containerToMachine: the label holds the name of the ContainerMachine.
func containerToMachine(_ context.Context, labels map[string]string) []ctrl.Request {
	name := labels[identity.LabelMachine]
	if name == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: labels[identity.LabelNamespace], Name: name}}}
}

func (r *Reconciler) machinesOfCluster(ctx context.Context, containerCluster client.Object) []ctrl.Request {
	name := containerCluster.GetLabels()[clusterv1.ClusterNameLabel]
	return r.list(ctx, client.InNamespace(containerCluster.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
}

func (r *Reconciler) allMachines(ctx context.Context) []ctrl.Request { return r.list(ctx) }

func (r *Reconciler) list(ctx context.Context, options ...client.ListOption) []ctrl.Request {
	machines := &infrav1.ContainerMachineList{}
	if err := r.Client.List(ctx, machines, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list ContainerMachines for event")
		return nil
	}
	requests := make([]ctrl.Request, 0, len(machines.Items))
	for i := range machines.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&machines.Items[i])})
	}
	return requests
}
