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
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
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
		// A container of another owner stays.
		r.observeOwnContainer,
		// A container that is missing on another engine may run on the cluster's.
		r.checkEngine,
		// Clients do not see an API server go to which no new connection is sent.
		r.waitForRelease,
		// A member of etcd that is gone without a word counts as a vote.
		r.removeEtcdMember,
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
	container, err := r.Engine.InspectContainer(ctx, name)
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
	serving, err := loadbalancer.Serving(ctx, r.Engine, s.owner().LoadBalancerContainer(), s.container.Name)
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

func (r *Reconciler) removeContainer(ctx context.Context, s *scope) error {
	if s.container != nil {
		name := s.container.Name
		s.setContainerReady(metav1.ConditionFalse, infrav1.DeletingReason, "removing container "+name)
		if err := engine.Remove(ctx, r.Engine, *s.container); err != nil {
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
