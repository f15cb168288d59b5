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

// Package stop stops the containers of a cluster and starts them again, as an annotation of
// its Cluster says.
//
// It acts on paused Clusters too, because a stopped one is paused: stopping acts first and
// pauses last, starting unpauses last. In between, the other controllers see the annotation,
// and leave stopped what is stopped.
package stop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/containercluster"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

const (
	// grace is the time for the Pods of a worker to end before it is killed.
	grace = 20 * time.Second
	// shortGrace is that of control planes and load balancers. etcd ends within a second;
	// kube-apiserver does not end for a minute and more once etcd has.
	shortGrace = 5 * time.Second
	// lookInterval is the interval for what sends no event.
	lookInterval = time.Second
	// checkInterval is the interval for containers of a stopped cluster that something else
	// started.
	checkInterval = time.Minute
	// startLimit is how long a started cluster stays paused for Nodes that do not become
	// Ready. After it, a MachineHealthCheck may remediate them.
	startLimit = 5 * time.Minute
)

// Engine is what the controller needs of an engine.
type Engine interface {
	engine.ContainerReader
	engine.ContainerWriter
}

// Reconciler stops and starts clusters.
type Reconciler struct {
	Client client.Client
	Engine Engine
	Events events.EventRecorder
	Clock  clock.PassiveClock
	// Workload returns a client of a workload cluster.
	Workload func(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
	// WatchFilterValue restricts what is reconciled; see the flag.
	WatchFilterValue string
}

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters;containermachines,verbs=get;list;watch

// SetupWithManager registers the controller and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	return capicontroller.NewControllerManagedBy(mgr, ctrl.LoggerFrom(ctx)).
		For(&clusterv1.Cluster{}, builder.WithPredicates(predicate.Or[client.Object](
			predicate.AnnotationChangedPredicate{}, predicate.GenerationChangedPredicate{}))).
		Named("stop").
		WithOptions(options).
		Complete(ctx, r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.Cluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	_, stopped := cluster.Annotations[infrav1.StoppedAnnotation]
	_, pausedByUs := cluster.Annotations[infrav1.PausedWhileStoppedAnnotation]
	if !stopped && !pausedByUs {
		return ctrl.Result{}, nil
	}
	managed, owner, err := containercluster.Managed(ctx, r.Client, cluster, r.WatchFilterValue)
	if err != nil || managed == nil {
		return ctrl.Result{}, err
	}
	switch {
	case !cluster.DeletionTimestamp.IsZero():
		// Nothing of it has to run, and a paused one is not deleted.
		return ctrl.Result{}, r.unpause(ctx, cluster)
	case stopped:
		return r.stop(ctx, cluster, owner)
	default:
		return r.start(ctx, cluster, owner)
	}
}

// tiers of containers, in the order in which they are stopped: what is used is stopped
// after what uses it.
func tiers(containers []engine.Container) [][]engine.Container {
	order := map[identity.Role]int{
		identity.RoleWorker: 0, identity.RoleServiceLoadBalancer: 1, identity.RoleControlPlane: 1, identity.RoleLoadBalancer: 2,
	}
	sorted := make([][]engine.Container, 3) //nolint:mnd // As in order.
	for _, container := range containers {
		if tier, known := order[identity.Role(container.Labels[identity.LabelRole])]; known {
			sorted[tier] = append(sorted[tier], container)
		}
	}
	return sorted
}

// stop the containers and pause the Cluster.
func (r *Reconciler) stop(ctx context.Context, cluster *clusterv1.Cluster, owner identity.Owner) (ctrl.Result, error) {
	containers, err := r.Engine.ListContainers(ctx, owner.Labels())
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("list containers: %w", err)
	}
	stopped := 0
	for i, tier := range tiers(containers) {
		limit := grace
		if i > 0 {
			limit = shortGrace
		}
		count, err := r.stopTier(ctx, tier, limit)
		if err != nil {
			return ctrl.Result{}, err
		}
		stopped += count
	}
	if stopped > 0 {
		r.Events.Eventf(cluster, nil, corev1.EventTypeNormal, "ClusterStopped", "Stop", "Stopped %d containers", stopped)
	}
	if ptr.Deref(cluster.Spec.Paused, false) {
		return ctrl.Result{RequeueAfter: checkInterval}, nil
	}
	// Objects of a paused Cluster keep what they say: let them say it.
	reported, err := r.isReported(ctx, owner)
	if err != nil || !reported {
		return ctrl.Result{RequeueAfter: lookInterval}, err
	}
	return ctrl.Result{RequeueAfter: checkInterval}, r.pause(ctx, cluster)
}

// stopTier stops the containers that run, at the same time, and returns how many these were.
func (r *Reconciler) stopTier(ctx context.Context, tier []engine.Container, limit time.Duration) (stopped int, _ error) {
	group, ctx := errgroup.WithContext(ctx)
	for _, container := range tier {
		if container.Status != engine.StatusRunning && container.Status != engine.StatusRestarting {
			continue
		}
		stopped++
		group.Go(func() error {
			if err := r.Engine.StopContainer(ctx, container.Name, limit); err != nil {
				return fmt.Errorf("stop container %q: %w", container.Name, err)
			}
			return nil
		})
	}
	return stopped, group.Wait()
}

// isReported reports whether no machine of the cluster says that its container runs.
func (r *Reconciler) isReported(ctx context.Context, owner identity.Owner) (bool, error) {
	machines := &infrav1.ContainerMachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(owner.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: owner.Cluster}); err != nil {
		return false, fmt.Errorf("list ContainerMachines: %w", err)
	}
	for i := range machines.Items {
		if conditions.IsTrue(&machines.Items[i], infrav1.ContainerReadyCondition) {
			return false, nil
		}
	}
	return true, nil
}

// start the containers, and unpause the Cluster once its Nodes are Ready: a
// MachineHealthCheck would remediate one that was not when it was stopped.
func (r *Reconciler) start(ctx context.Context, cluster *clusterv1.Cluster, owner identity.Owner) (ctrl.Result, error) {
	containers, err := r.Engine.ListContainers(ctx, owner.Labels())
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("list containers: %w", err)
	}
	sorted := tiers(containers)
	slices.Reverse(sorted)
	started, last := 0, time.Time{}
	for _, container := range slices.Concat(sorted...) {
		startedAt, err := r.startContainer(ctx, container.Name)
		if err != nil {
			return ctrl.Result{}, err
		}
		if startedAt.IsZero() {
			started++
		}
		last = latest(last, startedAt)
	}
	if started > 0 {
		r.Events.Eventf(cluster, nil, corev1.EventTypeNormal, "ClusterStarted", "Start", "Started %d containers", started)
		return ctrl.Result{RequeueAfter: lookInterval}, nil
	}
	if err := r.checkNodes(ctx, client.ObjectKeyFromObject(cluster)); err != nil && r.Clock.Since(last) < startLimit {
		ctrl.LoggerFrom(ctx).V(1).Info("Cluster stays paused", "reason", err.Error())
		return ctrl.Result{RequeueAfter: lookInterval}, nil
	}
	return ctrl.Result{}, r.unpause(ctx, cluster)
}

// startContainer starts a container that ended, and returns the zero time; of any other one
// it returns since when it runs. One that was never started lacks what is put into it, and is
// left to its own controller.
func (r *Reconciler) startContainer(ctx context.Context, name string) (startedAt time.Time, _ error) {
	found, err := r.Engine.InspectContainer(ctx, name)
	if err != nil {
		return time.Time{}, fmt.Errorf("inspect container: %w", err)
	}
	// Podman says "created" of every container after a boot of its host.
	ended := found.Status == engine.StatusExited || found.Status == engine.StatusCreated && !found.StartedAt.IsZero()
	if !ended {
		return cmp.Or(found.StartedAt, found.CreatedAt), nil
	}
	if err := r.Engine.StartContainer(ctx, name); err != nil {
		return time.Time{}, fmt.Errorf("start container %q: %w", name, err)
	}
	return time.Time{}, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

var errNodeNotReady = errors.New("not Ready")

// checkNodes returns an error unless all Nodes are Ready.
func (r *Reconciler) checkNodes(ctx context.Context, cluster client.ObjectKey) error {
	workload, err := r.Workload(ctx, cluster)
	if err != nil {
		return fmt.Errorf("connect to the workload cluster: %w", err)
	}
	nodes := &corev1.NodeList{}
	if err := workload.List(ctx, nodes); err != nil {
		return fmt.Errorf("list Nodes: %w", err)
	}
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
				return fmt.Errorf("node %q: %w", node.Name, errNodeNotReady)
			}
		}
	}
	return nil
}

func (r *Reconciler) pause(ctx context.Context, cluster *clusterv1.Cluster) error {
	before := cluster.DeepCopy()
	cluster.Spec.Paused = ptr.To(true)
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.PausedWhileStoppedAnnotation, "")
	if err := r.Client.Patch(ctx, cluster, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("pause Cluster: %w", err)
	}
	return nil
}

// unpause a Cluster that this controller has paused.
func (r *Reconciler) unpause(ctx context.Context, cluster *clusterv1.Cluster) error {
	if _, pausedByUs := cluster.Annotations[infrav1.PausedWhileStoppedAnnotation]; !pausedByUs {
		return nil
	}
	before := cluster.DeepCopy()
	cluster.Spec.Paused = nil
	delete(cluster.Annotations, infrav1.PausedWhileStoppedAnnotation)
	if err := r.Client.Patch(ctx, cluster, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("unpause Cluster: %w", err)
	}
	return nil
}
