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
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// deleteInterval is how often to check for machines that still exist.
const deleteInterval = 2 * time.Second

// reconcileClusterDeleting is for the time in which the Cluster is deleted and its
// machines go, which ends with the deletion of the ContainerCluster. Until the last
// control plane goes, the API servers stay reachable, for finalizers in the cluster;
// nothing else is worth a call of the engine for each machine that goes. The health checks
// of the load balancer notice which machines have gone.
func (r *Reconciler) reconcileClusterDeleting(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !s.hasLoadBalancer() || !s.provisioned() {
		ctrl.LoggerFrom(ctx).V(4).Info("Cluster is being deleted, and has no load balancer to keep")
		return ctrl.Result{}, nil
	}
	machines, err := r.listMachines(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !machines.serveAPI() {
		return reconcile.Run(ctx, s, r.removeLoadBalancer)
	}
	existing, err := loadbalancer.Inspect(ctx, s.Engine, s.owner().LoadBalancerContainer())
	if err != nil {
		failure := s.loadBalancerError(err)
		s.Report(failure)
		return reconcile.Result(failure)
	}
	if existing.Running {
		ctrl.LoggerFrom(ctx).V(4).Info("Cluster is being deleted, and its load balancer runs")
		return ctrl.Result{}, nil
	}
	return reconcile.Run(ctx, s,
		// On another engine, no load balancer is created.
		r.checkEngine,
		r.ensureLoadBalancer,
		// One that was created again has no backends.
		r.syncBackends,
	)
}

// reconcileDelete removes what the cluster has on the engine, and only then
// lets the object go.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.nowhere {
		return reconcile.Run(ctx, s, r.waitForMachines, r.removeFinalizer)
	}
	return reconcile.Run(ctx, s,
		// Machines go first, each with its own finalizer: their control plane needs the load
		// balancer until the end.
		r.waitForMachines,
		// What another engine does not have may exist.
		r.checkEngine,
		// Engines that are lost have what they have when they return.
		r.recordDebts,
		// The load balancer, and the containers of machines whose finalizer did not run.
		r.removeContainers,
		// The volume with the PersistentVolumes, unless some of them must be kept.
		r.removeVolume,
		// The network goes with its last cluster.
		r.removeNetwork,
		r.removeFinalizer,
	)
}

// waitForMachines until all ContainerMachines are gone.
func (r *Reconciler) waitForMachines(ctx context.Context, s *scope) error {
	machines := &infrav1.ContainerMachineList{}
	if err := r.Client.List(ctx, machines,
		client.InNamespace(s.containerCluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.owner().Cluster},
	); err != nil {
		return fmt.Errorf("list ContainerMachines: %w", err)
	}
	if count := len(machines.Items); count > 0 {
		return reconcile.Wait{
			Reason: infrav1.DeletingReason, Message: fmt.Sprintf("waiting for %d ContainerMachines to be deleted", count), After: deleteInterval,
		}
	}
	return nil
}

// removeContainers removes the load balancer, and the containers of machines
// whose objects went without their finalizer having run.
func (r *Reconciler) removeContainers(ctx context.Context, s *scope) error {
	return r.removeSelected(ctx, s, s.owner().Labels())
}

func (r *Reconciler) removeLoadBalancer(ctx context.Context, s *scope) error {
	return r.removeSelected(ctx, s, s.owner().Select(map[string]string{identity.LabelRole: string(identity.RoleLoadBalancer)}))
}

func (r *Reconciler) removeSelected(ctx context.Context, s *scope, labels map[string]string) error {
	return deleteError(r.removal(s).Containers(ctx, labels))
}

// removal of what the cluster has on its engine.
func (r *Reconciler) removal(s *scope) Removal {
	return Removal{
		Engine: s.Engine, Owner: s.owner(), Events: r.Events, Object: s.containerCluster,
		Removing: func(container string) {
			s.setCondition(infrav1.LoadBalancerReadyCondition, metav1.ConditionFalse, infrav1.DeletingReason, "removing container "+container)
		},
	}
}

// retainedVolumes are the names of PersistentVolumes whose reclaim policy is Retain; empty = there are none.
func (s *scope) retainedVolumes() string {
	return s.containerCluster.Annotations[infrav1.RetainedVolumesAnnotation]
}

// removeVolume removes the volume of the cluster. One with PersistentVolumes whose reclaim policy is Retain is kept for
// its user.
func (r *Reconciler) removeVolume(ctx context.Context, s *scope) error {
	if retained := s.retainedVolumes(); retained != "" {
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "VolumeRetained", "Retain",
			"Kept volume %s with the PersistentVolumes %s, whose reclaim policy is Retain", s.owner().Volume(), retained)
		return nil
	}
	return deleteError(r.removal(s).Volume(ctx))
}

// removeNetwork removes the network with its last cluster. This process leaves it first where nothing but it is
// attached; others keep it.
func (r *Reconciler) removeNetwork(ctx context.Context, s *scope) error {
	name := s.networkName()
	if r.isOn(s) && name != network.DefaultName {
		if err := r.leaveNetwork(ctx, s); err != nil {
			return deleteError(err)
		}
	}
	return deleteError(r.removal(s).Network(ctx, name))
}

func (r *Reconciler) removeFinalizer(_ context.Context, s *scope) error {
	controllerutil.RemoveFinalizer(s.containerCluster, infrav1.ClusterFinalizer)
	return nil
}

// deleteError is the outcome of an error of a removal; nil = there is none. A removal may also wait.
func deleteError(err error) error {
	if _, waits := errors.AsType[reconcile.Wait](err); err == nil || waits {
		return err
	}
	return reconcile.Failure{Err: err, Reason: infrav1.DeletingReason}
}
