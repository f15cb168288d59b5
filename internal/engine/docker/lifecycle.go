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
	"errors"
	"math"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// CreateContainer implements engine.ContainerWriter. The network is looked at
// first: Docker would notice only at start that it is absent, or that it has
// no such address.
func (e *Engine) CreateContainer(ctx context.Context, spec engine.Spec) (string, error) {
	if err := e.open(ctx); err != nil {
		return "", err
	}
	if err := adapter.CheckAttachment(ctx, e, spec.Attachment); err != nil {
		return "", engine.Failed("create", spec.Name, err)
	}
	created, err := e.client.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: spec.Name, Config: containerConfig(spec), HostConfig: hostConfig(spec),
		NetworkingConfig: networkingConfig(spec.Attachment),
	})
	if errdefs.IsConflict(err) {
		err = &engine.ConflictError{Resource: engine.ResourceName, Value: spec.Name, Err: err}
	}
	if err != nil && adapter.Says(err.Error(), "bind source path does not exist") {
		err = adapter.AbsentSource(err)
	}
	if err != nil {
		return "", engine.Failed("create", spec.Name, typed(err))
	}
	return created.ID, nil
}

// StartContainer implements engine.ContainerWriter.
func (e *Engine) StartContainer(ctx context.Context, name string) error {
	raw, err := e.inspect(ctx, name)
	if err != nil {
		return err
	}
	// An identifier differs with each attempt to create the container; its name does not.
	name = strings.TrimPrefix(raw.Name, "/")
	if conflict := e.takenIPv6(ctx, raw); conflict != nil {
		return engine.Failed("start", name, conflict)
	}
	if _, err := e.client.ContainerStart(ctx, raw.ID, client.ContainerStartOptions{}); err != nil {
		return e.explainStart(ctx, name, err)
	}
	return nil
}

// StopContainer implements engine.ContainerWriter. Docker counts the grace
// period in seconds: it is rounded up.
func (e *Engine) StopContainer(ctx context.Context, name string, grace time.Duration) error {
	id, err := e.container(ctx, name)
	if err != nil {
		return err
	}
	seconds := int(math.Ceil(max(grace, 0).Seconds()))
	if _, err := e.client.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: &seconds}); err != nil {
		return engine.Failed("stop", name, typed(err))
	}
	return nil
}

// UpdateResources implements engine.ContainerWriter. To Docker, too, zero means no change.
func (e *Engine) UpdateResources(ctx context.Context, name string, wanted engine.Resources) error {
	id, err := e.container(ctx, name)
	if err != nil {
		return err
	}
	wanted.OpenFiles = 0
	update := resources(wanted)
	if _, err := e.client.ContainerUpdate(ctx, id, client.ContainerUpdateOptions{Resources: &update}); err != nil {
		return engine.Failed("update", name, typed(err))
	}
	return nil
}

// RemoveContainer implements engine.ContainerWriter. A conflict is a removal
// that is under way already, whose end is waited for.
func (e *Engine) RemoveContainer(ctx context.Context, name string) error {
	id, err := e.container(ctx, name)
	if err != nil {
		return engine.IgnoreNotFound(err)
	}
	return adapter.Remove(ctx, name, func() (bool, error) {
		_, err := e.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		return errdefs.IsConflict(err), typed(err)
	})
}

// explainStart finds out why a container did not start.
func (e *Engine) explainStart(ctx context.Context, name string, cause error) error {
	fail := func(err error) error { return engine.Failed("start", name, err) }
	if errors.Is(typed(cause), engine.ErrUnavailable) || ctx.Err() != nil {
		return fail(typed(cause))
	}
	raw, err := e.inspect(ctx, name)
	if err != nil {
		return fail(errors.Join(err, cause))
	}
	if observed(raw).Status == engine.StatusRunning {
		return nil
	}
	if conflict := e.takenAddress(ctx, raw, cause); conflict != nil {
		return fail(conflict)
	}
	if saysNoStatic(cause) {
		return fail(engine.WithKind(cause, engine.ErrNoStaticAddresses))
	}
	if saysCDI(raw, cause) {
		return fail(engine.WithKind(adapter.UnknownDevice(cause, "Docker 25 or newer with CDI enabled"), engine.ErrInvalid))
	}
	conflict, err := e.takenPort(ctx, raw, cause)
	if err != nil {
		return fail(errors.Join(typed(cause), err))
	}
	if conflict != nil {
		return fail(conflict)
	}
	if errdefs.IsNotFound(cause) {
		// The container is there: what is absent is its network or a volume's
		// driver, and callers must not take it for the container.
		return fail(engine.WithKind(cause, engine.ErrConflict))
	}
	return fail(typed(cause))
}
