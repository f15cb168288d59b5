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

package down

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// leftoverState is what is still there of a cluster that is being deleted.
type leftoverState struct {
	// snapshot of the cluster, as long as it exists.
	snapshot management.Snapshot
	// objects that go after the Cluster, and containers, by kind and name.
	objects, containers []string
	// unavailable is why the engine of the cluster is, which its finalizer waits for; empty = it is not.
	unavailable string
}

// list everything for an error message.
func (r leftoverState) list() []string {
	var all []string
	for _, machine := range r.snapshot.Machines {
		all = append(all, "machine "+machine.Name+" ("+machine.Detail+")")
	}
	all = slices.Concat(all, r.containers, r.objects)
	if r.unavailable != "" {
		all = append(all, "ContainerCluster, which waits for its engine: "+r.unavailable)
	}
	return all
}

// brief is a line for the progress.
func (r leftoverState) brief() string {
	switch {
	case len(r.snapshot.Machines) > 0 && len(r.containers) == 0: // or those are on ContainerEngines, which are not asked
		return output.Plural(len(r.snapshot.Machines), "machine") + " remaining"
	case len(r.containers) > 0:
		return output.Plural(len(r.snapshot.Machines), "machine") + " and " + output.Plural(len(r.containers), "container") + " remaining"
	case len(r.objects) > 0:
		return output.Plural(len(r.objects), "object") + " remaining, such as " + r.objects[0]
	case !r.snapshot.Exists:
		return "no object or container remaining"
	case r.unavailable != "":
		return "waiting for the engine: " + r.unavailable
	}
	return "waiting for the Cluster's finalizer"
}

func (r leftoverState) none() bool {
	return !r.snapshot.Exists && len(r.objects) == 0 && len(r.containers) == 0
}

// steps are the machines that are still there.
func (r leftoverState) steps() []progress.Step {
	var steps []progress.Step
	for _, machine := range r.snapshot.Machines {
		steps = append(steps, progress.Step{Name: machine.Name, Detail: machine.Detail, Indented: true, Ended: "deleted"})
	}
	return steps
}

// collectionInterval is for what the garbage collector deletes after a Cluster, within a
// tenth of a second.
const collectionInterval = 50 * time.Millisecond

// waitGone waits until neither the management plane nor the engine has
// anything of the cluster.
func waitGone(ctx context.Context, s *session.Session, b *progress.Board, one *deletion) error {
	name := one.name
	watching, stop := context.WithCancel(ctx)
	defer stop()
	deleted := management.WatchDeletion(watching, s.Client, management.Namespace, name)
	var last leftoverState
	for {
		start, pause := s.Now(), time.Duration(0)
		found, err := leftovers(ctx, s, b, one)
		switch {
		case ctx.Err() != nil:
			return notGone(ctx, name, last)
		case err != nil && (!session.Transient(err) || s.PlaneReplaced(ctx)):
			return err
		case err != nil:
			b.Waiting(session.StepPlane, "not ready: "+management.OneLine(err.Error()))
		default:
			last = found
			b.Nest(progress.Step{Name: "cluster " + name, Detail: found.brief()}, found.steps()...)
			if found.none() {
				return nil
			}
			if !found.snapshot.Exists {
				pause = collectionInterval
			}
		}
		if err := s.PauseFor(ctx, cmp.Or(pause, s.AfterPoll(start)), deleted); err != nil {
			return notGone(ctx, name, last)
		}
	}
}

// leftovers of the cluster, in the management plane and on the engine.
func leftovers(ctx context.Context, s *session.Session, b *progress.Board, one *deletion) (leftoverState, error) {
	name := one.name
	observed, err := management.Observe(ctx, s.Client, management.Namespace, name)
	if err != nil {
		return leftoverState{}, err
	}
	b.Finished(session.StepPlane, "ready")
	found := leftoverState{snapshot: management.Summarize(observed), unavailable: engineUnavailable(observed.Infrastructure)}
	if !found.snapshot.Exists { // the garbage collector deletes them after the Cluster
		if found.objects, err = management.Leftovers(ctx, s.Client, management.Namespace, name); err != nil {
			return leftoverState{}, err
		}
	}
	containers, err := one.containers(ctx, s)
	if err != nil {
		return leftoverState{}, err
	}
	// The containers of a cluster on a ContainerEngine are not looked for here: that an engine is lost, its object says.
	here := observed.Infrastructure != nil && observed.Infrastructure.Spec.EngineName == "" && s.Info.StorageID != ""
	if one.force && len(containers) == 0 && here {
		if err := management.ForgetEngine(ctx, s.Client, observed.Infrastructure, s.Info.StorageID); err != nil {
			return leftoverState{}, err
		}
	}
	// A finalizer keeps the objects until their containers are gone. No controller
	// removes what is here without them.
	if observed.Orphaned() {
		return found, removeOrphaned(ctx, s, b, one, containers)
	}
	for _, container := range containers {
		found.containers = append(found.containers, "container "+container.Name)
	}
	return found, nil
}

func notGone(ctx context.Context, name string, last leftoverState) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	return fmt.Errorf("cluster %q is not deleted yet; run the command again to wait for:\n  %s",
		name, strings.Join(last.list(), "\n  "))
}

// engineUnavailable is why the engine of a cluster is; empty = it is not.
func engineUnavailable(cluster *infrav1.ContainerCluster) string {
	if cluster == nil {
		return ""
	}
	ready := conditions.Get(cluster, infrav1.LoadBalancerReadyCondition)
	if ready == nil || ready.Reason != infrav1.EngineUnavailableReason {
		return ""
	}
	return management.OneLine(ready.Message)
}
