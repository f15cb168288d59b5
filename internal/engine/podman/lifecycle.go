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
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"syscall"
	"time"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

type createdAnswer struct {
	ID string `json:"Id"`
}

// CreateContainer implements engine.ContainerWriter. The network is looked at
// first: Podman would notice only at start that it has no such address.
func (e *Engine) CreateContainer(ctx context.Context, spec engine.Spec) (string, error) {
	fail := func(err error) (string, error) { return "", engine.Failed("create", spec.Name, err) }
	if spec.Name == "" {
		// Podman would make up a name.
		return fail(fmt.Errorf("no name: %w", engine.ErrInvalid))
	}
	if err := adapter.CheckAttachment(ctx, e, spec.Attachment); err != nil {
		return fail(err)
	}
	body, err := containerOf(spec)
	if err != nil {
		return fail(err)
	}
	if body.Image, _, err = e.localImage(ctx, spec.Image); err != nil {
		return fail(err)
	}
	var created createdAnswer
	err = e.call(ctx, post("/containers/create").sending(body), &created)
	switch {
	case err == nil:
		return created.ID, nil
	case isCause(err, define.ErrCtrExists, errNameInUse):
		return fail(&engine.ConflictError{Resource: engine.ResourceName, Value: spec.Name, Err: err})
	case isCause(err, syscall.ENOENT):
		// The source of a bind mount.
		return fail(engine.WithKind(adapter.AbsentSource(err), engine.ErrInvalid))
	default:
		return fail(err)
	}
}

// StartContainer implements engine.ContainerWriter.
func (e *Engine) StartContainer(ctx context.Context, name string) error {
	fail := func(err error) error { return engine.Failed("start", name, err) }
	raw, err := e.inspect(ctx, name)
	if err != nil {
		return fail(err)
	}
	// An identifier differs with each attempt to create the container; its name does not.
	name = raw.Name
	if isUp(raw) {
		return nil
	}
	if err := e.checkReserved(ctx, raw); err != nil {
		return fail(err)
	}
	if err := e.call(ctx, post(containerPath(raw.ID)+"/start"), nil); err != nil {
		return e.explainStart(ctx, name, err)
	}
	return nil
}

// isUp reports whether a container runs and is not about to stop.
func isUp(raw define.InspectContainerData) bool {
	return raw.State != nil && raw.State.Status == "running"
}

// explainStart finds out why a container did not start.
func (e *Engine) explainStart(ctx context.Context, name string, cause error) error {
	fail := func(err error) error { return engine.Failed("start", name, err) }
	if errors.Is(cause, engine.ErrUnavailable) || ctx.Err() != nil {
		return fail(cause)
	}
	raw, err := e.inspect(ctx, name)
	if err != nil {
		return fail(errors.Join(err, cause))
	}
	if isUp(raw) {
		return nil
	}
	if errors.Is(cause, engine.ErrInvalid) {
		return fail(cause)
	}
	if adapter.Says(cause.Error(), "CDI device") {
		// Podman answers 500, and the cause that it returns is this text.
		return fail(engine.WithKind(adapter.UnknownDevice(cause, "Podman 4.1 or newer"), engine.ErrInvalid))
	}
	conflict, err := e.takenAddress(ctx, raw, cause)
	if conflict == nil && err == nil {
		conflict, err = e.takenPort(ctx, raw, cause)
	}
	switch {
	case err != nil:
		return fail(errors.Join(cause, err))
	case conflict != nil:
		return fail(conflict)
	case errors.Is(cause, engine.ErrNotFound):
		// The container is there: what is absent is its network, and callers
		// must not take it for the container.
		return fail(engine.WithKind(errors.New(cause.Error()), engine.ErrConflict))
	}
	return fail(cause)
}

// StopContainer implements engine.ContainerWriter. Podman counts the grace
// period in seconds: it is rounded up.
func (e *Engine) StopContainer(ctx context.Context, name string, grace time.Duration) error {
	id, err := e.container(ctx, name)
	if err != nil {
		return err
	}
	seconds := strconv.Itoa(int(math.Ceil(max(grace, 0).Seconds())))
	if err := e.call(ctx, post(containerPath(id)+"/stop").with("timeout", seconds), nil); err != nil {
		return engine.Failed("stop", name, err)
	}
	return nil
}

// UpdateResources implements engine.ContainerWriter.
func (e *Engine) UpdateResources(ctx context.Context, name string, wanted engine.Resources) error {
	id, err := e.container(ctx, name)
	if err != nil {
		return err
	}
	if err := e.call(ctx, post(containerPath(id)+"/update").sending(updateOf(wanted)), nil); err != nil {
		return engine.Failed("update", name, err)
	}
	return nil
}

// RemoveContainer implements engine.ContainerWriter. Podman answers with
// different errors while someone else removes the container: whether it is still
// there decides, and it is tried again.
func (e *Engine) RemoveContainer(ctx context.Context, name string) error {
	id, err := e.container(ctx, name)
	if err != nil {
		return engine.IgnoreNotFound(err)
	}
	// Without a timeout of 0 Podman would stop it gently first, for ten seconds.
	request := remove(containerPath(id)).with("force", "true").with("volumes", "true").with("timeout", "0")
	return adapter.Remove(ctx, name, func() (bool, error) {
		err := e.call(ctx, request, nil)
		if err == nil || errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrUnavailable) || ctx.Err() != nil {
			return false, err
		}
		if _, inspectErr := e.inspect(ctx, name); errors.Is(inspectErr, engine.ErrNotFound) {
			return false, nil
		}
		return true, err
	})
}

// always is the policy that survives a boot of the host everywhere:
// podman-restart.service of Podman 4.3 starts no container of another. While
// the host runs, Podman takes it as unless-stopped: what was stopped through
// its API stays stopped. After a boot that is started too.
const always = "always"

func restartPolicy(policy engine.RestartPolicy) string {
	if policy == engine.RestartUnlessStopped || policy == engine.RestartAlways {
		return always
	}
	return string(cmp.Or(policy, engine.RestartNever))
}

func observedRestartPolicy(policy string) engine.RestartPolicy {
	if policy == always {
		return engine.RestartUnlessStopped
	}
	return cmp.Or(engine.RestartPolicy(policy), engine.RestartNever)
}
