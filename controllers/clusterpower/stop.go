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
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// grace is the time for the Pods of a worker to end before it is killed.
	grace = 20 * time.Second
	// shortGrace is that of control planes and load balancers. etcd ends within a second;
	// kube-apiserver does not end for a minute and more once etcd has.
	shortGrace = 5 * time.Second
	// stopLimit is how long a Cluster that is being stopped is not paused yet: for as long, a
	// MachineHealthCheck can act on what is stopped already.
	stopLimit = 2 * time.Minute
)

// stop the containers and pause the Cluster.
func (r *Reconciler) stop(ctx context.Context, s *scope) (ctrl.Result, error) {
	since, err := r.recordSince(ctx, s.cluster, infrav1.StoppingSinceAnnotation)
	if err != nil {
		return ctrl.Result{}, err
	}
	containers, err := r.containers(ctx, s)
	if err != nil {
		return r.reportEngine(ctx, s, infrav1.StoppingReason, err)
	}
	late := r.Clock.Since(since) >= stopLimit
	pass := &stopPass{Reconciler: r, scope: s, late: late}
	if err := pass.run(ctx, tiers(containers)); err != nil {
		return ctrl.Result{}, err
	}
	if len(pass.failures) > 0 && !late {
		return ctrl.Result{RequeueAfter: retryInterval}, r.report(ctx, s, metav1.ConditionFalse, infrav1.StoppingReason, pass.message())
	}
	// Objects of a paused Cluster keep their conditions: they are to report it before.
	reported, err := r.isReported(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !reported && !late {
		return ctrl.Result{RequeueAfter: pollInterval}, r.report(ctx, s, metav1.ConditionFalse, infrav1.StoppingReason, pass.message())
	}
	if err := r.pause(ctx, s.cluster); err != nil {
		return ctrl.Result{}, err
	}
	if len(pass.failures) > 0 {
		return ctrl.Result{RequeueAfter: retryInterval}, r.report(ctx, s, metav1.ConditionFalse, infrav1.StopFailedReason, pass.message())
	}
	return ctrl.Result{RequeueAfter: checkInterval}, r.report(ctx, s, metav1.ConditionTrue, infrav1.StoppedReason, pass.message())
}

// stopPass is one attempt to stop all that runs.
type stopPass struct {
	*Reconciler
	scope *scope
	// late: the limit is over, and only the end is reported.
	late bool
	// running are the containers that are not stopped yet, of all.
	running, all int
	// failures say which could not be stopped, and why.
	failures []string
}

func (p *stopPass) message() string {
	text := fmt.Sprintf("%d of %d containers are stopped", p.all-p.running, p.all)
	return strings.Join(append([]string{text}, p.failures...), "; ")
}

// run stops tier by tier. Containers that cannot be stopped do not keep others running.
func (p *stopPass) run(ctx context.Context, sorted [][]engine.Container) error {
	for _, tier := range sorted {
		p.all += len(tier)
		p.running += len(slices.DeleteFunc(slices.Clone(tier), func(container engine.Container) bool { return !isUp(container) }))
	}
	if err := p.reportProgress(ctx); err != nil {
		return err
	}
	for i, tier := range sorted {
		before := p.running
		limit := grace
		if i > 0 {
			limit = shortGrace
		}
		p.stopTier(ctx, tier, limit)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stop containers: %w", err)
		}
		if p.running == before {
			continue
		}
		if err := p.reportProgress(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reportProgress unless it is the end, which is reported with what follows.
func (p *stopPass) reportProgress(ctx context.Context) error {
	if p.running == 0 || p.late {
		return nil
	}
	return p.report(ctx, p.scope, metav1.ConditionFalse, infrav1.StoppingReason, p.message())
}

// stopTier stops the containers that run, concurrently.
func (p *stopPass) stopTier(ctx context.Context, tier []engine.Container, limit time.Duration) {
	failures := make([]string, len(tier))
	var group sync.WaitGroup
	for i, container := range tier {
		switch {
		case container.Status == engine.StatusPaused:
			failures[i] = fmt.Sprintf("container %s is paused; unpause it", container.Name)
		case isUp(container):
			group.Go(func() {
				if err := engine.IgnoreNotFound(p.scope.engine.StopContainer(ctx, container.Name, limit)); err != nil {
					failures[i] = fmt.Sprintf("container %s did not stop: %v", container.Name, err)
				}
			})
		}
	}
	group.Wait()
	for i, container := range tier {
		switch {
		case failures[i] != "":
			p.failures = append(p.failures, failures[i])
		case isUp(container):
			p.running--
		}
	}
}

// isUp reports whether a container has a process, or is about to have one.
func isUp(container engine.Container) bool {
	return container.Status == engine.StatusRunning || container.Status == engine.StatusRestarting || container.Status == engine.StatusPaused
}

// isReported reports whether no machine of the cluster reports that its container runs. One
// that is paused reports nothing.
func (r *Reconciler) isReported(ctx context.Context, s *scope) (bool, error) {
	machines, err := r.machines(ctx, s)
	if err != nil {
		return false, err
	}
	for i := range machines {
		if conditions.IsTrue(&machines[i], infrav1.ContainerReadyCondition) && !annotations.IsPaused(s.cluster, &machines[i]) {
			return false, nil
		}
	}
	return true, nil
}

// machines of the cluster.
func (r *Reconciler) machines(ctx context.Context, s *scope) ([]infrav1.ContainerMachine, error) {
	machines := &infrav1.ContainerMachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(s.recorded.Owner.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.recorded.Owner.Cluster}); err != nil {
		return nil, fmt.Errorf("list ContainerMachines: %w", err)
	}
	return machines.Items, nil
}
