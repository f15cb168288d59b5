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
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log := ctrl.LoggerFrom(ctx)
	scheme := mgr.GetScheme()
	return capicontroller.NewControllerManagedBy(mgr, log).
		For(&infrav1.ContainerCluster{}, builder.WithPredicates(
			capipredicates.ResourceIsNotExternallyManaged(scheme, log), reconcile.TakenOver("Cluster"))).
		Named("containercluster").
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(util.ClusterToInfrastructureMapFunc(
			ctx, infrav1.GroupVersion.WithKind("ContainerCluster"), mgr.GetClient(), &infrav1.ContainerCluster{})), reconcile.ClusterSpecChanged()).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.controlPlaneToCluster)).
		Watches(&infrav1.ContainerMachine{}, handler.EnqueueRequestsFromMapFunc(r.containerMachineToCluster)).
		Watches(&infrav1.ContainerEngine{}, handler.EnqueueRequestsFromMapFunc(r.engineToClusters), predicate.GenerationChangedPredicate{}).
		WatchesRawSource(r.Engines.Source(engineevents.Mapping{
			Container: r.containerToCluster,
			All:       r.allClusters,
			Exits:     r.Exits,
		})).
		Complete(ctx, r)
}

// controlPlaneToCluster: the load balancer follows its machines.
func (r *Reconciler) controlPlaneToCluster(ctx context.Context, object client.Object) []ctrl.Request {
	machine, ok := object.(*clusterv1.Machine)
	if !ok || !util.IsControlPlaneMachine(machine) || machine.DeletionTimestamp.IsZero() {
		return nil
	}
	return r.named(ctx, machine.Namespace, machine.Spec.ClusterName)
}

// containerMachineToCluster: the load balancer drains a machine that is deleted
// without its Machine, and a cluster that is deleted waits for all of them.
func (r *Reconciler) containerMachineToCluster(ctx context.Context, object client.Object) []ctrl.Request {
	if object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return r.named(ctx, object.GetNamespace(), object.GetLabels()[clusterv1.ClusterNameLabel])
}

// containerToCluster: a load balancer that died must come back, a control
// plane that started must get connections.
func (r *Reconciler) containerToCluster(ctx context.Context, labels map[string]string) []ctrl.Request {
	switch identity.Role(labels[identity.LabelRole]) {
	case identity.RoleLoadBalancer, identity.RoleControlPlane:
		return r.named(ctx, labels[identity.LabelNamespace], labels[identity.LabelCluster])
	default:
		return nil
	}
}

// named finds the ContainerCluster of a Cluster by the label Cluster API
// gives it: their names may differ.
func (r *Reconciler) named(ctx context.Context, namespace, cluster string) []ctrl.Request {
	return r.list(ctx, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
}

// allClusters on an engine.
func (r *Reconciler) allClusters(ctx context.Context, engine types.NamespacedName) []ctrl.Request {
	return r.listWhere(ctx, func(cluster *infrav1.ContainerCluster) bool { return engines.IsOn(cluster, engine) })
}

func (r *Reconciler) list(ctx context.Context, options ...client.ListOption) []ctrl.Request {
	return r.listWhere(ctx, func(*infrav1.ContainerCluster) bool { return true }, options...)
}

func (r *Reconciler) listWhere(ctx context.Context, is func(*infrav1.ContainerCluster) bool, options ...client.ListOption) []ctrl.Request {
	clusters := &infrav1.ContainerClusterList{}
	if err := r.Client.List(ctx, clusters, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list ContainerClusters for event")
		return nil
	}
	requests := make([]ctrl.Request, 0, len(clusters.Items))
	for i := range clusters.Items {
		if is(&clusters.Items[i]) {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&clusters.Items[i])})
		}
	}
	return requests
}
