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

package docker

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/volume"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// InspectVolume implements engine.Volumes.
func (e *Engine) InspectVolume(ctx context.Context, name string) (engine.Volume, error) {
	if err := e.open(ctx); err != nil {
		return engine.Volume{}, err
	}
	raw, err := e.client.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
	if err != nil {
		return engine.Volume{}, fmt.Errorf("inspect volume %q: %w", name, typed(err))
	}
	return observedVolume(raw.Volume), nil
}

func observedVolume(raw volume.Volume) engine.Volume {
	return engine.Volume{Name: raw.Name, Labels: raw.Labels, CreatedAt: parseTime(raw.CreatedAt)}
}

// ListVolumes implements engine.Inventory.
func (e *Engine) ListVolumes(ctx context.Context, selector map[string]string) ([]engine.Volume, error) {
	if err := e.open(ctx); err != nil {
		return nil, err
	}
	raw, err := e.client.VolumeList(ctx, client.VolumeListOptions{Filters: labelFilter(selector)})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", typed(err))
	}
	return adapter.List(raw.Items, observedVolume, func(v engine.Volume) string { return v.Name }), nil
}

// CreateVolume implements engine.Volumes.
func (e *Engine) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	if err := e.open(ctx); err != nil {
		return err
	}
	if name == "" {
		return fmt.Errorf("create volume without a name: %w", engine.ErrInvalid)
	}
	if _, err := e.client.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name, Labels: labels}); err != nil {
		return fmt.Errorf("create volume %q: %w", name, typed(err))
	}
	return nil
}

// RemoveVolume implements engine.Volumes.
func (e *Engine) RemoveVolume(ctx context.Context, name string) error {
	if err := e.open(ctx); err != nil {
		return err
	}
	if _, err := e.client.VolumeRemove(ctx, name, client.VolumeRemoveOptions{}); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove volume %q: %w", name, typed(err))
	}
	return nil
}
