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

// Package machinetemplate says in the status of ContainerMachineTemplates what
// a node made from them would have, so that an autoscaler can make the first
// one of a group.
//
// It writes no spec and holds no finalizer: a template has nothing on the
// engine.
package machinetemplate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Host is what the controller asks the engine for.
type Host interface {
	// Info returns information about the engine's host.
	Info(ctx context.Context) (engine.Info, error)
}

// Reconciler reconciles ContainerMachineTemplates.
type Reconciler struct {
	Client client.Client
	// Hosts returns that of the engine of a ContainerCluster, or of the manager's own engine for nil.
	Hosts func(*infrav1.ContainerCluster) (Host, error)

	// WatchFilterValue restricts what is reconciled; see the flag.
	WatchFilterValue string
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containermachinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containermachinetemplates/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log := ctrl.LoggerFrom(ctx)
	return capicontroller.NewControllerManagedBy(mgr, log).
		For(&infrav1.ContainerMachineTemplate{}).
		Named("containermachinetemplate").
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.clusterToTemplates), reconcile.ClusterSpecChanged()).
		// It has the resources of roles.
		Watches(&infrav1.ContainerCluster{}, handler.EnqueueRequestsFromMapFunc(r.infrastructureToTemplates),
			predicate.GenerationChangedPredicate{}).
		Complete(ctx, r)
}

// clusterToTemplates: the templates of a Cluster that is no longer paused are reconciled.
func (r *Reconciler) clusterToTemplates(ctx context.Context, cluster client.Object) []ctrl.Request {
	templates := &infrav1.ContainerMachineTemplateList{}
	if err := r.Client.List(ctx, templates, client.InNamespace(cluster.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list ContainerMachineTemplates for Cluster")
		return nil
	}
	var requests []ctrl.Request
	for i := range templates.Items {
		if template := &templates.Items[i]; clusterOf(template) == cluster.GetName() {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(template)})
		}
	}
	return requests
}

func (r *Reconciler) infrastructureToTemplates(ctx context.Context, infrastructure client.Object) []ctrl.Request {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: infrastructure.GetNamespace(), Name: infrastructure.GetLabels()[clusterv1.ClusterNameLabel],
	}}
	if cluster.Name == "" {
		return nil
	}
	return r.clusterToTemplates(ctx, cluster)
}

// clusterOf names the Cluster of a template; empty for one of a ClusterClass,
// which is no Cluster's.
func clusterOf(template *infrav1.ContainerMachineTemplate) string {
	for _, owner := range template.OwnerReferences {
		version, err := schema.ParseGroupVersion(owner.APIVersion)
		if err == nil && version.Group == clusterv1.GroupVersion.Group && owner.Kind == "Cluster" {
			return owner.Name
		}
	}
	return template.Labels[clusterv1.ClusterNameLabel]
}

// Reconcile brings the status of one template up to date. Nothing is
// written where the host says the same as before.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	log := ctrl.LoggerFrom(ctx)
	template := &infrav1.ContainerMachineTemplate{}
	if err := r.Client.Get(ctx, request.NamespacedName, template); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !reconcile.Selected(template, r.WatchFilterValue) || !template.DeletionTimestamp.IsZero() {
		log.V(4).Info("ContainerMachineTemplate is not reconciled by this manager, or is being deleted")
		return ctrl.Result{}, nil
	}
	cluster := &clusterv1.Cluster{}
	if name := clusterOf(template); name != "" {
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: template.Namespace, Name: name}, cluster)
		if client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("get Cluster: %w", err)
		}
	}
	if annotations.IsPaused(cluster, template) {
		log.V(4).Info("ContainerMachineTemplate or its Cluster is paused")
		return ctrl.Result{}, nil
	}
	containerCluster, err := containercluster.Get(ctx, r.Client, cluster)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get infrastructure of Cluster %q: %w", cluster.Name, err)
	}
	host, err := r.Hosts(containerCluster)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("find host of Cluster %q: %w", cluster.Name, err)
	}
	info, err := host.Info(ctx)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get host info: %w", err)
	}
	status := statusOf(info, resourcesOf(template, containerCluster))
	if equality.Semantic.DeepEqual(template.Status, status) {
		return ctrl.Result{}, nil
	}
	before := template.DeepCopy()
	template.Status = status
	err = r.Client.Status().Patch(ctx, template, client.MergeFrom(before))
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("patch status of ContainerMachineTemplate: %w", err)
	}
	return ctrl.Result{}, nil
}

// resourcesOf the machines of a template: its own, or else those of their role. Without a ClusterClass a template does
// not say its role; autoscalers need the capacity of workers only.
func resourcesOf(template *infrav1.ContainerMachineTemplate, containerCluster *infrav1.ContainerCluster) infrav1.MachineResources {
	resources := *template.Spec.Template.Spec.Resources.DeepCopy()
	if containerCluster == nil {
		return resources
	}
	role := containerCluster.Spec.Resources.Workers
	_, isOfClass := template.Labels[clusterv1.ClusterTopologyOwnedLabel]
	_, isOfWorkers := template.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel]
	if isOfClass && !isOfWorkers {
		role = containerCluster.Spec.Resources.ControlPlane
	}
	resources.CPU, resources.Memory = cmp.Or(resources.CPU, role.CPU), cmp.Or(resources.Memory, role.Memory)
	return resources
}

// statusOf a template on the host. All nodes share the host: each has what it is limited
// to, or else what the host has.
func statusOf(info engine.Info, limits infrav1.MachineResources) infrav1.ContainerMachineTemplateStatus {
	status := infrav1.ContainerMachineTemplateStatus{
		NodeInfo: infrav1.NodeInfo{OperatingSystem: "linux"},
	}
	// Others than the contract knows are left out.
	if architecture := infrav1.Architecture(info.Architecture); slices.Contains(infrav1.Architectures(), architecture) {
		status.NodeInfo.Architecture = architecture
	}
	capacity := corev1.ResourceList{}
	if info.CPUs > 0 {
		capacity[corev1.ResourceCPU] = *resource.NewQuantity(int64(info.CPUs), resource.DecimalSI)
	}
	if info.MemoryBytes > 0 {
		capacity[corev1.ResourceMemory] = *resource.NewQuantity(info.MemoryBytes, resource.BinarySI)
	}
	if limits.CPU != nil {
		capacity[corev1.ResourceCPU] = *limits.CPU
	}
	if limits.Memory != nil {
		capacity[corev1.ResourceMemory] = *limits.Memory
	}
	if len(capacity) > 0 {
		status.Capacity = capacity
	}
	return status
}
