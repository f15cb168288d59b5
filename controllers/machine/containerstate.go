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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// nextAction is what the reconcile does about a container.
type nextAction int

const (
	// nextBootstrap: the container runs; its bootstrap is the next thing to look at.
	nextBootstrap nextAction = iota
	// nextStart: it exited and is started.
	nextStart
	// nextWait: the reconcile comes back after the state's requeueAfter, or with an event.
	nextWait
)

// containerState is what an observed container means for its ContainerMachine.
type containerState struct {
	// status, reason and message of the condition ContainerReady.
	status          metav1.ConditionStatus
	reason, message string
	next            nextAction
	// requeueAfter of nextWait; 0 = an event reports what comes.
	requeueAfter time.Duration
}

// stateInput is what decides about a container besides its own state.
type stateInput struct {
	// network that it belongs to.
	network string
	// maintenance: a user keeps it stopped. stopped: the whole cluster is.
	maintenance, stopped bool
	// exit that the engine has reported, of a container that runs again; for so long
	// it is reported.
	exit     engine.Exit
	reported time.Duration
	// loops: it exited repeatedly within a short time.
	loops bool
}

// stateOf a container that was started at least once.
func stateOf(container engine.Container, c stateInput) containerState {
	notReady := func(next nextAction, after time.Duration, reason, format string, args ...any) containerState {
		return containerState{
			status: metav1.ConditionFalse, reason: reason, next: next, requeueAfter: after,
			message: "container " + container.Name + " " + fmt.Sprintf(format, args...),
		}
	}
	exited := infrav1.ContainerExitedReason
	if c.loops {
		exited = infrav1.ContainerCrashLoopReason
	}
	switch container.Status {
	case engine.StatusRestarting:
		if c.loops {
			return notReady(nextWait, time.Second, exited, "%s, again after each restart", container.Exit())
		}
		return notReady(nextWait, time.Second, exited, "is restarting")
	case engine.StatusRunning:
		endpoint, attached := container.Networks[c.network]
		lost := slices.DeleteFunc(network.Addresses(container, c.network), func(address netip.Addr) bool {
			return slices.Contains(endpoint.Addresses, address)
		})
		switch {
		case c.reported > 0 && c.loops:
			return notReady(nextWait, c.reported, exited, "%s, again after each restart", c.exit)
		case c.reported > 0:
			return notReady(nextWait, c.reported, infrav1.ContainerRestartedReason, "%s and was restarted", c.exit)
		case !attached || len(endpoint.Addresses) == 0:
			return notReady(nextBootstrap, 0, infrav1.ContainerDisconnectedReason, "is not connected to network %s; connect it with its address %s", c.network, joined(lost))
		case len(lost) > 0:
			return notReady(nextBootstrap, 0, infrav1.ContainerDisconnectedReason, "is connected to network %s without its address %s; connect it with this address", c.network, joined(lost))
		}
		return containerState{status: metav1.ConditionTrue, reason: infrav1.ContainerRunningReason}
	case engine.StatusPaused:
		return notReady(nextWait, 0, infrav1.ContainerPausedReason, "is paused; unpause it")
	case engine.StatusExited, engine.StatusCreated:
		// Podman reports "created" for every container after its host has booted.
		if c.stopped {
			return notReady(nextWait, 0, infrav1.ClusterStoppedReason, "is stopped with its cluster")
		}
		if c.maintenance {
			return notReady(nextWait, 0, infrav1.ContainerExitedReason, "%s and is not restarted because of its maintenance annotation", container.Exit())
		}
		if c.loops {
			return notReady(nextStart, 0, exited, "%s, again after each restart", container.Exit())
		}
		return notReady(nextStart, 0, exited, "%s", container.Exit())
	default:
		return notReady(nextWait, time.Second, exited, "is %s", container.Status)
	}
}

func joined(addresses []netip.Addr) string {
	texts := make([]string, 0, len(addresses))
	for _, address := range addresses {
		texts = append(texts, address.String())
	}
	return strings.Join(texts, " and ")
}

// setContainerState reports the state.
func (s *scope) setContainerState(state containerState) {
	s.setContainerReady(state.status, state.reason, state.message)
}

// startContainer starts a container that exited.
func (r *Reconciler) startContainer(ctx context.Context, s *scope, exited containerState) error {
	report := func(what string) { s.setContainerReady(exited.status, exited.reason, exited.message+what) }
	reportRefusal := func(err error) {
		report(" and failed to start: " + reconcile.ErrorText(engine.Cause(err), s.Name.Name))
	}
	if remaining, refused := r.backoff.Remaining(r.Clock.Now(), s.containerMachine); refused != nil {
		reportRefusal(refused)
		return reconcile.Wait{After: remaining}
	}
	if err := r.startLoadBalancer(ctx, s); err != nil {
		return err
	}
	if err := s.Engine.StartContainer(ctx, s.container.Name); err != nil {
		if errors.Is(err, engine.ErrUnavailable) {
			return engineError(engine.Failed("start", s.container.Name, err))
		}
		reportRefusal(err)
		r.backoff.Record(r.Clock.Now(), s.containerMachine, err)
		return engine.Failed("start", s.container.Name, err)
	}
	r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeWarning, "ContainerStarted", "Start", "Restarted after exit: %s", exited.message)
	container, err := s.Engine.InspectContainer(ctx, s.container.Name)
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
	container, err := s.Engine.InspectContainer(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return engineError(fmt.Errorf("inspect load balancer %q: %w", name, err))
	case !hasEnded(container) || !s.owner().Owns(container.Labels):
		return nil
	}
	if err := s.Engine.StartContainer(ctx, name); err != nil {
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
