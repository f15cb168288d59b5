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

package simulated

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

type volume struct {
	engine.Volume
	anonymous bool
	files     tree
}

func (v *volume) observed() engine.Volume {
	return engine.Volume{Name: v.Name, Labels: maps.Clone(v.Labels), CreatedAt: v.CreatedAt}
}

// mounted is a file system in a container: of a volume, a path of the host,
// or its own memory.
type mounted struct {
	engine.Mount
	volume *volume
	files  tree
}

// mount makes what a mount needs. A new volume starts with what the image has
// at the target. Called with mu held.
func (e *Engine) mount(mount engine.Mount, c *container) *mounted {
	mount.Target = path.Clean(mount.Target)
	m := &mounted{Mount: mount}
	switch mount.Type {
	case engine.MountVolume:
		v, ok := e.volumes[mount.Source]
		if !ok {
			name := mount.Source
			if name == "" {
				name = e.newID()
			}
			v = &volume{Volume: engine.Volume{Name: name, CreatedAt: e.now()}, anonymous: mount.Source == "", files: newTree()}
			e.volumes[name] = v
		}
		if len(v.files) == 0 {
			maps.Copy(v.files, c.root.below(mount.Target))
		}
		m.volume, m.files = v, v.files
	case engine.MountBind:
		files, ok := e.hostPaths[mount.Source]
		if !ok {
			files = newTree()
			e.hostPaths[mount.Source] = files
		}
		m.files = files
	case engine.MountTmpfs:
		m.files = newTree()
	}
	return m
}

// InspectVolume implements engine.Volumes.
func (e *Engine) InspectVolume(ctx context.Context, name string) (engine.Volume, error) {
	return inspect(ctx, e, Call{Method: "InspectVolume", Name: name}, "volume", e.volumes)
}

// ListVolumes implements engine.Inventory.
func (e *Engine) ListVolumes(ctx context.Context, selector map[string]string) ([]engine.Volume, error) {
	return list(ctx, e, "ListVolumes", e.volumes, func(v engine.Volume) bool { return adapter.Carries(v.Labels, selector) })
}

// CreateVolume implements engine.Volumes.
func (e *Engine) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	return e.do(ctx, Call{Method: "CreateVolume", Name: name, Mutating: true}, func() error {
		if _, ok := e.volumes[name]; !ok {
			e.volumes[name] = &volume{Volume: engine.Volume{Name: name, Labels: maps.Clone(labels), CreatedAt: e.now()}, files: newTree()}
		}
		return nil
	})
}

// RemoveVolume implements engine.Volumes.
func (e *Engine) RemoveVolume(ctx context.Context, name string) error {
	return e.do(ctx, Call{Method: "RemoveVolume", Name: name, Mutating: true}, func() error {
		for _, c := range e.sorted() {
			for _, m := range c.mounts {
				if m.volume != nil && m.volume.Name == name {
					return conflict("container %q uses volume %q", c.spec.Name, name)
				}
			}
		}
		delete(e.volumes, name)
		return nil
	})
}

// VolumeNames returns the names of all volumes, anonymous ones included, in
// order.
func (e *Engine) VolumeNames() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.volumes))
}

// VolumesOf returns the names of the volumes a container has, anonymous ones
// included.
func (e *Engine) VolumesOf(containerName string) []string {
	var out []string
	_ = e.with(containerName, func(c *container) error {
		for _, m := range c.mounts {
			if m.volume != nil {
				out = append(out, m.volume.Name)
			}
		}
		return nil
	})
	return out
}
