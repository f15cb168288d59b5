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

// Package cluster reconciles ContainerClusters: the network that a cluster's
// containers are on, and the load balancer before its API servers.
//
// The cluster controller is the only writer of the load balancer. It decides
// which API servers get connections from the containers that run and the
// Machines that stay.
package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
)

// Reconciler reconciles ContainerClusters.
type Reconciler struct {
	Client client.Client
	// Engines that clusters are on, and Slots of workers at each; nil = they are not limited.
	Engines *engines.Engines
	Slots   *engines.Slots
	Events  events.EventRecorder
	Clock   clock.PassiveClock
	// Exits of containers, as reported by the engine's events.
	Exits *engineevents.Exits

	// LoadBalancerImage is used where a ContainerCluster names none.
	LoadBalancerImage string
	// SelfContainer is the name of the container this process runs in on the
	// same engine; empty = it reaches networks as the host does. It is
	// attached to the networks of clusters, whose API servers the controllers
	// have to reach.
	SelfContainer string
	// WatchFilterValue restricts what is reconciled; see the flag.
	WatchFilterValue string

	// backoff from load balancers that the engine would not start.
	backoff reconcile.Backoff
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containermachines,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerengines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings one ContainerCluster closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	containerCluster := &infrav1.ContainerCluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, containerCluster); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get ContainerCluster: %w", err)
	}
	log := ctrl.LoggerFrom(ctx)
	if !reconcile.Selected(containerCluster, r.WatchFilterValue) || reconcile.MovedAway(containerCluster) || annotations.IsExternallyManaged(containerCluster) {
		log.V(4).Info("ContainerCluster is not reconciled by this manager")
		return ctrl.Result{}, nil
	}
	cluster, err := util.GetOwnerCluster(ctx, r.Client, containerCluster.ObjectMeta)
	if err != nil && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("get Cluster: %w", err)
	}
	if cluster == nil && containerCluster.DeletionTimestamp.IsZero() {
		log.V(4).Info("Waiting for Cluster API to set the owner of the ContainerCluster")
		return ctrl.Result{}, nil
	}
	ctx = reconcile.LogCluster(ctx, containerCluster.Namespace, containerCluster.Labels[clusterv1.ClusterNameLabel])
	if _, err := finalizers.EnsureFinalizer(ctx, r.Client, containerCluster, infrav1.ClusterFinalizer); err != nil {
		return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
	}
	if isPaused, err := reconcile.CheckPaused(ctx, r.Client, cluster, containerCluster); err != nil || isPaused {
		log.V(4).Info("ContainerCluster or its Cluster is paused")
		return ctrl.Result{}, err
	}
	leave, entered := r.Slots.Enter(containerCluster)
	if !entered {
		return ctrl.Result{RequeueAfter: engines.BusyInterval}, nil
	}
	defer leave()
	return r.reconcileOnEngine(ctx, cluster, containerCluster)
}

// reconcileOnEngine reconciles a ContainerCluster that is this manager's on its engine.
func (r *Reconciler) reconcileOnEngine(ctx context.Context, cluster *clusterv1.Cluster, containerCluster *infrav1.ContainerCluster) (_ ctrl.Result, rerr error) {
	notPlaced := r.place(ctx, cluster, containerCluster)
	switch none := new(placement.NoEngineError); {
	case placement.IsConflict(notPlaced):
		return ctrl.Result{RequeueAfter: engines.BusyInterval}, nil
	case notPlaced != nil && !errors.As(notPlaced, &none):
		return ctrl.Result{}, notPlaced
	}
	connection, unavailable := r.Engines.For(containerCluster)
	if notPlaced == nil {
		if err := r.ensureIdentity(ctx, cluster, containerCluster, connection); err != nil {
			return ctrl.Result{}, err
		}
	}
	patchHelper, err := patch.NewHelper(containerCluster, r.Client)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("prepare patch: %w", err)
	}
	s := newScope(cluster, containerCluster)
	s.Connection = connection
	reconcile.MarkActive(containerCluster)
	defer func() { rerr = errors.Join(rerr, reconcile.IgnoreGone(s.patch(ctx, r.Client, patchHelper))) }()
	if s.nowhere, err = r.isNowhere(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	lost, err := r.lostEngine(ctx, s)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case lost != nil:
		return r.reconcileDeleteLost(ctx, s, lost)
	case notPlaced != nil:
		return reconcile.Run(ctx, s, func(context.Context, *scope) error { return s.engineNotChosen(notPlaced) })
	case unavailable != nil && !s.nowhere && s.owner().ID != "": // Nothing can have been created without it.
		return reconcile.Run(ctx, s, func(context.Context, *scope) error { return s.engineUnavailable(unavailable) })
	case !containerCluster.DeletionTimestamp.IsZero():
		return r.reconcileDelete(ctx, s)
	case !cluster.DeletionTimestamp.IsZero():
		return r.reconcileClusterDeleting(ctx, s)
	}
	return r.reconcileNormal(ctx, s)
}

// reconcileNormal observes and acts, phase by phase.
func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) (ctrl.Result, error) {
	return reconcile.Run(ctx, s,
		// A cluster that was started on an engine is completed there.
		r.checkMaintenance,
		// A host that cannot run nodes is reported before anything is created on it. Once
		// provisioned, neither this nor the network keeps the load balancer from following
		// its machines.
		s.continueOnError(r.checkPreflight),
		// What another engine than the cluster's does not have is not created there.
		r.checkEngine,
		// Nodes and load balancer need the network, and this manager has to reach them.
		s.continueOnError(r.ensureNetwork),
		// The load balancer has the endpoint of the API servers.
		r.ensureLoadBalancer,
		// Cluster API creates machines once it knows the endpoint.
		r.publish,
		// The machines there are now get connections, and those that go no more.
		r.syncBackends,
		// What did not stop the reconcile is retried.
		s.reportContinued,
	)
}
