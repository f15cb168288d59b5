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

package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/readiness"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// watchInterval is how often to read the clusters.
const watchInterval = 2 * time.Second

// watch shows what changes until ctx ends. That is how the user ends it, and no error. One cluster is shown
// with its stages and Machines.
func watch(ctx context.Context, a *session.App, options options) error {
	s, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	title := "Clusters of " + s.Connected
	if options.name != "" {
		title = "Cluster " + options.name
	}
	board := s.NewBoardOn(s.Out, title)
	defer board.Close()
	for seen := options.name == ""; ; {
		steps, err := look(ctx, s, options.name)
		if err == nil && len(steps) == 1 && !seen && s.Client != nil {
			err = s.NotFound(ctx, options.name)
		}
		seen = seen || len(steps) > 1
		switch {
		case ctx.Err() != nil:
			return session.ErrReported
		case err != nil && !session.Transient(err):
			return err
		case err != nil:
			board.Waiting(session.StepPlane, "not ready: "+management.OneLine(err.Error()))
		default:
			board.Replace(nil, steps...)
		}
		if s.PauseFor(ctx, watchInterval, nil) != nil {
			return session.ErrReported
		}
	}
}

// look at the clusters once.
func look(ctx context.Context, s *session.Session, name string) ([]progress.Step, error) {
	plane, err := s.ReachPlane(ctx)
	if err != nil {
		return nil, err
	}
	line := planeLine(planeReport{Exists: plane.Exists, Answers: plane.Answers, Detail: plane.Detail})
	steps := []progress.Step{{Name: session.StepPlane, State: progress.Waiting, Detail: line}}
	if !plane.Answers {
		return steps, nil
	}
	steps[0].State = progress.Done
	clusters, err := management.Clusters(ctx, s.Client)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, cluster := range clusters {
		if name != "" && (cluster.Name != name || cluster.Namespace != management.Namespace) {
			continue
		}
		observed, err := management.Observe(ctx, s.Client, cluster.Namespace, cluster.Name)
		errs = append(errs, err)
		if observed.Cluster == nil {
			continue
		}
		snapshot := management.Summarize(observed)
		steps = append(steps, clusterStep(observed, snapshot))
		if name != "" {
			steps = append(steps, readiness.Steps(snapshot)...)
		}
	}
	return steps, errors.Join(errs...)
}

func clusterStep(observed management.Observed, snapshot management.Snapshot) progress.Step {
	step := progress.Step{
		Name:  "cluster " + session.Shown(observed.Cluster.Namespace, observed.Cluster.Name),
		State: progress.Waiting, Indented: true, Ended: "deleted",
	}
	if snapshot.Available || snapshot.Ready() {
		step.State = progress.Done
	}
	version := observed.Cluster.Spec.Topology.Version
	if observed.ControlPlane != nil {
		version = observed.ControlPlane.Spec.Version
	}
	step.Detail = fmt.Sprintf("%s, %d of %d Nodes ready, %s", version,
		snapshot.ReadyControlPlanes+snapshot.ReadyWorkers, len(observed.Machines), snapshot.State())
	return step
}
