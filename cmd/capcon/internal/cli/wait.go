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

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/localregistry"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
)

const (
	// pollInterval is short against what users notice; the reads go to a
	// process on this machine.
	pollInterval = 500 * time.Millisecond
	// collectionInterval is for what the garbage collector deletes after a Cluster, within a
	// tenth of a second.
	collectionInterval = 50 * time.Millisecond
	// pauseShare times as long as a poll took is the pause after it, if that is longer: a
	// slow host has better things to do.
	pauseShare = 5
	// troubleGrace is how long a condition that needs the user may
	// stand before up gives up: the user may be fixing it, and a first
	// report may be overtaken.
	troubleGrace = 15 * time.Second
)

// watch is the wait for a cluster to become ready.
type watch struct {
	*session
	board   *board
	request input.Request
	// last is what was seen last.
	last management.Snapshot
	// troubled says since when each trouble stands.
	troubled map[string]time.Time
	// saved says that the owner ID is on disk.
	saved bool
	// registry on this host that nodes of a new cluster pull from; nil where there is none.
	registry *localregistry.Registry
}

// waitReady shows the cluster's way until it is ready, and returns what was seen then. Nodes of
// one that is being created pull from the registry, which is nil where there is none.
func (s *session) waitReady(
	ctx context.Context, b *board, request input.Request, registry *localregistry.Registry,
) (management.Snapshot, error) {
	waited := s.trace.span(s.Now, "wait until ready")
	defer waited()
	w := &watch{session: s, board: b, request: request, troubled: map[string]time.Time{}, registry: registry}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	progress := management.WatchReadiness(watching, s.client, namespace, request.Name)
	for {
		began := s.Now()
		ready, err := w.look(ctx)
		switch {
		case ready:
			return w.last, nil
		case ctx.Err() != nil:
			return w.last, w.notReady(ctx)
		case err != nil:
			return w.last, err
		}
		if err := s.pauseFor(ctx, s.afterPoll(began), progress); err != nil {
			return w.last, w.notReady(ctx)
		}
	}
}

// afterPoll is how long to wait after a poll that began at this time.
func (a *app) afterPoll(began time.Time) time.Duration {
	return max(pollInterval, pauseShare*a.Now().Sub(began))
}

// pauseFor a duration, at most until there is a value in the channel, or return the error of
// ctx when that ends first.
func (a *app) pauseFor(ctx context.Context, duration time.Duration, end <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-end:
	case <-a.After(duration):
	}
	return nil
}

// look once. A management plane that does not answer is no error: it may come
// back.
func (w *watch) look(ctx context.Context) (ready bool, err error) {
	observed, err := management.Observe(ctx, w.client, namespace, w.request.Name)
	if err != nil {
		if !transient(err) || ctx.Err() != nil {
			return false, err
		}
		if w.replaced(ctx) {
			return false, fmt.Errorf("cluster %q and the management plane were deleted: %w", w.request.Name, err)
		}
		w.board.waiting(stepPlane, "not ready: "+management.OneLine(err.Error()))
		return false, nil
	}
	w.board.finished(stepPlane, "ready")
	w.last = management.Summarize(observed)
	switch {
	case !w.last.Exists:
		return false, fmt.Errorf("cluster %q was deleted meanwhile", w.request.Name)
	case w.last.Deleting:
		return false, w.beingDeleted(w.request.Name)
	}
	standing := w.standing()
	w.board.cluster(w.last, standing)
	if !w.saved {
		if w.saved, err = w.saveOwner(ctx, w.request.Name, observed); err != nil {
			return false, err
		}
	}
	if err := w.useRegistry(ctx, observed.Infrastructure); err != nil && !transient(err) {
		return false, err
	}
	if w.last.Ready() {
		return true, nil
	}
	return false, w.settleTroubles(ctx, standing)
}

// useRegistry lets the cluster's nodes pull from the local registry.
func (w *watch) useRegistry(ctx context.Context, infrastructure *infrav1.ContainerCluster) error {
	if w.registry == nil || infrastructure == nil || !isOn(infrastructure, *w.registry) {
		return nil
	}
	wanted := inNodes(*w.registry)
	isWanted := func(registry infrav1.Registry) bool { return equality.Semantic.DeepEqual(wanted, registry) }
	if slices.ContainsFunc(infrastructure.Spec.Registries, isWanted) {
		return nil
	}
	return management.SetRegistry(ctx, w.client, namespace, w.request.Name, wanted)
}

// save whose the containers are, as soon as that is decided.
func (s *session) saveOwner(ctx context.Context, name string, observed management.Observed) (bool, error) {
	if observed.Infrastructure == nil || observed.Infrastructure.OwnerID() == "" {
		return false, nil
	}
	_, err := s.saveRecord(ctx, name, observed.Infrastructure.OwnerID())
	return err == nil, err
}

// settleTroubles replaces the machines of troubles that have stood for the
// grace period where that resolves them, and returns an error for the others.
func (w *watch) settleTroubles(ctx context.Context, standing []management.Trouble) error {
	var found []string
	for _, trouble := range standing {
		if trouble.MayPass {
			continue
		}
		if trouble.Replace == "" {
			found = append(found, fmt.Sprintf("%s: %s: %s\n    remedy: %s",
				trouble.Object, trouble.Reason, management.OneLine(trouble.Message), trouble.Remedy))
			continue
		}
		w.board.waiting(trouble.Object, "replacing Machine: "+trouble.Reason)
		kept, err := w.replace(ctx, trouble)
		if err != nil && !transient(err) {
			return err
		}
		if kept != "" {
			found = append(found, kept)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("cluster %q cannot become ready:\n  %s\nFix the cause, then run \"%s up %s\" again",
		w.request.Name, strings.Join(found, "\n  "), w.Program, w.request.Name)
}

// replace the Machine of a trouble. It is kept, for the reason that is returned, where the user
// has not agreed to lose the volumes on a Node whose container is still there.
func (w *watch) replace(ctx context.Context, trouble management.Trouble) (kept string, err error) {
	if trouble.Node != "" && trouble.Reason != infrav1.ContainerNotFoundReason && !w.request.Yes {
		plan, err := w.withVolumes(ctx, update.Plan{Cluster: w.request.Name, Replaced: []update.Replacement{{
			Machine: update.Machine{Name: trouble.Replace, Node: trouble.Node}, Fields: []string{trouble.Reason},
		}}})
		if err != nil {
			return "", err
		}
		if plan.NeedsConsent {
			return fmt.Sprintf("%s: %s: %s\n%s\n    remedy: save the data; \"%s up %s --yes\" replaces the Machine",
				trouble.Object, trouble.Reason, management.OneLine(trouble.Message), plan, w.Program, w.request.Name), nil
		}
	}
	return "", management.Replace(ctx, w.client, namespace, trouble)
}

// standing returns the troubles that have stood for the grace period.
func (w *watch) standing() []management.Trouble {
	now := w.Now()
	since := make(map[string]time.Time, len(w.last.Troubles))
	var standing []management.Trouble
	for _, trouble := range w.last.Troubles {
		key := trouble.Object + " " + trouble.Reason
		first, known := w.troubled[key]
		if !known {
			first = now
		}
		since[key] = first
		if now.Sub(first) >= troubleGrace {
			standing = append(standing, trouble)
		}
	}
	w.troubled = since
	return standing
}

// notReady is the error of a wait that ended too early.
func (w *watch) notReady(ctx context.Context) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	missing := w.last.Missing()
	if !w.last.Exists {
		missing = []string{"management plane: not ready"}
	}
	for _, trouble := range w.last.Troubles {
		missing = append(missing, trouble.Object+": "+trouble.Reason+": "+management.OneLine(trouble.Message)+"\n    remedy: "+trouble.Remedy)
	}
	name := w.request.Name
	return fmt.Errorf("cluster %q is not ready after %s. Waiting for:\n  %s\nContinue to wait with \"%s up %s\"; for details, see \"%s status %s\"",
		name, w.request.Timeout, strings.Join(missing, "\n  "), w.Program, name, w.Program, name)
}
