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

// Package machinepool reconciles ContainerMachinePools: each is as many
// ContainerMachines as its MachinePool wants replicas. Cluster API makes a
// Machine for each, and the controller of ContainerMachines its container;
// this one only asks the engine whether a container is gone.
//
// Instances are removed by deleting their Machines, so that Nodes are drained
// and hooks are heard.
package machinepool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// Reconciler reconciles ContainerMachinePools.
type Reconciler struct {
	Client client.Client
	// Live reads from the API server and from no cache. Instances are made
	// and removed only by what it says: a cache that does not know yet of
	// those just made would have them made twice.
	Live   client.Reader
	Events events.EventRecorder
	// Engines confirm that a container is gone before its Machine is replaced for it.
	Engines *engines.Engines
	// Slots of workers at each engine; nil = they are not limited.
	Slots *engines.Slots

	// WatchFilterValue restricts what is reconciled; see the flag.
	WatchFilterValue string
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containermachinepools,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containermachinepools/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containermachinepools/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containermachines,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinepools,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings one ContainerMachinePool closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (_ ctrl.Result, rerr error) {
	pool := &infrav1.ContainerMachinePool{}
	if err := r.Client.Get(ctx, request.NamespacedName, pool); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get ContainerMachinePool: %w", err)
	}
	log := ctrl.LoggerFrom(ctx)
	if !reconcile.Selected(pool, r.WatchFilterValue) || reconcile.MovedAway(pool) || annotations.IsExternallyManaged(pool) {
		log.V(4).Info("ContainerMachinePool is not reconciled by this manager")
		return ctrl.Result{}, nil
	}
	s, err := r.newScope(ctx, pool)
	if err != nil || s == nil {
		log.V(4).Info("Waiting for Cluster API to set the owner of the ContainerMachinePool")
		return ctrl.Result{}, err
	}
	ctx = reconcile.LogCluster(ctx, pool.Namespace, s.clusterName)
	if _, err := finalizers.EnsureFinalizer(ctx, r.Client, pool, infrav1.MachinePoolFinalizer); err != nil {
		return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
	}
	if isPaused, err := reconcile.CheckPaused(ctx, r.Client, s.cluster, pool); err != nil || isPaused {
		log.V(4).Info("ContainerMachinePool or its Cluster is paused")
		return ctrl.Result{}, err
	}
	s.conditions = slices.Clone(pool.Status.Conditions)
	patchHelper, err := patch.NewHelper(pool, r.Client)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("prepare patch: %w", err)
	}
	reconcile.MarkActive(pool)
	defer func() { rerr = errors.Join(rerr, reconcile.IgnoreGone(s.patch(ctx, patchHelper))) }()
	if !pool.DeletionTimestamp.IsZero() {
		return reconcile.Run(ctx, s,
			// A cache that is behind would miss instances.
			r.observeLive,
			// Machines take their instances with them, after their Nodes were drained.
			r.removeMachines,
			// Instances without a Machine get none any more.
			r.removeUnclaimed,
			r.release,
		)
	}
	return reconcile.Run(ctx, s,
		r.observeCached,
		// Instances with other bootstrap data are outdated.
		r.readData,
		// What an instance can have changed while it lives needs no replacement.
		r.propagate,
		// The state is reported also where nothing can be created or removed now.
		r.publish,
		// Without a network there is no place for instances.
		r.waitForCluster,
		r.scale,
	)
}

// observeCached finds the instances of the pool as the cache knows them.
func (r *Reconciler) observeCached(ctx context.Context, s *scope) error {
	return s.observe(ctx, r.Client)
}

// observeLive finds the instances of the pool as they are.
func (r *Reconciler) observeLive(ctx context.Context, s *scope) error { return s.observe(ctx, r.Live) }

// newScope gathers the objects around a ContainerMachinePool. It returns nil
// where Cluster API has not adopted the object yet.
func (r *Reconciler) newScope(ctx context.Context, pool *infrav1.ContainerMachinePool) (*scope, error) {
	s := &scope{pool: pool, clusterName: pool.Labels[clusterv1.ClusterNameLabel]}
	deleting := !pool.DeletionTimestamp.IsZero()
	// While deleting, its name is enough to find the instances.
	for _, owner := range pool.OwnerReferences {
		if owner.Kind == "MachinePool" {
			s.machinePoolName = owner.Name
		}
	}
	machinePool, err := util.GetOwnerMachinePool(ctx, r.Client, pool.ObjectMeta)
	switch {
	case err == nil && machinePool != nil:
		s.machinePool, s.machinePoolName, s.clusterName = machinePool, machinePool.Name, machinePool.Spec.ClusterName
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("get MachinePool: %w", err)
	case !deleting:
		return nil, nil
	}
	if s.clusterName != "" {
		s.cluster, err = util.GetClusterByName(ctx, r.Client, pool.Namespace, s.clusterName)
		if err != nil && (!apierrors.IsNotFound(err) || !deleting) {
			return nil, fmt.Errorf("get Cluster %q: %w", s.clusterName, err)
		}
	}
	return s, nil
}
