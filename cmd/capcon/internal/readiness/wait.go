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

// Package readiness waits until a cluster is ready.
package readiness

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
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// TroubleGrace is how long a condition that needs the user may
// stand before up gives up: the user may be fixing it, or has just fixed it.
// Controllers check again every 15 seconds, and then take a moment.
const TroubleGrace = 20 * time.Second

// Wait for a cluster to become ready.
type Wait struct {
	Session *session.Session
	Board   *progress.Board
	// Request has the name of the cluster, and what its user agreed to.
	Request input.Request
	// Registry on this host that nodes of a new cluster pull from; nil where there is none.
	Registry *localregistry.Registry

	// last is what was seen last.
	last management.Snapshot
	// troubled says since when each trouble stands.
	troubled map[string]time.Time
	// saved says that the owner ID is on disk.
	saved bool
}

// Run shows the cluster's way until it is ready, and returns what was seen then.
func (w *Wait) Run(ctx context.Context) (management.Snapshot, error) {
	s := w.Session
	watching, stop := context.WithCancel(ctx)
	defer stop()
	progress := management.WatchReadiness(watching, s.Client, management.Namespace, w.Request.Name)
	for {
		start := s.Now()
		ready, err := w.look(ctx)
		switch {
		case ready:
			return w.last, nil
		case ctx.Err() != nil:
			return w.last, w.notReady(ctx)
		case err != nil:
			return w.last, err
		}
		if err := s.PauseFor(ctx, s.AfterPoll(start), progress); err != nil {
			return w.last, w.notReady(ctx)
		}
	}
}

// look once. A management plane that does not answer is no error: it may come
// back.
func (w *Wait) look(ctx context.Context) (ready bool, err error) {
	observed, err := management.Observe(ctx, w.Session.Client, management.Namespace, w.Request.Name)
	if err != nil {
		if !session.Transient(err) || ctx.Err() != nil {
			return false, err
		}
		if w.Session.PlaneReplaced(ctx) {
			return false, fmt.Errorf("cluster %q and the management plane were deleted: %w", w.Request.Name, err)
		}
		w.Board.Waiting(session.StepPlane, "not ready: "+management.OneLine(err.Error()))
		return false, nil
	}
	w.Board.Finished(session.StepPlane, "ready")
	w.last = management.Summarize(observed)
	switch {
	case !w.last.Exists:
		return false, fmt.Errorf("cluster %q was deleted meanwhile", w.Request.Name)
	case w.last.Deleting:
		return false, w.Session.BeingDeleted(w.Request.Name)
	}
	standing := w.standing()
	w.Board.Replace([]string{session.StepEngine, session.StepPlane, session.StepImages, session.StepProxy}, snapshotSteps(w.last, standing)...)
	if !w.saved {
		if w.saved, err = w.saveOwner(ctx, observed.Infrastructure); err != nil {
			return false, err
		}
	}
	if err := w.useRegistry(ctx, observed.Infrastructure); err != nil && !session.Transient(err) {
		return false, err
	}
	if w.last.Ready() {
		return true, nil
	}
	return false, w.settleTroubles(ctx, standing)
}

// useRegistry lets the cluster's nodes pull from the local registry.
func (w *Wait) useRegistry(ctx context.Context, infrastructure *infrav1.ContainerCluster) error {
	if w.Registry == nil || infrastructure == nil || !w.Registry.Serves(infrastructure) {
		return nil
	}
	desired := w.Registry.Mirrored()
	isDesired := func(registry infrav1.Registry) bool { return equality.Semantic.DeepEqual(desired, registry) }
	if slices.ContainsFunc(infrastructure.Spec.Registries, isDesired) {
		return nil
	}
	return management.SetRegistry(ctx, w.Session.Client, management.Namespace, w.Request.Name, desired)
}

// saveOwner saves whose the containers are, as soon as that is decided.
func (w *Wait) saveOwner(ctx context.Context, infrastructure *infrav1.ContainerCluster) (bool, error) {
	if infrastructure == nil || infrastructure.Spec.OwnerID == "" {
		return false, nil
	}
	_, err := w.Session.SaveOwner(ctx, w.Request.Name, infrastructure.Spec.OwnerID)
	return err == nil, err
}

// notReady is the error of a wait that ended too early.
func (w *Wait) notReady(ctx context.Context) error {
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
	name := w.Request.Name
	return fmt.Errorf("cluster %q is not ready after %s. Waiting for:\n  %s\nContinue to wait with \"%s up %s\"; for details, see \"%s status %s\"",
		name, w.Request.Timeout, strings.Join(missing, "\n  "), w.Session.Program, name, w.Session.Program, name)
}
