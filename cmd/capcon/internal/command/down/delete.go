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
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// prepare the deletion of a cluster of the management plane: whose containers it ends, or why it is
// refused. Nothing is deleted; nil = there is no such cluster.
func prepare(ctx context.Context, s *session.Session, b *progress.Board, name string, force bool) (*deletion, error) {
	present, err := s.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	record, _ := s.Records.Get(name)
	if present.OwnerID != "" && present.OwnerID != record.OwnerID {
		if record, err = s.SaveOwner(ctx, name, present.OwnerID); err != nil { // for a second attempt
			return nil, err
		}
	}
	if !present.Exists && record.OwnerID == "" {
		var missing *session.NotFoundError
		if err := s.NotFound(ctx, name); !errors.As(err, &missing) {
			return nil, err
		}
		b.Finished("cluster "+name, fmt.Sprintf("not found in %s, which has %s", missing.Where, missing.Present()))
		return nil, nil
	}
	one := &deletion{name: name, record: record, force: force}
	if present.Exists || present.OwnerID != "" {
		return one, nil
	}
	return one, checkLost(ctx, s, one)
}

// checkLost refuses to delete a cluster without objects whose containers another engine, or another
// management cluster, may have.
func checkLost(ctx context.Context, s *session.Session, one *deletion) error {
	if err := one.findEngines(ctx, s); err != nil || one.force {
		return err
	}
	containers, err := one.containers(ctx, s)
	if err != nil {
		return err
	}
	if len(containers) == 0 && len(one.reached) > 0 {
		return nil
	}
	if len(containers) == 0 {
		return s.Records.CheckStorage(one.name, one.record)
	}
	observed, err := management.Observe(ctx, s.Client, management.Namespace, one.name)
	if err != nil || !observed.Orphaned() {
		return err
	}
	return checkProven(ctx, s, one, len(containers))
}

// deleteCluster deletes one and waits until nothing is left of it.
func deleteCluster(ctx context.Context, s *session.Session, b *progress.Board, one *deletion) error {
	step := "cluster " + one.name
	b.Waiting(step, "deleting the Cluster")
	err := s.RetryTransient(ctx, func() error { return management.Delete(ctx, s.Client, management.Namespace, one.name) })
	if err != nil {
		return err
	}
	if err := waitGone(ctx, s, b, one); err != nil {
		return err
	}
	b.Finished(step, one.finished(s.Program, "deleted"))
	s.Records.ForgetOwner(one.name, one.record.OwnerID)
	return reportVolume(ctx, s, b, one)
}

// removePlane when no cluster is left that it is needed for. It is the plane that
// decides: other processes may be creating clusters.
func removePlane(ctx context.Context, s *session.Session, b *progress.Board, options options) error {
	if options.keepPlane {
		return nil
	}
	var kept bool
	err := s.RetryTransient(ctx, func() (err error) {
		kept, err = management.IsKept(ctx, s.Client)
		return err
	})
	if err != nil {
		return err
	}
	if kept {
		b.Finished(session.StepPlane, fmt.Sprintf("kept, because it was started with \"%[1]s plane up\" or \"%[1]s engine add\"; remove it with \"%[1]s plane down\"", s.Program))
		return nil
	}
	b.Waiting(session.StepPlane, "removing, unless other clusters use it")
	remaining, err := s.RemoveUnused(ctx)
	if err != nil {
		return fmt.Errorf("remove the management plane: %w", err)
	}
	if len(remaining) > 0 {
		b.Finished(session.StepPlane, "kept for clusters "+strings.Join(remaining, ", "))
		return nil
	}
	b.Finished(session.StepPlane, "removed")
	return nil
}

// downWithoutPlane removes what is left of clusters whose management plane is
// lost. Only what capcon has recorded is touched: others may have
// clusters of the same name on this engine.
func downWithoutPlane(ctx context.Context, s *session.Session, b *progress.Board, options options) error {
	names := options.names
	if options.all {
		names = s.Records.Names()
	}
	err := deleteAll(b, options, names,
		func(name string) (*deletion, error) { return prepareLost(ctx, s, b, name, options.force) },
		func(one *deletion) error { return deleteContainers(ctx, s, b, one) })
	if err != nil && !isKept(err) || options.keepPlane {
		return err
	}
	// What a removal that was interrupted left, such as the network.
	if _, removed := s.RemoveUnused(ctx); removed != nil {
		return errors.Join(err, fmt.Errorf("remove the management plane: %w", removed))
	}
	return err
}

// prepareLost is prepare without a management plane.
func prepareLost(ctx context.Context, s *session.Session, b *progress.Board, name string, force bool) (*deletion, error) { //nolint:revive // It is a flag of the command.
	record, _ := s.Records.Get(name)
	one := &deletion{name: name, record: record, force: force}
	if err := one.findEngines(ctx, s); err != nil {
		return nil, err
	}
	containers, err := s.Records.ContainersOfOwner(ctx, name, record.OwnerID)
	if err != nil {
		return nil, err
	}
	if len(containers) > 0 {
		return one, checkProven(ctx, s, one, len(containers))
	}
	if !force {
		if err := s.Records.Elsewhere(ctx, name); err != nil {
			return nil, err
		}
	}
	s.Records.ForgetOwner(name, record.OwnerID)
	b.Finished("cluster "+name, one.finished(s.Program, "not found: there is neither a management cluster nor a container of the cluster on "+s.Connected))
	return nil, nil
}

// deleteContainers of a cluster without a management plane.
func deleteContainers(ctx context.Context, s *session.Session, b *progress.Board, one *deletion) error {
	containers, err := one.containers(ctx, s)
	if err == nil {
		err = removeOrphaned(ctx, s, b, one, containers)
	}
	if err != nil {
		return err
	}
	s.Records.ForgetOwner(one.name, one.record.OwnerID)
	b.Finished("cluster "+one.name, output.Plural(len(containers), "container")+" removed")
	return reportVolume(ctx, s, b, one)
}

// reportVolume says that the volume of a deleted cluster is kept: it has PersistentVolumes whose reclaim policy is
// Retain, or which policy they have is not known without the objects of the cluster.
func reportVolume(ctx context.Context, s *session.Session, b *progress.Board, one *deletion) error {
	owner := identity.Owner{Namespace: management.Namespace, Cluster: one.name, ID: one.record.OwnerID}
	if owner.ID == "" {
		return nil
	}
	volume, err := s.Engine.InspectVolume(ctx, owner.Volume())
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look for the volume of cluster %q: %w", one.name, err)
	}
	b.Finished("volume of "+one.name, fmt.Sprintf("kept: %s, for PersistentVolumes that may have reclaim policy Retain; remove it with \"%s gc --owner %s --yes\"",
		volume.Name, s.Program, owner.ID))
	return nil
}
