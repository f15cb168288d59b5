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
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log := ctrl.LoggerFrom(ctx)
	scheme := mgr.GetScheme()
	clusterToPools, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.ContainerMachinePoolList{}, scheme)
	if err != nil {
		return fmt.Errorf("map Clusters to ContainerMachinePools: %w", err)
	}
	kind := infrav1.GroupVersion.WithKind("ContainerMachinePool")
	return capicontroller.NewControllerManagedBy(mgr, log).
		For(&infrav1.ContainerMachinePool{}, builder.WithPredicates(reconcile.TakenOver("MachinePool"))).
		Named("containermachinepool").
		WithOptions(options).
		// An annotation says what manages the number of replicas.
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(util.MachinePoolToInfrastructureMapFunc(ctx, kind)),
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})).
		Watches(&infrav1.ContainerMachine{}, handler.EnqueueRequestForOwner(scheme, mgr.GetRESTMapper(), &infrav1.ContainerMachinePool{}),
			reconcile.PoolInstanceChanged()).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.machineToPool), reconcile.MachineSpecOrHealthChanged()).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(clusterToPools),
			capipredicates.ClusterPausedTransitionsOrInfrastructureProvisioned(scheme, log)).
		Complete(ctx, r)
}

// machineToPool goes by way of the MachinePool, which outlives its Machines.
func (r *Reconciler) machineToPool(ctx context.Context, machine client.Object) []ctrl.Request {
	if _, pooled := machine.GetLabels()[clusterv1.MachinePoolNameLabel]; !pooled {
		return nil
	}
	machinePool, err := util.GetMachinePoolByLabels(ctx, r.Client, machine.GetNamespace(), machine.GetLabels())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to get MachinePool of Machine")
	}
	if err != nil || machinePool == nil {
		return nil
	}
	ref := machinePool.Spec.Template.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupVersion.Group || ref.Kind != "ContainerMachinePool" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: machinePool.Namespace, Name: ref.Name}}}
}
