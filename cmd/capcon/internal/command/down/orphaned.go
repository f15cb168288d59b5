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
	"context"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// deletion of one cluster.
type deletion struct {
	name   string
	record state.Cluster
	force  bool
	// on is the session on the engine of a cluster without objects; nil = that of the command.
	on *session.Session
}

// engineOr returns the session on the engine that the containers of the cluster are on.
func (d *deletion) engineOr(s *session.Session) *session.Session {
	if d.on != nil {
		return d.on
	}
	return s
}

// findEngine of a cluster without objects, by its record. "Not found" on another one says nothing.
func (d *deletion) findEngine(ctx context.Context, s *session.Session) (err error) {
	if d.on = s; d.record.EngineName != "" && !d.force {
		d.on, err = s.Of(ctx, d.name)
	}
	return err
}

// unprovenError: nothing proves that no management cluster needs the containers of a cluster.
// That there is a record of them, and no object, does not: the cluster may have been moved.
type unprovenError struct {
	name, program string
	// reason why not.
	reason     string
	containers int
}

// Error implements error.
func (e *unprovenError) Error() string {
	return fmt.Sprintf("cluster %q was not deleted: %s\n"+
		"  kept: %s\n"+
		"  if another management cluster has it, delete it there: kubectl --kubeconfig FILE delete cluster %s\n"+
		"  if none has it, delete its containers: %s down %s --force",
		e.name, e.reason, output.Plural(e.containers, "container"), e.name, e.program, e.name)
}

// checkProven refuses to remove containers of a cluster without objects, unless it is proven that no
// other management cluster has it.
func checkProven(ctx context.Context, s *session.Session, one *deletion, containers []engine.Container) error {
	if one.force {
		return nil
	}
	reason, err := s.KeptBecause(ctx, one.record)
	if err == nil && reason != "" {
		err = &unprovenError{name: one.name, program: s.Program, reason: reason, containers: len(containers)}
	}
	return err
}

// removeOrphaned removes the containers of a cluster without objects, if it is proven that no
// other management cluster has it.
func removeOrphaned(ctx context.Context, s *session.Session, b *progress.Board, one *deletion, containers []engine.Container) error {
	if len(containers) == 0 {
		return nil
	}
	if err := checkProven(ctx, s, one, containers); err != nil {
		return err
	}
	for _, container := range containers {
		b.Waiting("cluster "+one.name, "its objects do not exist, removing container "+container.Name)
		if err := engine.Remove(ctx, one.engineOr(s).Engine, container); err != nil {
			return err //nolint:wrapcheck // It names the container.
		}
	}
	return nil
}
