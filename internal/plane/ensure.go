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
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// stopGrace covers the graces of the processes inside.
	stopGrace = 50 * time.Second
	// ensureTries bounds the observations of the plane in one call. A first Ensure takes
	// three, the removal of a retired plane one more; the others are for other
	// processes that are faster.
	ensureTries = 20
	// newPortTries is how often one call chooses another port for a new plane. Some 10,000 ports
	// are chosen from: where several in a row are in use, the cause is another one.
	newPortTries = 3
	// startInterval lies between looks at a container that starts.
	startInterval = 100 * time.Millisecond
	// watchInterval lies between looks whether a plane that is waited for is still
	// the one; each costs the engine two calls.
	watchInterval = time.Second
)

// Ready is a plane that answers.
type Ready struct {
	// ID is its State's.
	ID string
	// Created says that this call created it.
	Created bool
	// InMemory: its clusters are in memory, see Options.
	InMemory bool
	// Kubeconfig works on this host for the plane's life.
	Kubeconfig []byte
}

// errChanged means that another process has replaced the plane meanwhile:
// observe again.
var errChanged = errors.New("management plane is being replaced by another process; try again")

// Ensure makes sure that the plane runs from the image, which must be local, and
// is ready. A container of another image, or described otherwise, is replaced; the
// volume stays. A plane that is retired is removed, and another one created. It
// may be called again at any time, also after a call that was cut off anywhere,
// and by several processes concurrently, some of which remove the plane.
//
// Host port in use: *PortTakenError. Something else has the plane's name:
// *ForeignError. Clusters of another kind than requested: *ModeError. Not ready
// in time: ErrNotReady.
func (p *Plane) Ensure(ctx context.Context, image string, progress func(string)) (Ready, error) {
	if progress == nil {
		progress = func(string) {}
	}
	info, err := p.info(ctx)
	if err != nil {
		return Ready{}, err
	}
	attempt := &attempt{Plane: p, info: info, image: image, progress: progress}
	for try := 1; ; try++ {
		ready, err := attempt.ensure(ctx)
		if !errors.Is(err, errChanged) || try == ensureTries {
			return ready, err
		}
	}
}

func (p *Plane) info(ctx context.Context) (engine.Info, error) {
	if p.opts.Info.Name != "" {
		return p.opts.Info, nil
	}
	info, err := p.engine.Info(ctx)
	if err != nil {
		return engine.Info{}, fmt.Errorf("get engine info: %w", err)
	}
	return info, nil
}

// attempt is one call of Ensure.
type attempt struct {
	*Plane
	info     engine.Info
	image    string
	progress func(string)
	// created is the volume that this call created, started the ID of the container
	// that it started.
	created, started string
	// portsInUse counts the ports that were chosen and in use on the engine's host.
	portsInUse int
}

// ensure takes the plane as it is one step further, and waits for it where
// there is nothing left to do. errChanged: observe again.
func (a *attempt) ensure(ctx context.Context) (Ready, error) {
	image, err := a.engine.InspectImage(ctx, a.image)
	if err != nil {
		return Ready{}, fmt.Errorf("inspect image %q of the management plane: %w", a.image, err)
	}
	container, err := a.inspect(ctx)
	if errors.Is(err, engine.ErrNotFound) {
		return Ready{}, cmp.Or(a.create(ctx), errChanged)
	}
	if err != nil {
		return Ready{}, err
	}
	if err := a.ensureRunning(ctx, image, container); err != nil {
		return Ready{}, err
	}
	kubeconfig, err := a.await(ctx, container)
	if err != nil {
		return Ready{}, err
	}
	id := volumeOf(container)
	return Ready{ID: id, Created: id == a.created, InMemory: isInMemory(container.Labels), Kubeconfig: kubeconfig}, nil
}

// ensureRunning makes sure that the container has its desired configuration, and runs.
func (a *attempt) ensureRunning(ctx context.Context, image engine.Image, container engine.Container) error {
	retired, err := a.retired(ctx, container)
	if err != nil {
		return err
	}
	if retired {
		a.progress("removing the retired management plane")
		return cmp.Or(a.removeRetired(ctx, container), errChanged)
	}
	volume, err := a.engine.InspectVolume(ctx, volumeOf(container))
	if errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("%w: %w", errChanged, err) // in use it could not be removed: the container is gone too
	}
	if err != nil {
		return fmt.Errorf("inspect volume %q: %w", volumeOf(container), err)
	}
	port, ours := portOf(volume)
	if !ours {
		return a.discardWithVolume(ctx, container)
	}
	if err := a.checkMode(volume); err != nil {
		return err
	}
	spec, err := a.describe(volume, port, a.socketOf(container), settings{
		featureGates:   cmp.Or(a.opts.FeatureGates, container.Labels[labelFeatureGates]),
		allowedEngines: cmp.Or(a.opts.AllowedEngines, container.Labels[labelAllowedEngines]),
	})
	if err != nil {
		return err
	}
	switch {
	case container.Status == engine.StatusPaused:
		return ErrPaused
	case container.ImageID != image.ID || container.Labels[labelSpec] != spec.Labels[labelSpec]:
		if err := a.verify(ctx, spec); err != nil {
			return err
		}
		a.progress("replacing container")
		return cmp.Or(a.discard(ctx, container.ID), errChanged)
	case container.Status == engine.StatusRunning, container.ID == a.started:
		return nil // the engine restarts one that exits; await reports one that keeps exiting
	default:
		return a.start(ctx, container, port)
	}
}

// socketOf a container is the path of the engine's socket that it keeps. One socket has
// several paths, such as those below /run and /var/run: a plane that runs is not replaced
// because this endpoint is spelled differently.
func (a *attempt) socketOf(container engine.Container) string {
	socket := container.Labels[labelSocket]
	if socket == "" || a.opts.EngineSocket != "" || container.Status != engine.StatusRunning {
		return a.engineSocket()
	}
	return socket
}

// engineSocket is the path of the engine's socket, as the user or the endpoint has it.
func (a *attempt) engineSocket() string { return cmp.Or(a.opts.EngineSocket, EngineSocket(a.info)) }

// await waits until the plane in the container is ready, and returns its
// kubeconfig. Another process replaces or retires it meanwhile: errChanged.
func (a *attempt) await(ctx context.Context, container engine.Container) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, a.opts.ReadyTimeout)
	defer cancel()
	if a.check(ctx, a.opts.LastKubeconfig) == nil {
		return a.opts.LastKubeconfig, nil
	}
	waiting, changed := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		a.watch(waiting, container, changed)
	}()
	defer func() { changed(nil); <-watched }()

	a.progress("waiting for container")
	kubeconfig, err := a.awaitKubeconfig(waiting, container.ID)
	if err == nil {
		err = a.ready(waiting, kubeconfig, func(err error) { a.progress(stage(err)) })
	}
	switch {
	case err == nil:
		return kubeconfig, nil
	case errors.Is(context.Cause(waiting), errChanged):
		return nil, errChanged
	default:
		return nil, a.notReady(ctx, err)
	}
}

// watch reports to changed that the container is gone or its plane retired. An
// engine that does not answer is found out by those who wait.
func (p *Plane) watch(ctx context.Context, container engine.Container, changed context.CancelCauseFunc) {
	_ = wait.PollUntilContextCancel(ctx, watchInterval, false, func(ctx context.Context) (bool, error) {
		_, err := p.engine.InspectContainer(ctx, container.ID)
		gone := errors.Is(err, engine.ErrNotFound)
		retired, err := p.retired(ctx, container)
		if gone || err == nil && retired {
			changed(errChanged)
			return true, nil
		}
		return false, nil
	})
}

// notReady adds to an error how the container fares.
func (p *Plane) notReady(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	// The caller's time is up; inspecting the container takes none.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	container, inspectErr := p.inspect(ctx)
	if inspectErr != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrNotReady, err), inspectErr)
	}
	return fmt.Errorf("%w: container %q is %s (last exit code %d); see its log: %w",
		ErrNotReady, p.opts.Name, container.Status, container.ExitCode, err)
}
