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

package clusterpower

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

const (
	// startLimit is how long a started cluster stays paused for containers that exit and
	// Nodes that do not become Ready. After it, a MachineHealthCheck may remediate them.
	startLimit = 5 * time.Minute
	// restartDelay and maxRestartDelay bound the pause before a container that exited after
	// its start is started again. It grows with the time since the start of the cluster, so that it
	// needs no count.
	restartDelay, maxRestartDelay = time.Second, time.Minute
	// lostTime is how long the engine may be silent before the limit starts again.
	lostTime = time.Minute
)

// start the containers, and unpause the Cluster once its Nodes are Ready: a
// MachineHealthCheck would remediate one that was not when it was stopped.
func (r *Reconciler) start(ctx context.Context, s *scope) (ctrl.Result, error) {
	since, err := r.recordSince(ctx, s.cluster, infrav1.StartingSinceAnnotation)
	if err != nil {
		return ctrl.Result{}, err
	}
	pass := &startPass{Reconciler: r, scope: s, since: since, running: map[string]time.Time{}}
	if err := pass.observe(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if pass.engineError == nil {
		if err := pass.reportStarting(ctx); err != nil {
			return ctrl.Result{}, err
		}
		pass.startAll(ctx)
	}
	if pass.engineError != nil {
		if isAbsent(pass.engineError) && r.Clock.Since(since) > lostTime {
			// The limit is for containers, which cannot be started without the engine.
			if _, err := r.recordSinceNow(ctx, s.cluster, infrav1.StartingSinceAnnotation); err != nil {
				return ctrl.Result{}, err
			}
		}
		return r.reportEngine(ctx, s, infrav1.StartingReason, pass.engineError)
	}
	return r.conclude(ctx, pass)
}

// conclude a pass: the start is done, has failed, or continues.
func (r *Reconciler) conclude(ctx context.Context, pass *startPass) (ctrl.Result, error) {
	s := pass.scope
	waiting := slices.Concat(pass.missing, pass.ended)
	if !pass.noAPIServer {
		if err := r.checkReady(ctx, s, pass.running); err != nil {
			waiting = append(waiting, err.Error())
		}
	}
	message := strings.Join(slices.Concat([]string{pass.progress()}, waiting, pass.remedies()), "; ")
	late := r.Clock.Since(pass.since) >= startLimit
	switch {
	case len(waiting) == 0:
		// Reported first: without the annotation nothing writes the condition again.
		if err := r.report(ctx, s, metav1.ConditionFalse, infrav1.StartedReason, message); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.unpause(ctx, s.cluster, infrav1.StartingSinceAnnotation)
	case late || len(waiting) == len(pass.missing) || pass.noAPIServer:
		// Waiting does not help. What is done about it is up to the other controllers.
		if err := r.unpause(ctx, s.cluster); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: reconcile.UserInterval}, r.report(ctx, s, metav1.ConditionFalse, infrav1.StartFailedReason, message)
	}
	after := pollInterval
	if pass.isRefused {
		after = retryInterval
	}
	return ctrl.Result{RequeueAfter: after}, r.report(ctx, s, metav1.ConditionFalse, infrav1.StartingReason, message)
}

// startPass is one attempt to start all that does not run.
type startPass struct {
	*Reconciler
	scope *scope
	// since when the cluster is started.
	since time.Time
	// containers of the cluster in the order in which they are started, without those that a
	// user keeps stopped.
	containers []engine.Container
	// maintained are how many a user keeps stopped.
	maintained int
	// running since when, by name.
	running map[string]time.Time
	// missing are the containers that do not exist, ended those that do not run.
	missing, ended []string
	// isRefused: a container did not start.
	isRefused bool
	// isLost: no control plane is left that has the data of the cluster.
	isLost bool
	// noAPIServer: the API server of the cluster cannot answer, because what it needs does
	// not exist or is kept stopped.
	noAPIServer bool
	// engineError ended the pass.
	engineError error
}

// reportStarting ends the report of a stop before anything runs again: the condition never says that
// a cluster is stopped of which containers run.
func (p *startPass) reportStarting(ctx context.Context) error {
	switch conditions.GetReason(p.scope.containerCluster, infrav1.StoppedCondition) {
	case infrav1.StartingReason, infrav1.StartedReason, infrav1.StartFailedReason:
		return nil
	}
	return p.report(ctx, p.scope, metav1.ConditionFalse, infrav1.StartingReason, fmt.Sprintf("starting %d containers", len(p.containers)))
}

func (p *startPass) progress() string {
	text := fmt.Sprintf("%d of %d containers are running", len(p.running), len(p.containers))
	if p.maintained > 0 {
		text += fmt.Sprintf(", %d not started because of the maintenance annotation", p.maintained)
	}
	return text
}

// startAll starts the containers that ended. One that does not start does not keep the others
// from it.
func (p *startPass) startAll(ctx context.Context) {
	for _, listed := range p.containers {
		container, err := p.scope.engine.InspectContainer(ctx, listed.Name)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			p.ended = append(p.ended, fmt.Sprintf("container %s was removed", listed.Name))
		case err != nil:
			p.engineError = fmt.Errorf("inspect container: %w", err)
			return
		default:
			p.startContainer(ctx, container)
		}
		if p.engineError != nil {
			return
		}
	}
}

// startContainer starts a container that ended. One that was never started lacks what is put
// into it, and is left to its own controller.
func (p *startPass) startContainer(ctx context.Context, container engine.Container) {
	wait := func(format string, args ...any) {
		if roleOf(container) == identity.RoleServiceLoadBalancer {
			// Its own controller recreates it, which does not act while the Cluster is paused.
			return
		}
		p.ended = append(p.ended, "container "+container.Name+" "+fmt.Sprintf(format, args...))
	}
	// Podman says "created" of every container after a boot of its host.
	ended := container.Status == engine.StatusExited || container.Status == engine.StatusCreated && !container.StartedAt.IsZero()
	again := !container.StartedAt.Before(p.since)
	switch {
	case container.Status == engine.StatusRunning:
		p.running[container.Name] = cmp.Or(container.StartedAt, container.CreatedAt)
	case container.Status == engine.StatusPaused:
		wait("is paused; unpause it")
	case container.Status == engine.StatusCreated && !ended:
	case !ended:
		wait("is %s", container.Status)
	case again && !p.mayRestart(container):
		wait("%s after it was started", container.Exit())
	default:
		err := p.scope.engine.StartContainer(ctx, container.Name)
		switch {
		case errors.Is(err, engine.ErrUnavailable):
			p.engineError = engine.Failed("start", container.Name, err)
		case err != nil:
			p.isRefused = true
			wait("did not start: %s", refusal(err))
		case again:
			wait("%s after it was started", container.Exit())
		default:
			wait("is starting")
		}
	}
}

// mayRestart reports whether a container that exited after its start is started again now.
func (p *startPass) mayRestart(container engine.Container) bool {
	now := p.Clock.Now()
	delay := min(max(container.StartedAt.Sub(p.since), restartDelay), maxRestartDelay)
	return now.Sub(p.since) < startLimit && now.Sub(container.FinishedAt) >= delay
}
