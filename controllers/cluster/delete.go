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
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
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
	if s.isNowhere() {
		controllerutil.RemoveFinalizer(s.containerCluster, infrav1.ClusterFinalizer)
		return ctrl.Result{}, nil
	}
	return reconcile.Run(ctx, s,
		// Machines go first, each with its own finalizer: their control plane needs the load
		// balancer until the end.
		r.waitForMachines,
		// What another engine does not have may exist.
		r.checkEngine,
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
	containers, err := s.Engine.ListContainers(ctx, labels)
	if err != nil {
		return deleteError(fmt.Errorf("list containers: %w", err))
	}
	for _, container := range containers {
		s.setCondition(infrav1.LoadBalancerReadyCondition, metav1.ConditionFalse, infrav1.DeletingReason, "removing container "+container.Name)
		if err := engine.Remove(ctx, s.Engine, container); err != nil {
			return deleteError(err)
		}
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "ContainerRemoved", "Remove", "Removed container %s", container.Name)
	}
	return nil
}

// removeVolume removes the volume that the nodes had mounted, with all PersistentVolumes. One with
// PersistentVolumes whose reclaim policy is Retain is kept for its user.
func (r *Reconciler) removeVolume(ctx context.Context, s *scope) error {
	name := s.owner().Volume()
	if retained := s.containerCluster.Annotations[infrav1.RetainedVolumesAnnotation]; retained != "" {
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "VolumeRetained", "Retain",
			"Kept volume %s with the PersistentVolumes %s, whose reclaim policy is Retain", name, retained)
		return nil
	}
	existed, err := clustervolume.Remove(ctx, s.Engine, s.owner())
	if err != nil {
		return deleteError(err)
	}
	if existed {
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "VolumeRemoved", "Remove", "Removed volume %s", name)
	}
	return nil
}

// removeNetwork removes the network with its last cluster. This process
// leaves it first where nothing but it is attached; others keep it. A probe of the
// host does not: it is removed within seconds, or within a minute where its
// manager was killed, and nothing would remove the network after it.
func (r *Reconciler) removeNetwork(ctx context.Context, s *scope) error {
	name := s.networkName()
	if r.isOn(s) && name != network.DefaultName {
		if err := r.leaveNetwork(ctx, s); err != nil {
			return deleteError(err)
		}
	}
	gone, err := network.Remove(ctx, s.Engine, name)
	if err != nil {
		return deleteError(fmt.Errorf("remove network %q: %w", name, err))
	}
	if gone {
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "NetworkRemoved", "Remove", "Removed network %s", name)
		return nil
	}
	probes, err := hostinfo.Probes(ctx, s.Engine, name)
	if err != nil {
		return deleteError(err)
	}
	if len(probes) > 0 {
		// Also those of managers that do not come back.
		if err := hostinfo.RemoveLeftovers(ctx, s.Engine, ""); err != nil {
			return deleteError(err)
		}
		return reconcile.Wait{
			Reason:  infrav1.DeletingReason,
			Message: fmt.Sprintf("waiting for probe container %s to be removed from network %s", strings.Join(probes, ", "), name),
			After:   deleteInterval,
		}
	}
	return nil
}

func (r *Reconciler) removeFinalizer(_ context.Context, s *scope) error {
	controllerutil.RemoveFinalizer(s.containerCluster, infrav1.ClusterFinalizer)
	return nil
}

// deleteError is the outcome of an error of a removal.
func deleteError(err error) error { return reconcile.Failure{Err: err, Reason: infrav1.DeletingReason} }
