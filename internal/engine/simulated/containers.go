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
	"cmp"
	"context"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// container is what the engine knows of a container.
type container struct {
	id      string
	spec    engine.Spec
	imageID string

	status                           engine.Status
	exitCode                         int
	oomKilled                        bool
	startError                       string
	createdAt, startedAt, finishedAt time.Time
	// stoppedByUser keeps the restart policy from starting it again.
	stoppedByUser bool

	root      tree
	mounts    []*mounted
	endpoints map[string]*endpoint
	ports     []engine.PortBinding
}

// endpoint is a container's place on a network. The addresses are those it
// has now; none while it does not run.
type endpoint struct {
	attachment engine.Attachment
	addresses  []netip.Addr
}

func (c *container) running() bool { return runs(c.status) }

func runs(status engine.Status) bool {
	return status == engine.StatusRunning || status == engine.StatusPaused
}

// find looks a container up by name or ID. Called with mu held.
func (e *Engine) find(name string) (*container, error) {
	if c, ok := e.containers[name]; ok {
		return c, nil
	}
	for _, c := range e.containers {
		if c.id == name {
			return c, nil
		}
	}
	return nil, absent("container", name)
}

// sorted returns the containers by name. Called with mu held.
func (e *Engine) sorted() []*container {
	return slices.SortedFunc(maps.Values(e.containers), func(a, b *container) int {
		return cmp.Compare(a.spec.Name, b.spec.Name)
	})
}

// InspectContainer implements engine.ContainerReader.
func (e *Engine) InspectContainer(ctx context.Context, name string) (engine.Container, error) {
	var out engine.Container
	err := e.doTo(ctx, Call{Method: "InspectContainer", Name: name}, func(c *container) error {
		out = c.observed()
		return nil
	})
	return out, err
}

// ListContainers implements engine.ContainerReader. It fills only what is
// documented as listed, so that callers do not come to rely on more.
func (e *Engine) ListContainers(ctx context.Context, selector map[string]string) ([]engine.Container, error) {
	out, err := list(ctx, e, "ListContainers", e.containers, func(c engine.Container) bool { return adapter.Carries(c.Labels, selector) })
	for i, full := range out {
		out[i] = engine.Container{
			ID: full.ID, Name: full.Name, Labels: full.Labels, Image: full.Image, ImageID: full.ImageID,
			Status: full.Status, CreatedAt: full.CreatedAt, Networks: map[string]engine.Endpoint{},
		}
		for name := range full.Networks {
			if runs(full.Status) {
				out[i].Networks[name] = engine.Endpoint{}
			}
		}
	}
	return out, err
}

func (c *container) observed() engine.Container {
	out := engine.Container{
		ID: c.id, Name: c.spec.Name, Labels: maps.Clone(c.spec.Labels),
		Image: c.spec.Image, ImageID: c.imageID,
		Status: c.status, OOMKilled: c.oomKilled, Error: c.startError,
		CreatedAt: c.createdAt, StartedAt: c.startedAt, FinishedAt: c.finishedAt,
		Networks: map[string]engine.Endpoint{}, Ports: slices.Clone(c.ports),
		Restart: cmp.Or(c.spec.Restart, engine.RestartNever),
	}
	if c.status == engine.StatusExited {
		out.ExitCode = c.exitCode
	}
	for name, at := range c.endpoints {
		out.Networks[name] = engine.Endpoint{Addresses: slices.Clone(at.addresses)}
	}
	return out
}

// CreateContainer implements engine.ContainerWriter.
func (e *Engine) CreateContainer(ctx context.Context, spec engine.Spec) (string, error) {
	var id string
	err := e.do(ctx, Call{Method: "CreateContainer", Name: spec.Name, Mutating: true}, func() (err error) {
		id, err = e.create(spec)
		return err
	})
	return id, err
}

// create is called with mu held.
func (e *Engine) create(spec engine.Spec) (id string, err error) {
	if err := validate(spec); err != nil {
		return "", err
	}
	if _, ok := e.containers[spec.Name]; ok {
		return "", taken(engine.ResourceName, spec.Name)
	}
	for _, mount := range spec.Mounts {
		if mount.Type == engine.MountBind && e.missingPaths[mount.Source] {
			return "", adapter.AbsentSource(invalid("bind source %q does not exist", mount.Source))
		}
	}
	img, err := e.findImage(spec.Image)
	if err != nil {
		return "", err
	}
	c := &container{
		id: e.newID(), spec: clone(spec), imageID: img.ID,
		status: engine.StatusCreated, createdAt: e.now(),
		root: img.files.copy(), endpoints: map[string]*endpoint{},
	}
	if name := spec.Attachment.Network; name != "" {
		n, ok := e.networks[name]
		if !ok {
			return "", absent("network", name)
		}
		if err := adapter.Permits(n.subnets, spec.Attachment.Addresses); err != nil {
			return "", err
		}
		c.endpoints[name] = &endpoint{attachment: c.spec.Attachment}
	}
	for _, mount := range spec.Mounts {
		c.mounts = append(c.mounts, e.mount(mount, c))
	}
	e.containers[spec.Name] = c
	return c.id, nil
}

func validate(spec engine.Spec) error {
	if spec.Name == "" || strings.ContainsAny(spec.Name, "/ \t\n") {
		return invalid("container name %q", spec.Name)
	}
	if spec.Image == "" {
		return invalid("container %q names no image", spec.Name)
	}
	for _, mount := range spec.Mounts {
		if !path.IsAbs(mount.Target) {
			return invalid("mount target %q is not absolute", mount.Target)
		}
		if mount.Type == engine.MountBind && !path.IsAbs(mount.Source) {
			return invalid("bind source %q is not absolute", mount.Source)
		}
	}
	return nil
}

// clone keeps the caller's maps and slices apart from the engine's.
func clone(spec engine.Spec) engine.Spec {
	spec.Entrypoint, spec.Command = slices.Clone(spec.Entrypoint), slices.Clone(spec.Command)
	spec.Environment, spec.Labels = maps.Clone(spec.Environment), maps.Clone(spec.Labels)
	spec.Attachment.Addresses = slices.Clone(spec.Attachment.Addresses)
	spec.Ports, spec.Mounts = slices.Clone(spec.Ports), slices.Clone(spec.Mounts)
	spec.CDIDevices = slices.Clone(spec.CDIDevices)
	spec.Security.AddCapabilities = slices.Clone(spec.Security.AddCapabilities)
	return spec
}

// RemoveContainer implements engine.ContainerWriter.
func (e *Engine) RemoveContainer(ctx context.Context, name string) error {
	return e.do(ctx, Call{Method: "RemoveContainer", Name: name, Mutating: true}, func() error {
		c, err := e.find(name)
		if err != nil {
			return engine.IgnoreNotFound(err)
		}
		if c.running() {
			e.ended(c, end{exitCode: killed})
		}
		delete(e.containers, c.spec.Name)
		for _, m := range c.mounts {
			if m.volume != nil && m.volume.anonymous {
				delete(e.volumes, m.volume.Name)
			}
		}
		e.emit(c, engine.EventDestroy, "")
		return nil
	})
}

// Spec returns what the container was created from.
func (e *Engine) Spec(name string) (engine.Spec, bool) {
	var spec engine.Spec
	err := e.with(name, func(c *container) error {
		spec = clone(c.spec)
		return nil
	})
	return spec, err == nil
}
