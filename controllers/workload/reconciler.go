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

// Package workload runs controllers of workload clusters in the manager, as a cloud's
// controller manager does: storage and the load balancers of Services. Those of a cluster start
// with the ClusterCache's connection to it; they stop when it is lost, and while the
// cluster is paused or deleted.
package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Reconciler starts and stops the controllers of each workload cluster.
type Reconciler struct {
	Client       client.Client
	ClusterCache clustercache.ClusterCache
	// Engines whose events are passed to the controllers of the cluster that they are about.
	Engines *engines.Engines
	// Slots of workers at each engine; nil = they are not limited.
	Slots *engines.Slots
	// Run runs the controllers of one workload cluster until ctx ends, and reports on each
	// part. Where nothing is switched on it removes what was published, and may return.
	Run func(ctx context.Context, settings Settings, changes Changes, report Report) error
	// Drain removes the load balancers of Services of a workload cluster.
	Drain func(ctx context.Context, settings Settings) error
	// Limits of each workload cluster. Those of a ContainerCluster may be lower.
	Limits infrav1.Limits
	// WatchFilterValue restricts what is reconciled; see the flag.
	WatchFilterValue string

	runner runner
}

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters/status,verbs=get;patch

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	reports := make(chan event.GenericEvent)
	r.runner.changed = func(ctx context.Context, key client.ObjectKey) {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		select {
		case reports <- event.GenericEvent{Object: cluster}:
		case <-ctx.Done():
		}
	}
	if err := mgr.Add(&r.runner); err != nil {
		return fmt.Errorf("add runner: %w", err)
	}
	return capicontroller.NewControllerManagedBy(mgr, ctrl.LoggerFrom(ctx)).
		For(&clusterv1.Cluster{}, builder.WithPredicates(predicate.Or[client.Object](
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Named("workload").
		WithOptions(options).
		Watches(&infrav1.ContainerCluster{}, handler.EnqueueRequestsFromMapFunc(toCluster), predicate.Or[client.Object](
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})).
		WatchesRawSource(r.ClusterCache.GetClusterSource("workload", func(_ context.Context, cluster client.Object) []ctrl.Request {
			return []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(cluster)}}
		})).
		WatchesRawSource(source.Channel(reports, &handler.EnqueueRequestForObject{})).
		WatchesRawSource(r.Engines.Source(engineevents.Mapping{Container: r.containerToCluster, All: r.allClusters})).
		Complete(ctx, r)
}

// containerToCluster: the load balancer of one Service is repaired, or drained in a cluster
// that has no load balancers; volumes are bound again into a node that has started.
func (r *Reconciler) containerToCluster(_ context.Context, labels map[string]string) []ctrl.Request {
	key := client.ObjectKey{Namespace: labels[identity.LabelNamespace], Name: labels[identity.LabelCluster]}
	role := identity.Role(labels[identity.LabelRole])
	if role == identity.RoleControlPlane || role == identity.RoleWorker {
		r.runner.passOnNode(key)
		return nil
	}
	if role != identity.RoleServiceLoadBalancer || r.runner.passOn(key, labels) {
		return nil
	}
	return []ctrl.Request{{NamespacedName: key}}
}

// allClusters on an engine. Of those on the manager's own some may have no infrastructure yet.
func (r *Reconciler) allClusters(ctx context.Context, engine types.NamespacedName) []ctrl.Request {
	r.runner.passOnAll(engine)
	if engine.Name != "" {
		return r.clustersOn(ctx, engine)
	}
	clusters := &clusterv1.ClusterList{}
	if err := r.Client.List(ctx, clusters); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list Clusters for event")
		return nil
	}
	requests := make([]ctrl.Request, 0, len(clusters.Items))
	for i := range clusters.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&clusters.Items[i])})
	}
	return requests
}

func toCluster(_ context.Context, object client.Object) []ctrl.Request {
	name := object.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
}

func (r *Reconciler) clustersOn(ctx context.Context, engine types.NamespacedName) []ctrl.Request {
	list := &infrav1.ContainerClusterList{}
	if err := r.Client.List(ctx, list, client.InNamespace(engine.Namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list ContainerClusters for event")
		return nil
	}
	var requests []ctrl.Request
	for i := range list.Items {
		if engines.NameOf(&list.Items[i]) == engine {
			requests = append(requests, toCluster(ctx, &list.Items[i])...)
		}
	}
	return requests
}

// Settings are what the controllers of a workload cluster are started with. Others stop
// them and start them again.
type Settings struct {
	// Recorded are the owner of the cluster's containers, and the engine that has them.
	Recorded containercluster.EngineRecord
	// Connection to that engine; another one after it was replaced.
	Connection *engines.Connection
	// Config of a client; another one after each reconnection.
	Config *rest.Config
	// Storage and LoadBalancers say what is provided, SharedStorage that volumes are on the volume
	// of the cluster.
	Storage, LoadBalancers, SharedStorage bool
	// MaxVolumes of storage; math.MaxInt32 = unlimited.
	MaxVolumes int32
	// MaxLoadBalancers of Services; math.MaxInt32 = unlimited.
	MaxLoadBalancers int32
	// HostPorts that load balancers may publish.
	HostPorts network.HostPortRange
	// LocalRegistry on the host that is published to tools; empty = none.
	LocalRegistry LocalRegistry
	// Network and Image of load balancers; an empty image is the manager's default.
	Network, Image string
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	active, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if active == nil {
		ctrl.LoggerFrom(ctx).V(4).Info("Cluster has no controllers, or is paused, stopped or being deleted")
		r.runner.stop(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	ctx = reconcile.LogCluster(ctx, request.Namespace, request.Name)
	leave, entered := r.Slots.Enter(active.infrastructure)
	if !entered {
		return ctrl.Result{RequeueAfter: engines.BusyInterval}, nil
	}
	defer leave()
	settings := &active.settings
	settings.Config, err = r.ClusterCache.GetRESTConfig(ctx, request.NamespacedName)
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		r.runner.stop(request.NamespacedName)
		return ctrl.Result{}, r.reportDisconnected(ctx, active)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get REST config of the workload cluster: %w", err)
	}
	if settings.LoadBalancers {
		if err := r.annotate(ctx, active.infrastructure); err != nil {
			return ctrl.Result{}, err
		}
	}
	reports := r.runner.start(ctx, request.NamespacedName, *settings, func(ctx context.Context, changes Changes, report Report) error {
		// The ClusterCache's timeout would end each watch.
		unlimited := *settings
		unlimited.Config = rest.CopyConfig(unlimited.Config)
		unlimited.Config.Timeout = 0
		return r.Run(ctx, unlimited, changes, report)
	})
	mustDrain, err := r.mustDrain(ctx, active)
	if mustDrain {
		if result, err := r.drain(ctx, active); err != nil || result.RequeueAfter > 0 {
			return result, err
		}
	}
	// Storage works also while the engine cannot say whether there is something to drain.
	return ctrl.Result{}, errors.Join(err, r.setCondition(ctx, active.infrastructure, conditionOf(*settings, reports)))
}

// activeCluster is one that is neither stopped nor paused nor deleted.
type activeCluster struct {
	infrastructure *infrav1.ContainerCluster
	settings       Settings
}

// observe returns nil where nothing runs for the cluster.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey) (*activeCluster, error) {
	cluster := &clusterv1.Cluster{}
	if err := r.Client.Get(ctx, key, cluster); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	infrastructure, recorded, err := containercluster.Managed(ctx, r.Client, cluster, r.WatchFilterValue)
	if err != nil || infrastructure == nil || !isActive(cluster, infrastructure) {
		return nil, err
	}
	connection, err := r.Engines.For(infrastructure)
	if err != nil {
		return nil, fmt.Errorf("find engine of the cluster: %w", err)
	}
	spec := infrastructure.Spec
	return &activeCluster{infrastructure: infrastructure, settings: Settings{
		Recorded:      recorded,
		Connection:    connection,
		Storage:       spec.Storage.Type == infrav1.StorageNodeLocal || spec.Storage.Type == infrav1.StorageCluster,
		SharedStorage: spec.Storage.Type == infrav1.StorageCluster,
		LoadBalancers: spec.ServiceLoadBalancer.Type == infrav1.LoadBalancerHAProxy,
		MaxVolumes:    lower(r.Limits.PersistentVolumes, spec.Limits.PersistentVolumes),

		MaxLoadBalancers: lower(r.Limits.LoadBalancers, spec.Limits.LoadBalancers),
		HostPorts:        parseHostPorts(r.Limits.HostPortRange).Intersect(parseHostPorts(cmp.Or(spec.Limits.HostPortRange, r.Limits.HostPortRange))),

		LocalRegistry: localRegistry(spec.Registries),
		Network:       cmp.Or(spec.Network.Name, network.DefaultName),
		Image:         spec.LoadBalancer.Image,
	}}, nil
}

// reportDisconnected says that what ran is stopped, and what waits. A cluster that was never
// connected to is being created, and has no condition yet.
func (r *Reconciler) reportDisconnected(ctx context.Context, active *activeCluster) error {
	if conditions.Get(active.infrastructure, infrav1.WorkloadControllersReadyCondition) == nil {
		return nil
	}
	parts := active.settings.parts()
	if mustDrain, err := r.mustDrain(ctx, active); err != nil {
		return err
	} else if mustDrain {
		parts = append(parts, LoadBalancers)
	}
	if len(parts) == 0 {
		return r.setCondition(ctx, active.infrastructure, nil)
	}
	return r.setCondition(ctx, active.infrastructure, condition(metav1.ConditionFalse, infrav1.WorkloadControllersConnectingReason,
		"Waiting for the API server of the workload cluster"))
}

// lower returns the lower of two limits, of which nil is unlimited.
func lower(a, b *int32) int32 {
	return min(ptr.Deref(a, math.MaxInt32), ptr.Deref(b, math.MaxInt32))
}

// parseHostPorts of a flag or a field, which are validated; the default where it is not set.
func parseHostPorts(text string) network.HostPortRange {
	hostPorts, err := network.ParseHostPortRange(text)
	if err != nil {
		return network.DefaultHostPorts()
	}
	return hostPorts
}

// isActive reports whether the cluster is neither stopped nor paused nor deleted.
func isActive(cluster *clusterv1.Cluster, infrastructure *infrav1.ContainerCluster) bool {
	_, stopped := cluster.Annotations[infrav1.StoppedAnnotation]
	return !stopped && !annotations.IsPaused(cluster, infrastructure) &&
		cluster.DeletionTimestamp.IsZero() && infrastructure.DeletionTimestamp.IsZero()
}
