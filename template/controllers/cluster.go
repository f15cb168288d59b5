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

// Package controllers reconciles SampleClusters and SampleMachines.
package controllers

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/template/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/template/servers"
)

// apiServerPort of control planes.
const apiServerPort = 6443

// ClusterReconciler reconciles SampleClusters.
type ClusterReconciler struct {
	Client  client.Client
	Servers servers.Servers
}

// SetupWithManager adds the controller to a manager.
func (r *ClusterReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	toInfra := util.ClusterToInfrastructureMapFunc(ctx, infrav1.GroupVersion.WithKind("SampleCluster"), mgr.GetClient(), &infrav1.SampleCluster{})
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.SampleCluster{}).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toInfra)).
		Complete(r)
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=sampleclusters,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=sampleclusters/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch

// Reconcile creates or deletes the server of a SampleCluster.
func (r *ClusterReconciler) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, rerr error) {
	infra := &infrav1.SampleCluster{}
	if err := r.Client.Get(ctx, req.NamespacedName, infra); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	// Another system does everything for it.
	if annotations.IsExternallyManaged(infra) {
		return ctrl.Result{}, nil
	}
	cluster, err := util.GetOwnerCluster(ctx, r.Client, infra.ObjectMeta)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get owner: %w", err)
	}
	// Cluster API sets the owner. Nothing exists before that.
	if cluster == nil {
		return ctrl.Result{}, nil
	}
	if added, err := finalizers.EnsureFinalizer(ctx, r.Client, infra, infrav1.ClusterFinalizer); err != nil || added {
		return ctrl.Result{}, err
	}
	// It also writes the condition.
	if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, infra); err != nil || isPaused || requeue {
		return ctrl.Result{}, err
	}
	helper, err := patch.NewHelper(infra, r.Client)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("begin patch: %w", err)
	}
	defer func() {
		rerr = errors.Join(rerr, helper.Patch(ctx, infra, patch.WithOwnedConditions{Conditions: []string{clusterv1.ReadyCondition}}))
	}()
	if !infra.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.reconcileDelete(ctx, cluster, infra)
	}
	return ctrl.Result{}, r.reconcileNormal(ctx, cluster, infra)
}

func (r *ClusterReconciler) reconcileNormal(ctx context.Context, cluster *clusterv1.Cluster, infra *infrav1.SampleCluster) error {
	name := loadBalancer(cluster)
	if err := r.Servers.Create(ctx, servers.Server{Name: name, Port: apiServerPort}); err != nil {
		return fmt.Errorf("create load balancer: %w", err)
	}
	server, err := r.Servers.Get(ctx, name)
	if err != nil {
		return fmt.Errorf("get load balancer: %w", err)
	}
	// Cluster API reads it once: it is kept.
	if infra.Spec.ControlPlaneEndpoint.Host == "" {
		infra.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: server.Address, Port: server.Port}
	}
	infra.Status.Initialization.Provisioned = ptr.To(true)
	conditions.Set(infra, metav1.Condition{Type: clusterv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ReadyReason})
	return nil
}

// reconcileDelete removes the finalizer when nothing is left.
func (r *ClusterReconciler) reconcileDelete(ctx context.Context, cluster *clusterv1.Cluster, infra *infrav1.SampleCluster) error {
	conditions.Set(infra, metav1.Condition{Type: clusterv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: clusterv1.DeletingReason})
	if err := r.Servers.Delete(ctx, loadBalancer(cluster)); err != nil {
		return fmt.Errorf("delete load balancer: %w", err)
	}
	controllerutil.RemoveFinalizer(infra, infrav1.ClusterFinalizer)
	return nil
}

// loadBalancer is the name of a cluster's server. Clusters of one name in two namespaces differ.
func loadBalancer(cluster *clusterv1.Cluster) string { return cluster.Namespace + "/" + cluster.Name }
