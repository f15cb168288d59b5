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

package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/template/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/template/servers"
)

// Reasons of the condition Ready of SampleMachines.
const (
	WaitingForInfrastructureReason = "WaitingForClusterInfrastructure"
	WaitingForBootstrapDataReason  = "WaitingForBootstrapData"
	ServerNotFoundReason           = "ServerNotFound"
)

// MachineReconciler reconciles SampleMachines.
type MachineReconciler struct {
	Client  client.Client
	Servers servers.Servers
}

// SetupWithManager adds the controller to a manager.
func (r *MachineReconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager) error {
	toInfra := util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("SampleMachine"))
	ofCluster, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.SampleMachineList{}, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("map Clusters to SampleMachines: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.SampleMachine{}).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(toInfra)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster)).
		Complete(r)
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=samplemachines,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=samplemachines/status,verbs=get;patch;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Reconcile creates or deletes the server of a SampleMachine.
func (r *MachineReconciler) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, rerr error) {
	infra := &infrav1.SampleMachine{}
	if err := r.Client.Get(ctx, req.NamespacedName, infra); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	machine, err := util.GetOwnerMachine(ctx, r.Client, infra.ObjectMeta)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get owner: %w", err)
	}
	// Cluster API sets the owner. Nothing exists before that.
	if machine == nil {
		return ctrl.Result{}, nil
	}
	cluster, err := util.GetClusterFromMetadata(ctx, r.Client, machine.ObjectMeta)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get Cluster: %w", err)
	}
	if added, err := finalizers.EnsureFinalizer(ctx, r.Client, infra, infrav1.MachineFinalizer); err != nil || added {
		return ctrl.Result{}, err
	}
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
		return ctrl.Result{}, r.reconcileDelete(ctx, infra)
	}
	return ctrl.Result{}, r.reconcileNormal(ctx, cluster, machine, infra)
}

func (r *MachineReconciler) reconcileNormal(ctx context.Context, cluster *clusterv1.Cluster, machine *clusterv1.Machine, infra *infrav1.SampleMachine) error {
	if !ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) {
		conditions.Set(infra, notReady(WaitingForInfrastructureReason))
		return nil
	}
	if infra.Spec.ProviderID != "" {
		return r.observe(ctx, infra)
	}
	if machine.Spec.Bootstrap.DataSecretName == nil {
		conditions.Set(infra, notReady(WaitingForBootstrapDataReason))
		return nil
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: infra.Namespace, Name: *machine.Spec.Bootstrap.DataSecretName}
	if err := r.Client.Get(ctx, key, secret); err != nil {
		return fmt.Errorf("get bootstrap data: %w", err)
	}
	name := serverName(infra)
	if err := r.Servers.Create(ctx, servers.Server{Name: name, Size: infra.Spec.Size, UserData: secret.Data["value"]}); err != nil {
		return fmt.Errorf("create server: %w", err)
	}
	infra.Spec.ProviderID = "sample://" + name
	return r.observe(ctx, infra)
}

// observe the server of a machine that has a provider ID. One that is gone is not created again: it would be another, and a
// MachineHealthCheck replaces the Machine.
func (r *MachineReconciler) observe(ctx context.Context, infra *infrav1.SampleMachine) error {
	server, err := r.Servers.Get(ctx, serverName(infra))
	if errors.Is(err, servers.ErrNotFound) {
		conditions.Set(infra, notReady(ServerNotFoundReason))
		return nil
	}
	if err != nil {
		return fmt.Errorf("get server: %w", err)
	}
	infra.Status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: server.Address}}
	infra.Status.Initialization.Provisioned = ptr.To(true)
	conditions.Set(infra, metav1.Condition{Type: clusterv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ReadyReason})
	return nil
}

func notReady(reason string) metav1.Condition {
	return metav1.Condition{Type: clusterv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: reason}
}

// reconcileDelete removes the finalizer when nothing is left. It does not wait.
func (r *MachineReconciler) reconcileDelete(ctx context.Context, infra *infrav1.SampleMachine) error {
	conditions.Set(infra, notReady(clusterv1.DeletingReason))
	if err := r.Servers.Delete(ctx, serverName(infra)); err != nil {
		return fmt.Errorf("delete server: %w", err)
	}
	controllerutil.RemoveFinalizer(infra, infrav1.MachineFinalizer)
	return nil
}

// serverName of a machine. It does not have the UID, which a move changes.
func serverName(infra *infrav1.SampleMachine) string {
	return infra.Namespace + "/" + infra.Labels[clusterv1.ClusterNameLabel] + "/" + infra.Name
}
