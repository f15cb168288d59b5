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

// Package clusterpower stops the containers of a cluster and starts them again, as an annotation of
// its Cluster says, and reports it in the condition Stopped of the ContainerCluster, of which
// it is the only writer.
//
// It acts on paused Clusters too, because a stopped one is paused: stopping acts first and
// pauses last, starting unpauses last. In between, the other controllers see the annotation,
// and leave stopped what is stopped. What was started stands in annotations of the Cluster, so
// that it is continued by a manager that is started in the middle.
package clusterpower

import (
	"context"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// pollInterval is the interval for what sends no event.
	pollInterval = time.Second
	// retryInterval is the interval for what the engine refused, and the longest one for what
	// an API server did.
	retryInterval = 5 * time.Second
	// checkInterval is the interval for containers of a stopped cluster that something else
	// started.
	checkInterval = time.Minute
)

// Engine is what the controller needs of an engine.
type Engine interface {
	engine.ContainerReader
	engine.ContainerWriter
	engine.Host
}

// Reconciler stops and starts clusters.
type Reconciler struct {
	Client client.Client
	// Engines that clusters are on, and Slots of workers at each; nil = they are not limited.
	Engines *engines.Engines
	Slots   *engines.Slots
	Events  events.EventRecorder
	Clock   clock.PassiveClock
	// Workload returns a client of a workload cluster, without a cache.
	Workload func(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
	// WatchFilterValue restricts what is reconciled; see the flag.
	WatchFilterValue string
}

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters;containermachines,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters/status,verbs=get;patch;update

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	options.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](pollInterval, retryInterval)
	return capicontroller.NewControllerManagedBy(mgr, ctrl.LoggerFrom(ctx)).
		For(&clusterv1.Cluster{}, builder.WithPredicates(predicate.Or[client.Object](
			predicate.AnnotationChangedPredicate{}, predicate.GenerationChangedPredicate{}))).
		Named("stop").
		WithOptions(options).
		Complete(ctx, r)
}

// scope is one reconcile of one Cluster.
type scope struct {
	// engine of the cluster, from containers.
	engine           Engine
	cluster          *clusterv1.Cluster
	containerCluster *infrav1.ContainerCluster
	recorded         containercluster.EngineRecord
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.Cluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	_, stopped := cluster.Annotations[infrav1.StoppedAnnotation]
	if !stopped && !isPending(cluster) {
		ctrl.LoggerFrom(ctx).V(4).Info("Cluster is neither to be stopped nor to be started")
		return ctrl.Result{}, nil
	}
	containerCluster, recorded, err := containercluster.Managed(ctx, r.Client, cluster, r.WatchFilterValue)
	if err != nil || containerCluster == nil {
		return ctrl.Result{}, err
	}
	if !cluster.DeletionTimestamp.IsZero() {
		// Nothing of it has to run, and a paused one is not deleted.
		return ctrl.Result{}, r.unpause(ctx, cluster)
	}
	leave, entered := r.Slots.Enter(containerCluster)
	if !entered {
		return ctrl.Result{RequeueAfter: engines.BusyInterval}, nil
	}
	defer leave()
	s := &scope{cluster: cluster, containerCluster: containerCluster, recorded: recorded}
	if stopped {
		return r.stop(ctx, s)
	}
	return r.start(ctx, s)
}

// containers of the cluster, or an error where another engine than the cluster's responds.
func (r *Reconciler) containers(ctx context.Context, s *scope) ([]engine.Container, error) {
	connection, err := r.Engines.For(s.containerCluster)
	if err != nil {
		return nil, err
	}
	s.engine = connection.Engine
	return s.recorded.Containers(ctx, s.engine)
}
