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
	"net/netip"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/union"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

const (
	// releaseTimeout is how long a control plane waits for the load balancer
	// to drain it. One reload takes less than a second.
	releaseTimeout = 10 * time.Second
	// releaseInterval is how often it looks.
	releaseInterval = time.Second
)

// reconcileDelete removes the container, and the finalizer afterwards.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	return reconcile.Run(ctx, s,
		// Where nothing was created, nothing is looked for.
		r.releaseUnplaced,
		// An engine that is lost is not waited for.
		r.releaseLost,
		r.findEngine,
		// A container of another owner stays.
		r.observeOwnContainer,
		// A container that is missing on another engine may run on the cluster's.
		r.checkEngine,
		// Clients do not see an API server go to which no new connection is sent.
		r.waitForRelease,
		// A member of etcd that is gone without a word counts as a vote.
		r.removeEtcdMember,
		// The deletion of a Cluster waits for the engine once, in the end.
		r.releaseToCluster,
		r.removeContainer,
		// The next leader does not wait for the Leases of a process that was killed.
		r.releaseLeases,
		r.removeFinalizer,
	)
}

// observeOwnContainer ignores a container that another object owns: then there is
// nothing to remove.
func (r *Reconciler) observeOwnContainer(ctx context.Context, s *scope) error {
	name := s.containerName()
	container, err := s.Engine.InspectContainer(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return engineError(engine.Failed("inspect", name, err))
	}
	owner, err := r.otherOwner(ctx, s, container)
	if err == nil && owner == "" {
		s.container = &container
	}
	return err
}

// waitForRelease keeps an API server running until the load balancer sends
// no new connections to it, so that clients do not see it go.
func (r *Reconciler) waitForRelease(ctx context.Context, s *scope) error {
	if s.container == nil || !s.loadBalancerStays() || r.hasDeletedFor(s, releaseTimeout) {
		return nil
	}
	serving, err := loadbalancer.Serving(ctx, s.engines, s.owner().LoadBalancerContainer(), s.container.Name)
	if err != nil {
		return engineError(fmt.Errorf("get status of load balancer: %w", err))
	}
	if serving {
		return waitToDelete("waiting for the load balancer to drain")
	}
	return nil
}

// waitToDelete keeps the container of a machine that is deleted, for what the message says.
func waitToDelete(message string) error {
	return reconcile.Wait{
		Condition: infrav1.ContainerReadyCondition, Reason: infrav1.DeletingReason, Message: message, After: releaseInterval,
	}
}

// hasDeletedFor reports whether the deletion began longer ago than the limit.
func (r *Reconciler) hasDeletedFor(s *scope, limit time.Duration) bool {
	return r.Clock.Since(s.containerMachine.DeletionTimestamp.Time) > limit
}

// loadBalancerStays reports whether a load balancer still sends connections to control
// planes other than this one.
func (s *scope) loadBalancerStays() bool {
	return s.isControlPlaneOfLivingCluster() && s.containerCluster.Spec.LoadBalancer.Type != infrav1.LoadBalancerNone
}

// isControlPlaneOfLivingCluster reports whether the machine is a control plane of a cluster
// that is not being deleted.
func (s *scope) isControlPlaneOfLivingCluster() bool {
	return s.machine != nil && util.IsControlPlaneMachine(s.machine) &&
		s.cluster != nil && s.cluster.DeletionTimestamp.IsZero() &&
		s.containerCluster != nil && s.containerCluster.DeletionTimestamp.IsZero()
}

// releaseToCluster removes the finalizer before the container if the Cluster is being deleted:
// Cluster API deletes workers, control planes and infrastructure in turn, and need not wait for
// the engine in between. The container is removed by this reconcile all the same, and one that
// is left, because this process was killed, by the deletion of the ContainerCluster, which waits
// for all containers of its owner ID.
func (r *Reconciler) releaseToCluster(ctx context.Context, s *scope) error {
	if !r.isRemovedWithCluster(s) {
		return nil
	}
	before := s.containerMachine.DeepCopy()
	controllerutil.RemoveFinalizer(s.containerMachine, infrav1.MachineFinalizer)
	if err := r.Client.Patch(ctx, s.containerMachine, client.MergeFrom(before)); reconcile.IgnoreGone(err) != nil {
		return fmt.Errorf("remove finalizer: %w", err)
	}
	s.released = true
	return nil
}

// isRemovedWithCluster reports whether the deletion of the ContainerCluster removes what is left
// of the container. Neither Nodes nor members of etcd are removed from a Cluster that is being
// deleted.
func (r *Reconciler) isRemovedWithCluster(s *scope) bool {
	return s.container != nil && s.owner().Owns(s.container.Labels) && r.isClusterDeletedHere(s)
}

// isClusterDeletedHere reports whether the Cluster is being deleted, and this manager is to delete its ContainerCluster.
func (r *Reconciler) isClusterDeletedHere(s *scope) bool {
	return s.cluster != nil && !s.cluster.DeletionTimestamp.IsZero() &&
		s.containerCluster != nil && reconcile.Selected(s.containerCluster, r.WatchFilterValue) &&
		controllerutil.ContainsFinalizer(s.containerCluster, infrav1.ClusterFinalizer)
}

func (r *Reconciler) removeContainer(ctx context.Context, s *scope) error {
	if s.container != nil {
		name := s.container.Name
		s.setContainerReady(metav1.ConditionFalse, infrav1.DeletingReason, "removing container "+name)
		if err := engine.Remove(ctx, s.Engine, *s.container); err != nil {
			return engineError(err)
		}
		r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeNormal, "ContainerRemoved", "Remove", "Removed container %s", name)
	}
	return nil
}

func (r *Reconciler) removeFinalizer(_ context.Context, s *scope) error {
	controllerutil.RemoveFinalizer(s.containerMachine, infrav1.MachineFinalizer)
	return nil
}

// etcdTimeout is how long a control plane waits for the removal of its member of etcd: an
// election takes seconds, a boot of all containers less than a minute, and an etcd that has
// lost its quorum never agrees. etcd is asked once also after it.
const etcdTimeout = time.Minute

// removeEtcdMember removes a control plane from etcd before its container is removed, through
// any other control plane that has etcd. The KubeadmControlPlane controller does so for the
// Machines of Nodes, while it reaches the API server; it deletes a Machine without a Node as
// if it had no member, and etcd counts the lost member as a vote: two members lose their quorum.
func (r *Reconciler) removeEtcdMember(ctx context.Context, s *scope) error {
	if !s.isControlPlaneOfLivingCluster() {
		return nil
	}
	others, err := s.engines.ListContainers(ctx, s.owner().Select(map[string]string{identity.LabelRole: string(identity.RoleControlPlane)}))
	partial, isPartial := errors.AsType[*union.PartialError](err)
	if err != nil && !isPartial {
		return engineError(fmt.Errorf("list control planes: %w", err))
	}
	others = slices.DeleteFunc(others, func(c engine.Container) bool { return s.container != nil && c.Name == s.container.Name })
	addresses := s.etcdAddresses(others)
	if len(addresses) == 0 {
		return nil
	}
	var errs []error
	if isPartial {
		errs = append(errs, partial)
	}
	for _, other := range others {
		if other.Status != engine.StatusRunning {
			errs = append(errs, fmt.Errorf("container %q is not running", other.Name))
			continue
		}
		err := node.RemoveEtcdMember(ctx, s.engines, other.Name, addresses)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, node.ErrNoEtcd):
			errs = append(errs, fmt.Errorf("remove etcd member through container %q: %w", other.Name, err))
		}
	}
	if len(errs) == 0 || r.hasDeletedFor(s, etcdTimeout) {
		return nil
	}
	return waitToDelete(fmt.Sprintf("waiting up to %s for the removal of this machine's etcd member: %s", etcdTimeout, errors.Join(errs...)))
}

// etcdAddresses are those that the machine's member has. Those of a container that is
// missing are recorded, and may belong to another control plane by now.
func (s *scope) etcdAddresses(others []engine.Container) []netip.Addr {
	if s.container != nil {
		return network.Addresses(*s.container, s.networkName())
	}
	addresses := s.recordedAddresses()
	for _, other := range others {
		taken := network.Addresses(other, s.networkName())
		addresses = slices.DeleteFunc(addresses, func(address netip.Addr) bool { return slices.Contains(taken, address) })
	}
	return addresses
}

// leasesTimeout bounds the requests to an API server that may have lost its etcd.
const leasesTimeout = 5 * time.Second

// releaseLeases releases the Leases of kube-controller-manager and kube-scheduler that a
// removed control plane holds. It was killed after it left etcd and could not release them
// itself. Without this, no other one leads for 15 seconds, the default duration of a Lease:
// Pods that are evicted are not replaced, Services keep endpoints that are gone, and no
// kubelet joins. A Lease that is not released expires, so that an error is logged only.
func (r *Reconciler) releaseLeases(ctx context.Context, s *scope) error {
	if !s.isControlPlaneOfLivingCluster() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leasesTimeout)
	defer cancel()
	workload, err := r.ClusterCache.GetUncachedClient(ctx, client.ObjectKeyFromObject(s.cluster))
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return nil
	}
	if err == nil {
		// The identity of a process is the name of its host and a random part.
		host := s.hostName() + "_"
		err = errors.Join(releaseLease(ctx, workload, "kube-controller-manager", host), releaseLease(ctx, workload, "kube-scheduler", host))
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Failed to release Leases of the removed control plane; waiting for their expiry", "reason", err.Error())
	}
	return nil
}

// releaseLease as client-go's leader election does, if a process of the host holds it.
func releaseLease(ctx context.Context, workload client.Client, name, host string) error {
	lease := &coordinationv1.Lease{}
	if err := workload.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: name}, lease); err != nil {
		return fmt.Errorf("get Lease: %w", err)
	}
	if !strings.HasPrefix(ptr.Deref(lease.Spec.HolderIdentity, ""), host) {
		return nil
	}
	original := lease.DeepCopy()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To(""), ptr.To[int32](1)
	// Another process may have acquired it since.
	if err := workload.Patch(ctx, lease, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("release Lease %q: %w", name, err)
	}
	return nil
}
