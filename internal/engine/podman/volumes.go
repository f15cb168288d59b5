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

package podman

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

type volumeAnswer struct {
	Name      string
	Labels    map[string]string
	CreatedAt time.Time
	Anonymous bool
	// NeedsCopyUp is true until a container that has the volume is first started:
	// Podman unsets it before it copies the image's content into the volume.
	NeedsCopyUp bool
}

func (a volumeAnswer) observed() engine.Volume {
	return engine.Volume{Name: a.Name, Labels: a.Labels, CreatedAt: a.CreatedAt}
}

type volumeBody struct {
	Name   string            `json:"Name"`
	Labels map[string]string `json:"Labels,omitempty"`
}

func volumePath(name string) string { return "/volumes/" + url.PathEscape(name) }

// InspectVolume implements engine.Volumes.
func (e *Engine) InspectVolume(ctx context.Context, name string) (engine.Volume, error) {
	fail := func(err error) (engine.Volume, error) {
		return engine.Volume{}, fmt.Errorf("inspect volume %q: %w", name, err)
	}
	if name == "" {
		return fail(fmt.Errorf("no name: %w", engine.ErrInvalid))
	}
	answer, err := e.volume(ctx, name)
	if err != nil {
		return fail(err)
	}
	return answer.observed(), nil
}

func (e *Engine) volume(ctx context.Context, name string) (volumeAnswer, error) {
	var answer volumeAnswer
	if err := e.call(ctx, get(volumePath(name)+"/json"), &answer); err != nil {
		return volumeAnswer{}, err
	}
	if answer.Name != name {
		return volumeAnswer{}, engine.ErrNotFound
	}
	return answer, nil
}

// startInterrupted says that a container that was never started has a volume of its
// own that Podman has started to fill.
func (e *Engine) startInterrupted(ctx context.Context, raw define.InspectContainerData) (bool, error) {
	for _, mount := range raw.Mounts {
		if mount.Type != define.TypeVolume {
			continue
		}
		answer, err := e.volume(ctx, mount.Name)
		if err != nil {
			return false, fmt.Errorf("inspect volume %q: %w", mount.Name, err)
		}
		if answer.Anonymous && !answer.NeedsCopyUp {
			return true, nil
		}
	}
	return false, nil
}

// ListVolumes implements engine.Inventory.
func (e *Engine) ListVolumes(ctx context.Context, selector map[string]string) ([]engine.Volume, error) {
	var answer []volumeAnswer
	if err := e.call(ctx, get("/volumes/json").filtered(labelFilter(selector)), &answer); err != nil {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	answer = slices.DeleteFunc(answer, func(v volumeAnswer) bool { return !adapter.Carries(v.Labels, selector) })
	return adapter.List(answer, volumeAnswer.observed, func(v engine.Volume) string { return v.Name }), nil
}

// CreateVolume implements engine.Volumes.
func (e *Engine) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	if name == "" {
		// Podman would make up a name.
		return fmt.Errorf("create volume without a name: %w", engine.ErrInvalid)
	}
	create := post("/volumes/create").sending(volumeBody{Name: name, Labels: labels})
	if err := e.call(ctx, create, nil); err != nil && !isCause(err, define.ErrVolumeExists) {
		return fmt.Errorf("create volume %q: %w", name, err)
	}
	return nil
}

// RemoveVolume implements engine.Volumes. The volume is looked at first: where
// none has the name, Podman removes the one whose name begins with it.
func (e *Engine) RemoveVolume(ctx context.Context, name string) error {
	if _, err := e.InspectVolume(ctx, name); err != nil {
		return engine.IgnoreNotFound(err)
	}
	err := e.call(ctx, remove(volumePath(name)), nil)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("remove volume %q: %w", name, err)
	}
	return nil
}
