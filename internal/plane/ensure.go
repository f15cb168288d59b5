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
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

const (
	// adminKubeconfig is the daemon's, below stateDir.
	adminKubeconfig = "admin.kubeconfig"
	// stopGrace covers the graces of the processes inside.
	stopGrace = 50 * time.Second
	// ensureTries bounds how often another process may be faster.
	ensureTries = 5
	// startInterval lies between looks at a container that starts.
	startInterval = 100 * time.Millisecond
	// maxKubeconfigBytes bounds what is read from the container.
	maxKubeconfigBytes = 1 << 20
)

// Ensure makes sure that the plane runs from the image, which must be local,
// and is ready, and returns a kubeconfig that works on this host for the
// plane's life. A container of another image, or described otherwise, is
// replaced; the volume stays. It may be called again at any time, also after
// a call that was cut off anywhere, and by several processes at once.
//
// Host port in use: *PortTakenError. Something else has the plane's name:
// *ForeignError. Not ready in time: ErrNotReady.
func (p *Plane) Ensure(ctx context.Context, image string, progress func(string)) ([]byte, error) {
	if progress == nil {
		progress = func(string) {}
	}
	for try := 1; ; try++ {
		err := p.ensureContainer(ctx, image, progress)
		if err == nil {
			break
		}
		if !engine.IsTaken(err, engine.ResourceName) || try == ensureTries {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, p.opts.ReadyTimeout)
	defer cancel()
	progress("waiting for its container")
	kubeconfig, err := p.awaitKubeconfig(ctx)
	if err != nil {
		return nil, err
	}
	err = p.ready(ctx, kubeconfig, func(err error) { progress(stage(err)) })
	if err != nil {
		return nil, p.notReady(ctx, err)
	}
	return kubeconfig, nil
}

// ensureContainer makes sure that the container that is wanted was started.
func (p *Plane) ensureContainer(ctx context.Context, reference string, progress func(string)) error {
	image, err := p.engine.InspectImage(ctx, reference)
	if err != nil {
		return fmt.Errorf("find image %q of the management plane: %w", reference, err)
	}
	spec, err := p.describe(ctx, reference)
	if err != nil {
		return err
	}
	container, err := p.inspect(ctx)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return p.create(ctx, spec, progress)
	case err != nil:
		return err
	case container.Status == engine.StatusPaused:
		return ErrPaused
	case container.ImageID != image.ID || container.Labels[labelSpec] != spec.Labels[labelSpec]:
		progress("replacing its container")
		if err := p.discard(ctx, container.ID); err != nil {
			return err
		}
		return p.create(ctx, spec, progress)
	case container.Status == engine.StatusRunning:
		return nil
	default:
		return p.start(ctx, spec)
	}
}

// create creates the container on its network, and starts it.
func (p *Plane) create(ctx context.Context, spec engine.Spec, progress func(string)) error {
	if _, err := network.Ensure(ctx, p.engine, network.Request{Name: p.opts.Network}); err != nil {
		return err
	}
	progress("creating its container")
	if _, err := p.engine.CreateContainer(ctx, spec); err != nil {
		return fmt.Errorf("create container %q: %w", p.opts.Name, err)
	}
	return p.start(ctx, spec)
}

func (p *Plane) start(ctx context.Context, spec engine.Spec) error {
	err := p.engine.StartContainer(ctx, p.opts.Name)
	if engine.IsTaken(err, engine.ResourceHostPort) {
		return &PortTakenError{Port: spec.Ports[0].HostPort, Err: err}
	}
	if err != nil {
		return fmt.Errorf("start container %q: %w", p.opts.Name, err)
	}
	return nil
}

// discard stops the container in order and removes it; the volume stays. By ID:
// another process may have replaced it meanwhile.
func (p *Plane) discard(ctx context.Context, id string) error {
	if err := engine.IgnoreNotFound(p.engine.StopContainer(ctx, id, stopGrace)); err != nil {
		return fmt.Errorf("stop container %q: %w", p.opts.Name, err)
	}
	if err := p.engine.RemoveContainer(ctx, id); err != nil {
		return fmt.Errorf("remove container %q: %w", p.opts.Name, err)
	}
	return nil
}

// describe says what the container shall be, and makes sure of the volume
// first: it remembers the port, so that a call cut off here chooses no other.
func (p *Plane) describe(ctx context.Context, image string) (engine.Spec, error) {
	info, err := p.engine.Info(ctx)
	if err != nil {
		return engine.Spec{}, fmt.Errorf("ask the container engine about itself: %w", err)
	}
	port, err := p.ensurePort(ctx)
	if err != nil {
		return engine.Spec{}, err
	}
	d := description{
		name: p.opts.Name, image: image, network: p.opts.Network, port: port,
		engineName: "docker", engineSocket: p.opts.EngineSocket, managerArgs: p.opts.ManagerArgs,
	}
	if info.Name == "podman" {
		d.engineName = info.Name
	}
	if d.engineSocket == "" {
		d.engineSocket = socketOf(info)
	}
	return d.spec()
}

// ensurePort returns the port that the volume records, and makes a volume that
// records a free one if there is none.
func (p *Plane) ensurePort(ctx context.Context) (uint16, error) {
	volume, err := p.engine.InspectVolume(ctx, p.opts.Name)
	if errors.Is(err, engine.ErrNotFound) {
		port, chooseErr := p.choosePort(ctx)
		if chooseErr != nil {
			return 0, chooseErr
		}
		if err := p.engine.CreateVolume(ctx, p.opts.Name, volumeLabels(port)); err != nil {
			return 0, fmt.Errorf("create volume %q: %w", p.opts.Name, err)
		}
		// Read again: another process may have been faster.
		volume, err = p.engine.InspectVolume(ctx, p.opts.Name)
	}
	if err != nil {
		return 0, fmt.Errorf("inspect volume %q: %w", p.opts.Name, err)
	}
	return portOf(volume)
}

// awaitKubeconfig waits until the daemon has written the host's kubeconfig.
func (p *Plane) awaitKubeconfig(ctx context.Context) ([]byte, error) {
	ticker := time.NewTicker(startInterval)
	defer ticker.Stop()
	for {
		kubeconfig, err := p.downloadKubeconfig(ctx)
		if err == nil {
			return kubeconfig, nil
		}
		if !errors.Is(err, engine.ErrNotFound) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, p.notReady(ctx, err)
		case <-ticker.C:
		}
	}
}

// notReady adds to an error how the container fares.
func (p *Plane) notReady(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	// The caller's time is up; a look at the container takes none.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	container, inspectErr := p.inspect(ctx)
	if inspectErr != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrNotReady, err), inspectErr)
	}
	return fmt.Errorf("%w: container %q is %s (last exit code %d); its log says more: %w",
		ErrNotReady, p.opts.Name, container.Status, container.ExitCode, err)
}

// downloadKubeconfig reads the host's kubeconfig from the volume. Not written
// yet: ErrNotFound.
func (p *Plane) downloadKubeconfig(ctx context.Context) (kubeconfig []byte, err error) {
	archive, err := p.engine.Download(ctx, p.opts.Name, path.Join(stateDir, adminKubeconfig))
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the management plane: %w", err)
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	reader := tar.NewReader(archive)
	if _, err := reader.Next(); err != nil {
		return nil, fmt.Errorf("read kubeconfig of the management plane: %w", err)
	}
	kubeconfig, err = io.ReadAll(io.LimitReader(reader, maxKubeconfigBytes))
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the management plane: %w", err)
	}
	return kubeconfig, nil
}
