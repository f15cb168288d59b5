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

// Package machine reconciles ContainerMachines: each is one container that
// bootstraps itself into a Kubernetes node.
//
// Every reconcile begins by observing the container. Conditions report to users
// and Cluster API what was observed; nothing here reads them back.
package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"
	"sigs.k8s.io/cluster-api/util/finalizers"
	capipredicates "sigs.k8s.io/cluster-api/util/predicates"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	nodes "github.com/capi-samples/cluster-api-provider-container/controllers/node"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Reconciler reconciles ContainerMachines.
type Reconciler struct {
	Client client.Client
	// Live reads what must be true at the moment a container is removed, or kubeadm init
	// repeated.
	Live client.Reader
	// Engines that machines are on, and Slots of workers at each; nil = they are not limited.
	Engines *engines.Engines
	Slots   *engines.Slots
	Events  events.EventRecorder
	// Exits of containers, as reported by the engine's events.
	Exits *engineevents.Exits
	// Nodes completes what runs in the containers.
	Nodes *nodes.Reconciler
	// ClusterCache reaches workload clusters.
	ClusterCache clustercache.ClusterCache
	// Clock measures how long a bootstrap takes.
	Clock clock.PassiveClock

	// WatchFilterValue restricts what is reconciled; see the flag.
	WatchFilterValue string

	// placing one machine at a time on the engines of clusters over several.
	placing sync.Mutex
	// backoff from nodes that the engine would not start.
	backoff reconcile.Backoff
	// bootstrapped has the IDs of containers whose bootstrap is done, by the key of
	// their ContainerMachine. It saves the download of a record that no longer changes,
	// which takes up to half a second; nothing else depends on it.
	bootstrapped sync.Map
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containermachines,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containermachines/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containermachines/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings one ContainerMachine closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	containerMachine := &infrav1.ContainerMachine{}
	if err := r.Client.Get(ctx, request.NamespacedName, containerMachine); err != nil {
		if apierrors.IsNotFound(err) {
			r.bootstrapped.Delete(request.NamespacedName)
			r.Nodes.Forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get ContainerMachine: %w", err)
	}
	if !reconcile.Selected(containerMachine, r.WatchFilterValue) || reconcile.MovedAway(containerMachine) {
		ctrl.LoggerFrom(ctx).V(4).Info("Ignoring a ContainerMachine that another manager reconciles")
		return ctrl.Result{}, nil
	}
	s, err := r.newScope(ctx, containerMachine)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	ctx = reconcile.LogCluster(ctx, containerMachine.Namespace, s.clusterName)
	if _, err := finalizers.EnsureFinalizer(ctx, r.Client, containerMachine, infrav1.MachineFinalizer); err != nil {
		return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
	}
	if isPaused, err := reconcile.CheckPaused(ctx, r.Client, s.cluster, containerMachine); err != nil || isPaused {
		return ctrl.Result{}, err
	}
	var none *placement.NoEngineError
	if err := r.recordEngineName(ctx, s); err != nil && !errors.As(err, &none) {
		return ctrl.Result{}, err
	}
	s.notPlaced = none
	leave, entered := r.Slots.Enter(containerMachine)
	if !entered {
		return ctrl.Result{RequeueAfter: engines.BusyInterval}, nil
	}
	defer leave()
	return r.reconcileOnEngine(ctx, s)
}

// reconcileOnEngine writes the status in the end, whatever was reached.
func (r *Reconciler) reconcileOnEngine(ctx context.Context, s *scope) (_ ctrl.Result, rerr error) {
	s.conditions = slices.Clone(s.containerMachine.Status.Conditions)
	if err := s.preparePatch(s.containerMachine, r.Client); err != nil {
		return ctrl.Result{}, err
	}
	reconcile.MarkActive(s.containerMachine)
	defer func() {
		err := s.patch(ctx)
		if err == nil {
			r.sendFailure(s)
		}
		rerr = errors.Join(rerr, reconcile.IgnoreGone(err))
	}()
	if !s.containerMachine.DeletionTimestamp.IsZero() {
		return r.reconcileDelete(ctx, s)
	}
	if s.notPlaced != nil {
		return reconcile.Run(ctx, s, func(context.Context, *scope) error {
			return waitForUser(infrav1.EngineNotChosenReason, s.notPlaced.Error())
		})
	}
	return r.reconcileNormal(ctx, s)
}

// reconcileNormal observes and acts, phase by phase.
func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) (ctrl.Result, error) {
	return reconcile.Run(ctx, s,
		// Where the container is, or is to be.
		r.findEngine,
		// Each reconcile begins with the container as it is; one of another owner is left alone.
		r.observeContainer,
		// A container that is missing on another engine than the cluster's may run on its own.
		r.checkEngine,
		// A lost Node is reported before anything else that is missing: nothing brings it back.
		r.checkLostState,
		// A new container needs the cluster's network and the machine's bootstrap data.
		r.waitForCluster,
		r.readDataToCreate,
		// Not every bootstrap may run a second time.
		r.checkRetryable,
		// Caches of an earlier cluster at the same endpoint would not notice the new one.
		r.waitForDisconnect,
		// What the spec asks for is checked before anything is created for it.
		r.checkMounts,
		r.checkFailureDomain,
		r.checkPorts,
		r.readRegistries,
		// The engine creates containers of local images only.
		r.ensureImage,
		// From its first start on, the node bootstraps without the controller.
		r.ensureContainer,
		// Cluster API waits for the provider ID and the addresses, not for the bootstrap.
		r.publish,
		// The conditions report the container and its bootstrap; one that exited is started.
		r.superviseContainer,
		// The Node, its registries and its images do not make the container less ready.
		r.reconcileNode,
	)
}

// reconcileNode completes the node in the container.
func (r *Reconciler) reconcileNode(ctx context.Context, s *scope) error {
	return r.Nodes.Reconcile(ctx, nodes.Scope{
		Cluster: s.cluster, ContainerCluster: s.containerCluster,
		Machine: s.machine, ContainerMachine: s.containerMachine, Container: *s.container,
		Engine: s.Engine, Host: s.Host,
	})
}

// newScope gathers the objects around a ContainerMachine. It returns nil
// where Cluster API has not adopted the object yet, or the object is managed
// externally: in both cases there is nothing to do.
func (r *Reconciler) newScope(ctx context.Context, containerMachine *infrav1.ContainerMachine) (*scope, error) {
	machine, err := util.GetOwnerMachine(ctx, r.Client, containerMachine.ObjectMeta)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get Machine: %w", err)
	}
	name := containerMachine.Labels[clusterv1.ClusterNameLabel]
	if machine != nil {
		name = machine.Spec.ClusterName
	}
	deleting := !containerMachine.DeletionTimestamp.IsZero()
	if (machine == nil || name == "") && !deleting {
		ctrl.LoggerFrom(ctx).V(4).Info("Waiting for the Machine that owns the ContainerMachine")
		return nil, nil
	}
	var cluster *clusterv1.Cluster
	if name != "" {
		cluster, err = util.GetClusterByName(ctx, r.Client, containerMachine.Namespace, name)
		if err != nil && (!apierrors.IsNotFound(err) || !deleting) {
			return nil, fmt.Errorf("get Cluster %q: %w", name, err)
		}
	}
	if annotations.IsExternallyManaged(containerMachine) {
		ctrl.LoggerFrom(ctx).V(4).Info("Ignoring a ContainerMachine that is managed externally")
		return nil, nil
	}
	s := &scope{machine: machine, cluster: cluster, containerMachine: containerMachine, clusterName: name}
	if cluster == nil || cluster.Spec.InfrastructureRef.Kind != "ContainerCluster" {
		return s, nil
	}
	containerCluster := &infrav1.ContainerCluster{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}
	switch err := r.Client.Get(ctx, key, containerCluster); {
	case err == nil:
		s.containerCluster = containerCluster
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("get ContainerCluster %q: %w", key.Name, err)
	}
	return s, nil
}

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log := ctrl.LoggerFrom(ctx)
	scheme := mgr.GetScheme()
	clusterToMachines, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.ContainerMachineList{}, scheme)
	if err != nil {
		return fmt.Errorf("map Clusters to ContainerMachines: %w", err)
	}
	return capicontroller.NewControllerManagedBy(mgr, log).
		For(&infrav1.ContainerMachine{}, builder.WithPredicates(reconcile.TakenOver("Machine"))).
		Named("containermachine").
		WithOptions(options).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(
			util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("ContainerMachine"))), reconcile.MachineSpecOrNodeChanged()).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(clusterToMachines),
			predicate.Or(capipredicates.ClusterPausedTransitionsOrInfrastructureProvisioned(scheme, log), reconcile.ClusterStoppedChanged())).
		// Its spec holds the owner ID, without which nothing is created.
		Watches(&infrav1.ContainerCluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesOfCluster), predicate.GenerationChangedPredicate{}).
		WatchesRawSource(r.ClusterCache.GetClusterSource("containermachine", clusterToMachines)).
		WatchesRawSource(r.Engines.Source(engineevents.Mapping{
			Container: containerToMachine,
			All:       r.allMachines,
			Exits:     r.Exits,
		})).
		Complete(ctx, r)
}

// containerToMachine: the label holds the name of the ContainerMachine.
func containerToMachine(_ context.Context, labels map[string]string) []ctrl.Request {
	name := labels[identity.LabelMachine]
	if name == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: labels[identity.LabelNamespace], Name: name}}}
}

func (r *Reconciler) machinesOfCluster(ctx context.Context, containerCluster client.Object) []ctrl.Request {
	name := containerCluster.GetLabels()[clusterv1.ClusterNameLabel]
	return r.list(ctx, client.InNamespace(containerCluster.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
}

// allMachines on an engine.
func (r *Reconciler) allMachines(ctx context.Context, engine types.NamespacedName) []ctrl.Request {
	return r.listWhere(ctx, func(machine *infrav1.ContainerMachine) bool { return engines.NameOf(machine) == engine })
}

func (r *Reconciler) list(ctx context.Context, options ...client.ListOption) []ctrl.Request {
	return r.listWhere(ctx, func(*infrav1.ContainerMachine) bool { return true }, options...)
}

func (r *Reconciler) listWhere(ctx context.Context, is func(*infrav1.ContainerMachine) bool, options ...client.ListOption) []ctrl.Request {
	machines := &infrav1.ContainerMachineList{}
	if err := r.Client.List(ctx, machines, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list ContainerMachines for event")
		return nil
	}
	requests := make([]ctrl.Request, 0, len(machines.Items))
	for i := range machines.Items {
		if is(&machines.Items[i]) {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&machines.Items[i])})
		}
	}
	return requests
}
