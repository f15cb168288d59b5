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

package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// maxAttempts of an interrupted bootstrap: an engine that was restarted
	// three times in a row has another problem.
	maxAttempts = 3
	// recreateInterval begins the reconcile that creates the container, immediately.
	recreateInterval = time.Millisecond
)

// recoverInterrupted recreates the container of an interrupted bootstrap that may run again.
// Otherwise the bootstrap has failed, and an intention to recreate the container, which an
// earlier reconcile recorded, is withdrawn.
func (r *Reconciler) recoverInterrupted(ctx context.Context, s *scope, next nextAction, result record.Result) error {
	if err := r.readBootstrapData(ctx, s); err != nil {
		return err
	}
	s.reportFailure(infrav1.BootstrapInterruptedReason, result)
	if next != nextBootstrap {
		return nil
	}
	retry, err := r.canRetryBootstrap(ctx, s, result)
	switch {
	case err != nil:
		return err
	case retry:
		return r.recreate(ctx, s)
	}
	return r.record(ctx, s, func(record *infrav1.MachineBootstrap) { record.Recreating = nil })
}

// recreate removes the container. That it is to be created again, for which attempt and with
// which addresses, is recorded before: each next reconcile continues with that.
func (r *Reconciler) recreate(ctx context.Context, s *scope) error {
	attempt, name := s.nextAttempt(), s.container.Name
	if err := r.record(ctx, s, func(record *infrav1.MachineBootstrap) {
		record.Attempt, record.Recreating = attempt, ptr.To(true)
	}); err != nil {
		return err
	}
	if err := engine.Remove(ctx, s.Engine, *s.container); err != nil {
		return engineError(err)
	}
	r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeWarning, "BootstrapRepeated", "Recreate",
		"Bootstrap in container %s was interrupted; recreating the container, attempt %d of %d", name, attempt, maxAttempts)
	s.container = nil
	return reconcile.Wait{
		Reason: infrav1.ContainerCreatingReason, Message: "recreating container " + name + ", because its bootstrap was interrupted",
		After: recreateInterval,
	}
}

// canRetryBootstrap reports whether an interrupted bootstrap may run again, which ends all
// that the container holds: kubeadm init and the join of a worker may while Kubernetes does
// not run in it. The join of a control plane may have left a member in etcd, which only the
// replacement of the whole Machine removes.
func (r *Reconciler) canRetryBootstrap(ctx context.Context, s *scope, result record.Result) (bool, error) {
	if result.KubernetesUp || s.nextAttempt() > maxAttempts {
		return false, nil
	}
	switch s.config.KubeadmOperation() {
	case userdata.KubeadmInit:
		// Although its Node may have registered: no other control plane can replace this
		// one, and no other controller completes the cluster.
		blocker, err := r.initBlocker(ctx, s)
		return blocker == "" && err == nil, err
	case userdata.KubeadmJoinWorker:
		return !s.holdsNode(), nil
	case userdata.KubeadmNone, userdata.KubeadmJoinControlPlane:
	}
	return false, nil
}

// initBlocker says why kubeadm init must not run again; empty where it may.
func (r *Reconciler) initBlocker(ctx context.Context, s *scope) (string, error) {
	cluster := &clusterv1.Cluster{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.cluster), cluster); err != nil {
		return "", fmt.Errorf("get Cluster %q: %w", s.cluster.Name, err)
	}
	if ptr.Deref(cluster.Status.Initialization.ControlPlaneInitialized, false) {
		return clusterInitialized, nil
	}
	return r.otherControlPlane(ctx, s)
}

const clusterInitialized = "the control plane of the Cluster is initialized, and kubeadm init would create an empty one"

// otherControlPlane says that another control plane of the cluster is a Node; empty where
// none is.
func (r *Reconciler) otherControlPlane(ctx context.Context, s *scope) (string, error) {
	others, err := r.otherControlPlanes(ctx, s)
	if err != nil || len(others) == 0 {
		return "", err
	}
	return fmt.Sprintf("control plane %s is a Node, and kubeadm init would create another cluster", others[0].Name), nil
}

// otherControlPlanes of the cluster that are Nodes.
func (r *Reconciler) otherControlPlanes(ctx context.Context, s *scope) ([]clusterv1.Machine, error) {
	machines := &clusterv1.MachineList{}
	if err := r.Live.List(ctx, machines, client.InNamespace(s.machine.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.clusterName}, client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		return nil, fmt.Errorf("list control planes: %w", err)
	}
	return slices.DeleteFunc(machines.Items, func(other clusterv1.Machine) bool {
		return other.Name == s.machine.Name || !other.Status.NodeRef.IsDefined()
	}), nil
}

// checkRetryable is checkLostState for what the bootstrap data says.
func (r *Reconciler) checkRetryable(ctx context.Context, s *scope) error {
	if s.hasStarted() {
		return nil
	}
	blocker, err := r.creationBlocker(ctx, s)
	if err != nil {
		return err
	}
	return r.reportMissing(ctx, s, blocker)
}

// creationBlocker says why a container must not be created for the bootstrap data; empty
// where it may be.
func (r *Reconciler) creationBlocker(ctx context.Context, s *scope) (string, error) {
	operation := s.config.KubeadmOperation()
	first := s.containerMachine.Spec.Bootstrap.Attempt == 0
	switch {
	case operation == userdata.KubeadmInit && s.isRecreating():
		// The Cluster was not initialized when the container was removed.
		return r.otherControlPlane(ctx, s)
	case operation == userdata.KubeadmInit && !first:
		return r.initBlocker(ctx, s)
	case operation == userdata.KubeadmInit && ptr.Deref(s.cluster.Status.Initialization.ControlPlaneInitialized, false):
		return clusterInitialized, nil
	case first || s.isRecreating() || operation == userdata.KubeadmInit || operation == userdata.KubeadmJoinWorker:
		return "", nil
	}
	return "its bootstrap has started and is not repeatable", nil
}

// isRecreating reports whether the container is being replaced by one for another attempt.
func (s *scope) isRecreating() bool {
	return ptr.Deref(s.containerMachine.Spec.Bootstrap.Recreating, false)
}

// holdsNode reports whether the container holds, or held, the state of a Node.
func (s *scope) holdsNode() bool {
	return s.isNode() || ptr.Deref(s.containerMachine.Spec.Bootstrap.Completed, false)
}

// connectionInterval is how often the end of a connection is checked for. Nothing reports it;
// the ClusterCache ends it after five failed probes, ten seconds apart.
const connectionInterval = 2 * time.Second

// waitForDisconnect delays a kubeadm init while this manager is connected to the cluster of an
// earlier one. The new cluster has the same endpoint and the same CA: watches continue in it
// without noticing, caches keep the objects of the earlier one, and controllers that
// read them, such as that of ClusterResourceSets, find objects that do not exist. Other managers
// probe the same endpoint in the same way.
func (r *Reconciler) waitForDisconnect(ctx context.Context, s *scope) error {
	if s.hasStarted() || s.config.KubeadmOperation() != userdata.KubeadmInit {
		return nil
	}
	_, err := r.ClusterCache.GetClient(ctx, client.ObjectKeyFromObject(s.cluster))
	switch {
	case errors.Is(err, clustercache.ErrClusterNotConnected):
		return nil
	case err != nil:
		return fmt.Errorf("get client of the workload cluster: %w", err)
	}
	return reconcile.Wait{
		Reason: infrav1.ContainerCreatingReason, Message: "waiting for the connection to the API server of an earlier container to end",
		After: connectionInterval,
	}
}

// +kubebuilder:rbac:groups=addons.cluster.x-k8s.io,resources=clusterresourcesetbindings,verbs=get;update

// resetResourceSets marks the resources of ClusterResourceSets as not applied before kubeadm
// init creates an empty cluster. Cluster API applies them as soon as an API server answers,
// and not again: where that init is interrupted or its Machine replaced, the next cluster
// would have no Pod network.
func (r *Reconciler) resetResourceSets(ctx context.Context, s *scope) error {
	if s.config.KubeadmOperation() != userdata.KubeadmInit {
		return nil
	}
	binding := &addonsv1.ClusterResourceSetBinding{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(s.cluster), binding)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get ClusterResourceSetBinding: %w", err)
	}
	if !markNotApplied(binding) {
		return nil
	}
	if err := r.Client.Update(ctx, binding); err != nil {
		return fmt.Errorf("update ClusterResourceSetBinding: %w", err)
	}
	r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeNormal, "ResourceSetsReset", "Reset",
		"Marked the resources of ClusterResourceSets as not applied, because kubeadm init creates an empty cluster")
	return nil
}

// markNotApplied reports whether a resource was marked as applied.
func markNotApplied(binding *addonsv1.ClusterResourceSetBinding) bool {
	changed := false
	for i := range binding.Spec.Bindings {
		resources := binding.Spec.Bindings[i].Resources
		for j := range resources {
			if ptr.Deref(resources[j].Applied, false) {
				resources[j].Applied = ptr.To(false)
				changed = true
			}
		}
	}
	return changed
}
