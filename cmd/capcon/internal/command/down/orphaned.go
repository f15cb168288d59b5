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
	"errors"
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
	// unreached is why the containers on the engine of a cluster without objects are kept, though force is set; nil = they are not.
	unreached *session.EngineError
}

// engineOr returns the session on the engine that the containers of the cluster are on.
func (d *deletion) engineOr(s *session.Session) *session.Session {
	if d.on != nil {
		return d.on
	}
	return s
}

// findEngine of a cluster without objects, by its record. "Not found" on another one says nothing: without force, one that is not
// reached is an error.
func (d *deletion) findEngine(ctx context.Context, s *session.Session) error {
	d.on = s
	if d.record.EngineName == "" {
		return nil
	}
	on, err := s.Of(ctx, d.name)
	if silent := new(session.EngineError); errors.As(err, &silent) {
		if d.unreached = silent; d.force {
			return nil
		}
		return &unreachedError{deletion: d, program: s.Program, planeLost: s.Client == nil}
	}
	if err == nil {
		d.on = on
	}
	return err
}

// finished says what became of the cluster: done, unless its containers are kept.
func (d *deletion) finished(program, done string) string {
	if d.unreached == nil {
		return done
	}
	return fmt.Sprintf("record deleted; what engine %q has of the cluster is kept: once it is connected again, delete that with \"%s gc --owner %s --yes\"",
		d.unreached.Name, program, d.record.OwnerID)
}

// unreachedError: a cluster without objects may have containers on an engine of another host, which is not reached.
type unreachedError struct {
	deletion *deletion
	program  string
	// planeLost: the credentials of the engine were in the management plane.
	planeLost bool
}

// Error implements error.
func (e *unreachedError) Error() string {
	silent := e.deletion.unreached
	cause, remedy := silent.Err.Error(), silent.Remedy
	if e.planeLost {
		cause = "its credentials were in the management plane, which is gone"
		remedy = fmt.Sprintf("to delete its containers, start a management plane (\"%s plane up\"), add the engine again (\"%s engine add %s ENDPOINT\"), and repeat the command",
			e.program, e.program, silent.Name)
	}
	return fmt.Sprintf("cluster %[1]q was not deleted: engine %[2]q: %[3]s\n"+
		"  %[4]s\n"+
		"  if its host is gone too, delete the record of the cluster only: %[5]s down %[1]s --force\n"+
		"  should that host return, delete what is left there: %[5]s gc --owner %[6]s --yes",
		e.deletion.name, silent.Name, cause, remedy, e.program, e.deletion.record.OwnerID)
}

// Unwrap returns the cause.
func (e *unreachedError) Unwrap() error { return e.deletion.unreached }

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
