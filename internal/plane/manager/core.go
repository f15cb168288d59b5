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

package manager

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/clusterclass"
	"sigs.k8s.io/cluster-api/core/reconcilers/clusterresourceset"
	"sigs.k8s.io/cluster-api/core/reconcilers/clusterresourcesetbinding"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinehealthcheck"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinepool"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	topologycluster "sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster"
	topologymachinedeployment "sigs.k8s.io/cluster-api/core/reconcilers/topology/machinedeployment"
	topologymachineset "sigs.k8s.io/cluster-api/core/reconcilers/topology/machineset"
	runtimeclient "sigs.k8s.io/cluster-api/exp/runtime/client"
	"sigs.k8s.io/cluster-api/feature"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manager/readyourwrites"
)

// The grace periods of Cluster API's managers.
const (
	remoteConnectionGracePeriod = 50 * time.Second
	remoteConditionsGracePeriod = 5 * time.Minute
)

// provider wires Cluster API's providers to one manager.
type provider struct {
	mgr       ctrl.Manager
	opts      Options
	informers *readyourwrites.Informers
	// secrets reads the cached Secrets of clusters.
	secrets client.Client
	// secretMetadata watches the metadata of all Secrets.
	secretMetadata cache.Cache
	// clusters connects to workload clusters.
	clusters clustercache.ClusterCache
	// extensions calls Runtime Extensions; nil = the feature is off.
	extensions runtimeclient.Client
}

// workload says how long a reconcile of a kind may take.
type workload int

const (
	// quick reconciles talk to the plane's API server only.
	quick workload = 1
	// waiting reconciles wait for workload clusters.
	waiting workload = 3
)

// Delays of the retries of a reconcile that fails, which double from the first to the
// last. Without ReconcilerRateLimiting, controller-runtime's begin at 5 ms and have ten
// attempts within 5 s; these have six. What fails here waits for something that is about
// to come, such as an API server, so that the last is no longer than ten seconds.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// concurrently returns the options of one controller, which has its own rate limiter.
func (p *provider) concurrently(w workload) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: p.opts.Concurrency * int(w),
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	}
}

// reconciler of Cluster API, and how many of its reconciles run concurrently.
type reconciler struct {
	setup interface {
		SetupWithManager(context.Context, ctrl.Manager, controller.Options) error
	}
	workload workload
}

func (p *provider) setupReconcilers(ctx context.Context, reconcilers ...reconciler) error {
	for _, r := range reconcilers {
		if err := r.setup.SetupWithManager(ctx, p.mgr, p.concurrently(r.workload)); err != nil {
			return fmt.Errorf("set up controller %T: %w", r.setup, err)
		}
	}
	return nil
}

func (p *provider) setupCore(ctx context.Context) error {
	c, live := p.mgr.GetClient(), p.mgr.GetAPIReader()
	err := (&clusterresourceset.Reconciler{Client: c, ClusterCache: p.clusters}).
		SetupWithManager(ctx, p.mgr, p.concurrently(waiting), p.secretMetadata)
	if err != nil {
		return fmt.Errorf("set up controller of ClusterResourceSets: %w", err)
	}
	reconcilers := []reconciler{
		{&cluster.Reconciler{
			Client: c, APIReader: live, ClusterCache: p.clusters, RemoteConnectionGracePeriod: remoteConnectionGracePeriod,
		}, quick},
		{&machine.Reconciler{
			Client: c, APIReader: live, ClusterCache: p.clusters, RemoteConditionsGracePeriod: remoteConditionsGracePeriod,
			RuntimeClient: p.extensions,
		}, waiting},
		{&machineset.Reconciler{
			Client: c, APIReader: live, ClusterCache: machineSetEvents{p.clusters, p.mgr.GetCache()}, PreflightChecks: sets.New(clusterv1.MachineSetPreflightCheckAll),
		}, waiting},
		{&machinedeployment.Reconciler{Client: c, APIReader: live, RuntimeClient: p.extensions}, quick},
		{&machinehealthcheck.Reconciler{Client: c, ClusterCache: p.clusters}, quick},
		{&clusterresourcesetbinding.Reconciler{Client: c}, quick},
	}
	if feature.Gates.Enabled(feature.MachinePool) {
		reconcilers = append(reconcilers, reconciler{&machinepool.Reconciler{Client: c, APIReader: live, ClusterCache: p.clusters}, waiting})
	}
	return p.setupReconcilers(ctx, reconcilers...)
}

// setupTopology sets the controllers of ClusterClass up.
func (p *provider) setupTopology(ctx context.Context) error {
	if !feature.Gates.Enabled(feature.ClusterTopology) {
		return nil
	}
	c, live := p.mgr.GetClient(), p.mgr.GetAPIReader()
	return p.setupReconcilers(
		ctx,
		reconciler{&clusterclass.Reconciler{Client: c, RuntimeClient: p.extensions}, quick},
		reconciler{&topologycluster.Reconciler{
			Client: c, APIReader: live, ClusterCache: p.clusters, RuntimeClient: p.extensions,
		}, waiting},
		reconciler{&topologymachinedeployment.Reconciler{Client: c, APIReader: live}, quick},
		reconciler{&topologymachineset.Reconciler{Client: c, APIReader: live}, quick},
	)
}

// secretMetadataCache watches the metadata of all Secrets, for what refers to
// Secrets that belong to no cluster.
func (p *provider) secretMetadataCache() (cache.Cache, error) {
	options, err := p.informers.Watch(cache.Options{
		Scheme:     p.mgr.GetScheme(),
		Mapper:     p.mgr.GetRESTMapper(),
		HTTPClient: p.mgr.GetHTTPClient(),
		SyncPeriod: syncPeriod(),
		DefaultTransform: func(in any) (any, error) {
			object, ok := in.(*metav1.PartialObjectMetadata)
			if !ok || object.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Secret") {
				return nil, fmt.Errorf("cache of Secret metadata does not support %T", in)
			}
			return cache.TransformStripManagedFields()(object)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("read the options of the cache of Secret metadata: %w", err)
	}
	secrets, err := cache.New(p.mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("create cache of Secret metadata: %w", err)
	}
	if err := p.mgr.Add(secrets); err != nil {
		return nil, fmt.Errorf("add cache of Secret metadata: %w", err)
	}
	return secrets, nil
}
