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
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/inventory"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// deletion of one cluster.
type deletion struct {
	name   string
	record state.Cluster
	force  bool
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
		e.name, e.reason, plural(e.containers, "container"), e.name, e.program, e.name)
}

// removeOrphaned removes the containers of a cluster without objects, if it is proven that no
// other management cluster has it.
func (s *session) removeOrphaned(ctx context.Context, b *board, one *deletion, containers []engine.Container) error {
	if len(containers) == 0 {
		return nil
	}
	if !one.force {
		reason, err := s.keptBecause(ctx, one.record)
		if err != nil {
			return err
		}
		if reason != "" {
			return &unprovenError{name: one.name, program: s.Program, reason: reason, containers: len(containers)}
		}
	}
	for _, container := range containers {
		b.waiting("cluster "+one.name, "its objects do not exist, removing container "+container.Name)
		if err := s.engine.RemoveContainer(ctx, container.Name); err != nil {
			return fmt.Errorf("remove container %q: %w", container.Name, err)
		}
	}
	return nil
}

// keptBecause says why the containers of a recorded cluster without objects are kept; empty:
// the management plane that had it says that it was not moved.
func (s *session) keptBecause(ctx context.Context, record state.Cluster) (string, error) {
	if s.client == nil {
		return recordOf(record).KeptBecause(nil), nil
	}
	known, err := s.askThisPlane(ctx)
	if err != nil {
		return "", err
	}
	return recordOf(record).Update(known).KeptBecause([]string{s.planeID}), nil
}

func recordOf(saved state.Cluster) inventory.Record {
	return inventory.Record{OwnerID: saved.OwnerID, Plane: saved.Plane, Moved: saved.Moved}
}

// checkForgotten refuses to create a cluster while there are containers of an earlier one of
// that name without objects: its record would be lost with them.
func (s *session) checkForgotten(ctx context.Context, name string, present management.Present) error {
	if present.Exists || present.OwnerID != "" {
		return nil
	}
	record, _ := s.recorded(name)
	containers, err := s.containersOfOwner(ctx, name, record.OwnerID)
	if err != nil {
		return err
	}
	if len(containers) == 0 {
		return s.checkStorage(name, record)
	}
	reason, err := s.keptBecause(ctx, record)
	if err != nil {
		return err
	}
	return &forgottenError{name: name, program: s.Program, ownerID: record.OwnerID, reason: reason, containers: len(containers)}
}

// forgottenError: containers of an earlier cluster of that name have no objects.
type forgottenError struct {
	name, program, ownerID string
	// reason not to delete the containers; empty = none.
	reason     string
	containers int
}

// Error implements error.
func (e *forgottenError) Error() string {
	down := fmt.Sprintf("%s down %s", e.program, e.name)
	reason := ""
	if e.reason != "" {
		down += " --force"
		reason = "; " + e.reason
	}
	return fmt.Sprintf("cluster %q has %s (owner ID %s), but no objects in the management plane%s\n"+
		"  to delete the containers: %s\n"+
		"  to keep the cluster, restore its objects from a backup (docs/how-to/restore.md):\n"+
		"    %s plane up\n"+
		"    %s kubeconfig --management > management.kubeconfig\n"+
		"    clusterctl move --to-kubeconfig management.kubeconfig --from-directory BACKUP\n"+
		"  if another management cluster has it, and a new cluster of that name is wanted here: %s forget %s",
		e.name, plural(e.containers, "container"), e.ownerID, reason, down, e.program, e.program, e.program, e.name)
}
