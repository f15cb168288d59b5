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
	"strconv"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
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
	// reached are the sessions on the engines of a cluster without objects; none = on that of the command.
	reached []*session.Session
	// unreached are why the containers on other engines of a cluster without objects are kept, though force is set.
	unreached []*session.EngineError
}

// engines that the containers of the cluster are looked for on.
func (d *deletion) engines(s *session.Session) []*session.Session {
	if len(d.reached) == 0 {
		return []*session.Session{s}
	}
	return d.reached
}

// containers of the cluster on these engines.
func (d *deletion) containers(ctx context.Context, s *session.Session) (all []session.Container, err error) {
	for _, on := range d.engines(s) {
		containers, failed := on.Records.ContainersOfOwner(ctx, d.name, d.record.OwnerID)
		if failed != nil {
			return nil, failed //nolint:wrapcheck // It says what was listed.
		}
		all = append(all, on.Containing(containers)...)
	}
	return all, nil
}

// findEngines of a cluster without objects, by its record. "Not found" on others says nothing: without force, one that is not
// reached is an error.
func (d *deletion) findEngines(ctx context.Context, s *session.Session) error {
	if d.record.EngineName == "" {
		return nil
	}
	for _, name := range append([]string{d.record.EngineName}, d.record.OtherEngines...) {
		on, err := s.OnNamed(ctx, client.ObjectKey{Namespace: management.Namespace, Name: name})
		silent := new(session.EngineError)
		switch {
		case errors.As(err, &silent):
			d.unreached = append(d.unreached, silent)
		case err != nil:
			return err
		default:
			d.reached = append(d.reached, on)
		}
	}
	if len(d.unreached) > 0 && !d.force {
		return &unreachedError{deletion: d, program: s.Program, planeLost: s.Client == nil}
	}
	return nil
}

// finished says what became of the cluster: done, unless some of its containers are kept.
func (d *deletion) finished(program, done string) string {
	if len(d.unreached) == 0 {
		return done
	}
	if len(d.reached) > 0 {
		done += ", except on some engines"
	} else {
		done = "record deleted"
	}
	return fmt.Sprintf("%s; what engine %s has of the cluster is kept: once it is connected again, delete that with \"%s gc --owner %s --yes\"",
		done, d.unreachedNames(), program, d.record.OwnerID)
}

func (d *deletion) unreachedNames() string {
	var names []string
	for _, one := range d.unreached {
		names = append(names, strconv.Quote(one.Name))
	}
	return strings.Join(names, " and ")
}

// unreachedError: a cluster without objects may have containers on engines of other hosts, which are not reached.
type unreachedError struct {
	deletion *deletion
	program  string
	// planeLost: the credentials of the engines were in the management plane.
	planeLost bool
}

// Error implements error.
func (e *unreachedError) Error() string {
	var causes []string
	for _, silent := range e.deletion.unreached {
		cause, remedy := silent.Err.Error(), silent.Remedy
		if e.planeLost {
			cause = "its credentials were in the management plane, which is gone"
			remedy = fmt.Sprintf("to delete its containers, start a management plane (\"%s plane up\"), add the engine again (\"%s engine add %s ENDPOINT\"), and repeat the command",
				e.program, e.program, silent.Name)
		}
		causes = append(causes, fmt.Sprintf("engine %q: %s\n  %s", silent.Name, cause, remedy))
	}
	return fmt.Sprintf("cluster %[1]q was not deleted: %[2]s\n"+
		"  if its host is gone too, delete the record of the cluster only: %[3]s down %[1]s --force\n"+
		"  should that host return, delete what is left there: %[3]s gc --owner %[4]s --yes",
		e.deletion.name, strings.Join(causes, "\n  "), e.program, e.deletion.record.OwnerID)
}

// Unwrap returns the cause.
func (e *unreachedError) Unwrap() error { return e.deletion.unreached[0] }

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
func checkProven(ctx context.Context, s *session.Session, one *deletion, containers int) error {
	if one.force {
		return nil
	}
	reason, err := s.KeptBecause(ctx, one.record)
	if err == nil && reason != "" {
		err = &unprovenError{name: one.name, program: s.Program, reason: reason, containers: containers}
	}
	return err
}

// removeOrphaned removes the containers of a cluster without objects, if it is proven that no
// other management cluster has it.
func removeOrphaned(ctx context.Context, s *session.Session, b *progress.Board, one *deletion, containers []session.Container) error {
	if len(containers) == 0 {
		return nil
	}
	if err := checkProven(ctx, s, one, len(containers)); err != nil {
		return err
	}
	for _, container := range containers {
		b.Waiting("cluster "+one.name, "its objects do not exist, removing container "+container.Name)
		if err := engine.Remove(ctx, container.On.Engine, container.Container); err != nil {
			return err //nolint:wrapcheck // It names the container.
		}
	}
	return nil
}
