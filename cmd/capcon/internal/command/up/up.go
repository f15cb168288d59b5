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

package up

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/localregistry"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/nextsteps"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/readiness"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/trace"
)

// run of the command.
type run struct {
	session *session.Session
	request input.Request
	// kubeconfig of the user that gets the context of the cluster.
	kubeconfig session.UserKubeconfig
	// trace of the command; nil where none was requested.
	trace *trace.Recording
	board *progress.Board

	// engineName of the ContainerEngine that the cluster is on; empty = it is on the engine of the session.
	engineName string
	// others are the further ContainerEngines of a cluster over several.
	others []string
	// target is the session on that engine; nil until it is needed.
	target *session.Session
}

// run creates or updates the cluster, and waits for it.
func (r *run) run(ctx context.Context) error {
	started := r.session.Now()
	r.board = r.session.NewBoard("Cluster " + r.request.Name) // It may exist, and be updated or started.
	reached, err := r.upWithin(ctx)
	r.board.Close()
	switch {
	case errors.Is(err, errUnanswered) && ctx.Err() != nil:
		r.session.Errorf("Interrupted. Nothing was changed.")
		return session.ErrReported
	case ctx.Err() != nil:
		r.session.Errorf("Interrupted. Provisioning continues in the background; wait for it with \"%s up %s\", or delete the cluster with \"%s down %s\".",
			r.session.Program, r.request.Name, r.session.Program, r.request.Name)
		return session.ErrReported
	case err != nil:
		return err
	}
	return nextsteps.Print(ctx, r.session, nextsteps.Ready{
		Cluster: r.request.Name, Reached: reached, Took: r.session.Now().Sub(started), Kubeconfig: r.kubeconfig,
	})
}

func (r *run) upWithin(ctx context.Context) (management.Snapshot, error) {
	limited, cancel := session.Within(ctx, r.request.Timeout)
	defer cancel()
	r.board.Finished(session.StepEngine, r.session.ChosenEngine())
	if err := r.findEngine(limited); err != nil {
		return management.Snapshot{}, r.timedOut(limited, err)
	}
	if err := r.checkRequest(ctx); err != nil {
		return management.Snapshot{}, err
	}
	if err := r.session.CheckUserKubeconfig(ctx, r.kubeconfig, r.request.Name); err != nil {
		return management.Snapshot{}, err
	}
	for {
		registry, err := r.settle(limited)
		switch {
		case err == nil:
			waited := r.trace.Span("wait until ready")
			reached, err := (&readiness.Wait{Session: r.session, Board: r.board, Request: r.request, Registry: registry}).Run(limited)
			waited()
			return reached, err
		case apierrors.IsAlreadyExists(err), r.session.PlaneReplaced(limited):
			// Another process created the cluster, or removed the management plane.
		default:
			return management.Snapshot{}, r.timedOut(limited, err)
		}
	}
}

// settle the objects of the cluster, in a management plane that is created first if there is
// none: create them, or update them as requested. It returns the local registry, if there is
// one, until the cluster's infrastructure has been provisioned. Where it fails, a plane that was created for it and
// has no other cluster by now is removed.
func (r *run) settle(ctx context.Context) (registry *localregistry.Registry, err error) {
	prepared := r.trace.Span("prepare")
	created, err := r.preparePlane(ctx)
	prepared()
	if err != nil {
		return nil, err
	}
	r.trace.WatchObjects(ctx)
	present, err := r.read(ctx)
	switch {
	case err != nil:
	case present.Deleting:
		err = r.session.BeingDeleted(r.request.Name)
	case present.Exists:
		err = r.update(ctx, present)
	default:
		if err = r.checkForgotten(ctx, r.request.Name, present); err == nil {
			err = r.create(ctx)
		}
	}
	if err == nil {
		err = r.session.RetryTransient(ctx, func() error { return management.EnsureNamedClass(ctx, r.session.Client, management.Namespace) })
	}
	if err != nil && created && ctx.Err() == nil && !r.session.PlaneReplaced(ctx) {
		err = errors.Join(err, r.removeCreated(ctx))
	}
	if err != nil || present.Provisioned {
		return nil, err
	}
	return r.findRegistry(ctx)
}

// findRegistry of this host, which nodes on the engine of another host, or in memory, do not reach.
func (r *run) findRegistry(ctx context.Context) (*localregistry.Registry, error) {
	if r.engineName != "" || r.session.InMemory {
		return nil, nil
	}
	registry, found, err := localregistry.Find(ctx, r.session.Engine)
	if err != nil || !found {
		return nil, err
	}
	return &registry, nil
}

// create the objects of a new cluster.
func (r *run) create(ctx context.Context) error {
	// Only now the subnet of the engine's network is known.
	values, err := r.decide(ctx)
	if err != nil {
		return err
	}
	if err := r.decideProxy(ctx, &values); err != nil {
		return err
	}
	applied := r.trace.Span("apply")
	defer applied()
	return r.session.RetryTransient(ctx, func() error {
		// Rendered each time: applying leaves marks on them.
		rendered, err := objects.Render(values)
		if err != nil {
			return err
		}
		return management.Create(ctx, r.session.Client, rendered)
	})
}

// preparePlane ensures a management plane, and reports whether this call created it.
func (r *run) preparePlane(ctx context.Context) (created bool, err error) {
	before, err := r.session.Plane.State(ctx)
	if err != nil {
		return false, err
	}
	image, err := r.session.PlaneImage(ctx, r.board, r.request, before)
	if err != nil {
		return false, err
	}
	if !before.Exists {
		// There can be no such cluster yet: what is wrong with a new one is
		// found before anything is created.
		if err := r.checkForgotten(ctx, r.request.Name, management.Present{}); err != nil {
			return false, err
		}
		if _, err := r.decide(ctx); err != nil {
			return false, err
		}
	}
	return r.session.EnsurePlane(ctx, r.board, before, image)
}

// removeCreated removes the management plane that this command created, unless it
// was started by itself meanwhile or has a cluster.
func (r *run) removeCreated(ctx context.Context) error {
	kept, err := management.IsKept(ctx, r.session.Client)
	if err != nil || kept {
		return err
	}
	_, err = r.session.RemoveUnused(ctx)
	return err
}

// timedOut says so where that is the reason for err.
func (r *run) timedOut(limited context.Context, err error) error {
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("not ready within %s; provisioning continues in the background, wait for it with \"%s up %s\": %w", r.request.Timeout, r.session.Program, r.request.Name, err)
	}
	return err
}
