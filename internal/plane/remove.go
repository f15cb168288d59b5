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

package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Remove removes the plane's container and volume, with all objects in it, and
// its network if nothing else uses it, unless the plane has a Cluster: then it
// stays, and its Clusters are returned, "namespace/name". It succeeds if there is
// nothing.
//
// The plane decides that itself, once and for all, while nothing can be written
// to it (see package daemon). What is removed afterwards holds no Cluster and
// never will, so any process may finish what this call began, at any time: Ensure
// and the next Remove do. A container that does not run cannot decide:
// ErrNotReady.
func (p *Plane) Remove(ctx context.Context) (clusters []string, err error) {
	for range ensureTries {
		container, err := p.inspect(ctx)
		if errors.Is(err, engine.ErrNotFound) {
			_, err := network.Remove(ctx, p.engine, p.opts.Network)
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		clusters, err := p.removeOne(ctx, container)
		if err != nil || len(clusters) > 0 {
			return clusters, err
		}
	}
	return nil, errChanged
}

// removeOne removes the plane in the container, unless it has Clusters, which are
// returned. Another process removed or replaced the container: no error.
func (p *Plane) removeOne(ctx context.Context, container engine.Container) (clusters []string, err error) {
	retired, err := p.retired(ctx, container)
	if err != nil {
		return nil, err
	}
	if !retired {
		clusters, err := p.retire(ctx, container)
		if err != nil || len(clusters) > 0 {
			return clusters, engine.IgnoreNotFound(err)
		}
	}
	return nil, p.removeRetired(ctx, container)
}

// retire asks the plane in the container to retire. Container absent: ErrNotFound.
func (p *Plane) retire(ctx context.Context, container engine.Container) (clusters []string, err error) {
	output, err := p.engine.Exec(ctx, container.ID, engine.Command{Args: []string{program, "retire", "--state-dir=" + StateDir}})
	if errors.Is(err, engine.ErrConflict) {
		return nil, fmt.Errorf("%w: container is %s: %w", ErrNotReady, container.Status, err)
	}
	if err != nil {
		return nil, fmt.Errorf("retire the management plane: %w: %s", err, bytes.TrimSpace(output.Stderr))
	}
	var answer RetireAnswer
	if err := json.Unmarshal(output.Stdout, &answer); err != nil {
		return nil, fmt.Errorf("parse response of the management plane: %w", err)
	}
	return answer.Clusters, nil
}

// retired reports whether the plane in the container has retired. Container
// absent: false.
func (p *Plane) retired(ctx context.Context, container engine.Container) (bool, error) {
	if container.Status == engine.StatusCreated {
		return false, nil // nothing can be read before the first start
	}
	mark, err := p.engine.Download(ctx, container.ID, path.Join(StateDir, RetiredFile))
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check whether the management plane is retired: %w", err)
	}
	if err := mark.Close(); err != nil {
		return false, fmt.Errorf("check whether the management plane is retired: %w", err)
	}
	return true, nil
}

// removeRetired removes container and volume of a plane that is retired.
func (p *Plane) removeRetired(ctx context.Context, container engine.Container) error {
	// Killed, not stopped: nothing runs in it.
	if err := engine.Remove(ctx, p.engine, container); err != nil {
		return err
	}
	if err := p.removeVerified(ctx); err != nil {
		return err
	}
	return p.removeVolume(ctx, volumeOf(container))
}
