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

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// startContainer starts a container that exited.
func (r *Reconciler) startContainer(ctx context.Context, s *scope, exited containerState) error {
	report := func(what string) { s.setContainerReady(exited.status, exited.reason, exited.message+what) }
	reportRefusal := func(err error) { report(" and failed to start: " + reconcile.ErrorText(engine.Cause(err))) }
	if remaining, refused := r.backoff.Remaining(r.Clock.Now(), s.containerMachine); refused != nil {
		reportRefusal(refused)
		return reconcile.Wait{After: remaining}
	}
	if err := r.startLoadBalancer(ctx, s); err != nil {
		return err
	}
	if err := r.Engine.StartContainer(ctx, s.container.Name); err != nil {
		if errors.Is(err, engine.ErrUnavailable) {
			return engineError(engine.Failed("start", s.container.Name, err))
		}
		reportRefusal(err)
		r.backoff.Record(r.Clock.Now(), s.containerMachine, err)
		return engine.Failed("start", s.container.Name, err)
	}
	r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeWarning, "ContainerStarted", "Start", "Restarted after exit: %s", exited.message)
	container, err := r.Engine.InspectContainer(ctx, s.container.Name)
	if err != nil {
		return engineError(engine.Failed("inspect", s.container.Name, err))
	}
	s.container = &container
	// An exit is reported once, although the container runs again: its start causes
	// the next reconcile, which finds it ready.
	switch {
	case exited.reason == infrav1.ContainerCrashLoopReason:
		report("") // The message says so already.
	case container.Status == engine.StatusRunning:
		report(" and has been started again")
	default:
		report(" and exited again after it was restarted")
	}
	return reconcile.Wait{After: time.Second}
}

// startLoadBalancer starts the cluster's load balancer before a node where both
// exited, so that the node finds the API server at its first try. It continues
// where that does not start: its own controller says why, and tries again.
func (r *Reconciler) startLoadBalancer(ctx context.Context, s *scope) error {
	if s.containerCluster == nil || s.containerCluster.Spec.LoadBalancer.Type == infrav1.LoadBalancerNone {
		return nil
	}
	name := s.owner().LoadBalancerContainer()
	container, err := r.Engine.InspectContainer(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return engineError(fmt.Errorf("inspect load balancer %q: %w", name, err))
	case !hasEnded(container) || !s.owner().Owns(container.Labels):
		return nil
	}
	if err := r.Engine.StartContainer(ctx, name); err != nil {
		if errors.Is(err, engine.ErrUnavailable) {
			return engineError(fmt.Errorf("start load balancer %q: %w", name, err))
		}
		return nil
	}
	r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "LoadBalancerStarted", "Start", "Started load balancer %s", name)
	return nil
}

// hasEnded: it ran once and does not. Podman says "created" of every container
// after a boot of its host; one that was never started lacks what is put into it.
func hasEnded(container engine.Container) bool {
	return container.Status == engine.StatusExited || container.Status == engine.StatusCreated && !container.StartedAt.IsZero()
}
