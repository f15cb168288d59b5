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
)

// deleteCluster deletes one and waits until nothing is left of it.
func deleteCluster(ctx context.Context, s *session.Session, b *progress.Board, one *deletion) error {
	name, step := one.name, "cluster "+one.name
	b.Waiting(step, "deleting the Cluster")
	present, err := s.Read(ctx, name)
	if err != nil {
		return err
	}
	record, _ := s.Records.Get(name)
	if present.OwnerID != "" && present.OwnerID != record.OwnerID {
		if record, err = s.SaveOwner(ctx, name, present.OwnerID); err != nil { // for a second attempt
			return err
		}
	}
	if !present.Exists && record.OwnerID == "" {
		var missing *session.NotFoundError
		if err := s.NotFound(ctx, name); !errors.As(err, &missing) {
			return err
		}
		b.Finished(step, fmt.Sprintf("not found in %s, which has %s", missing.Where, missing.Present()))
		return nil
	}
	one.record = record
	if !present.Exists && present.OwnerID == "" {
		if err := checkLost(ctx, s, one); err != nil {
			return err
		}
	}
	err = s.RetryTransient(ctx, func() error { return management.Delete(ctx, s.Client, management.Namespace, name) })
	if err != nil {
		return err
	}
	if err := waitGone(ctx, s, b, one); err != nil {
		return err
	}
	b.Finished(step, "deleted")
	s.Records.ForgetOwner(name, record.OwnerID)
	return nil
}

// checkLost refuses to forget a cluster without objects whose containers another engine may
// have.
func checkLost(ctx context.Context, s *session.Session, one *deletion) error {
	if one.force {
		return nil
	}
	containers, err := s.Records.ContainersOfOwner(ctx, one.name, one.record.OwnerID)
	if err == nil && len(containers) == 0 {
		err = s.Records.CheckStorage(one.name, one.record)
	}
	return err
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
		b.Finished(session.StepPlane, fmt.Sprintf("kept, because it was started with \"%s plane up\"; remove it with \"%s plane down\"", s.Program, s.Program))
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
	kept, err := deleteEach(b, names, func(name string) error {
		return deleteContainers(ctx, s, b, &deletion{name: name, force: options.force})
	})
	if err != nil || options.keepPlane {
		return errors.Join(kept, err)
	}
	// What a removal that was interrupted left, such as the network.
	if _, err := s.RemoveUnused(ctx); err != nil {
		return errors.Join(kept, fmt.Errorf("remove the management plane: %w", err))
	}
	return kept
}

// deleteContainers of a cluster without a management plane.
func deleteContainers(ctx context.Context, s *session.Session, b *progress.Board, one *deletion) error {
	name := one.name
	record, _ := s.Records.Get(name)
	one.record = record
	containers, err := s.Records.ContainersOfOwner(ctx, name, record.OwnerID)
	if err != nil {
		return err
	}
	if len(containers) == 0 && !one.force {
		if err := s.Records.Elsewhere(ctx, name); err != nil {
			return err
		}
	}
	if err := removeOrphaned(ctx, s, b, one, containers); err != nil {
		return err
	}
	s.Records.ForgetOwner(name, record.OwnerID)
	detail := "not found: there is neither a management cluster nor a container of the cluster on " + s.Connected
	if len(containers) > 0 {
		detail = output.Plural(len(containers), "container") + " removed"
	}
	b.Finished("cluster "+name, detail)
	return nil
}
