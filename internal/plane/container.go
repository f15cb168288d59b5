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

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// verify creates the new container under another name and removes it: what the engine
// rejects, such as a socket that is not on its host, must not cost the container that runs.
func (a *attempt) verify(ctx context.Context, spec engine.Spec) error {
	if err := a.removeVerified(ctx); err != nil {
		return err
	}
	spec.Name = a.verifiedName()
	_, err := a.engine.CreateContainer(ctx, spec)
	switch {
	case err == nil:
		return a.removeVerified(ctx)
	case engine.IsTaken(err, engine.ResourceName), errors.Is(err, engine.ErrNotFound):
		return nil // by another process that verifies too; or the network is gone, as create finds out
	}
	return fmt.Errorf("verify the new container of the management plane: %w; the running one was not changed", err)
}

// verifiedName is that of the container of verify, which a crash may leave.
func (p *Plane) verifiedName() string { return p.opts.Name + "-verify" }

func (p *Plane) removeVerified(ctx context.Context) error {
	container, err := p.inspectNamed(ctx, p.verifiedName())
	if err != nil {
		return engine.IgnoreNotFound(err)
	}
	return engine.Remove(ctx, p.engine, container)
}

// create creates the container, on its network and for the volume of a plane
// that lost its own, or for a new one.
func (a *attempt) create(ctx context.Context) error {
	volume, created, err := a.ensureVolume(ctx)
	if err != nil {
		return err
	}
	if created {
		a.created = volume.Name
	}
	if err := a.checkMode(volume); err != nil {
		return err
	}
	port, _ := portOf(volume)
	spec, err := a.describe(volume, port, a.engineSocket(), settings{a.opts.FeatureGates, a.opts.AllowedEngines})
	if err != nil {
		return err
	}
	if _, err := network.Ensure(ctx, a.engine, network.Request{Name: a.opts.Network}); err != nil {
		return err
	}
	a.progress("creating container")
	_, err = a.engine.CreateContainer(ctx, spec)
	switch {
	case engine.IsTaken(err, engine.ResourceName):
		return a.yield(ctx, volume.Name)
	case errors.Is(err, engine.ErrNotFound):
		return nil // another process has removed the network; the next observation finds out
	case err != nil:
		return engine.Failed("create", a.opts.Name, err)
	}
	return nil
}

// yield removes the volume that this call created needlessly: another process
// was faster and has a plane of another volume.
func (a *attempt) yield(ctx context.Context, volume string) error {
	container, err := a.inspect(ctx)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil || volume != a.created || volumeOf(container) == volume {
		return err
	}
	return a.removeVolume(ctx, volume)
}

// start starts the container; errChanged: now it is another one, or it is gone, or
// its network is, or its port was in use and another one is chosen.
func (a *attempt) start(ctx context.Context, container engine.Container, port uint16) error {
	err := a.engine.StartContainer(ctx, container.ID)
	switch {
	case err == nil:
		a.started = container.ID
		return errChanged
	case errors.Is(err, engine.ErrNotFound):
		return errChanged
	case engine.IsTaken(err, engine.ResourceHostPort) && volumeOf(container) == a.created && a.portsInUse < newPortTries:
		a.portsInUse++
		// The port was chosen on this host, which need not be the engine's. The plane has
		// never run: no kubeconfig has the port, and the volume of this call is empty.
		if err := a.discard(ctx, container.ID); err != nil {
			return err
		}
		return cmp.Or(a.removeVolume(ctx, a.created), errChanged)
	case engine.IsTaken(err, engine.ResourceHostPort):
		return &PortTakenError{Port: port, Err: err}
	case errors.Is(err, engine.ErrConflict):
		if _, missing := a.engine.InspectNetwork(ctx, a.opts.Network); errors.Is(missing, engine.ErrNotFound) {
			return cmp.Or(a.discard(ctx, container.ID), errChanged)
		}
	}
	return engine.Failed("start", a.opts.Name, err)
}

// discardWithVolume: another process removed the volume before there was a
// container that uses it, and the engine created an empty one without labels for
// the container. A container that ran has a volume of another origin.
func (a *attempt) discardWithVolume(ctx context.Context, container engine.Container) error {
	volume := volumeOf(container)
	if container.Status != engine.StatusCreated {
		return &ForeignError{Kind: "volume", Name: volume}
	}
	if err := a.discard(ctx, container.ID); err != nil {
		return err
	}
	return cmp.Or(a.removeVolume(ctx, volume), errChanged)
}

// discard stops the container in order and removes it; the volume stays. By ID:
// another process may have replaced it meanwhile.
func (p *Plane) discard(ctx context.Context, id string) error {
	if err := engine.IgnoreNotFound(p.engine.StopContainer(ctx, id, stopGrace)); err != nil {
		return engine.Failed("stop", p.opts.Name, err)
	}
	if err := p.engine.RemoveContainer(ctx, id); err != nil {
		return engine.Failed("remove", p.opts.Name, err)
	}
	return nil
}

// settings of the manager in a plane, which it keeps until others are requested.
type settings struct{ featureGates, allowedEngines string }

// describe returns the desired container.
func (a *attempt) describe(volume engine.Volume, port uint16, socket string, kept settings) (engine.Spec, error) {
	d := description{
		name: a.opts.Name, volume: volume.Name, inMemory: isInMemory(volume.Labels), image: a.image, network: a.opts.Network, port: port,
		engineName: a.info.Name, traits: a.info.Traits, engineSocket: socket, remapped: a.info.UserNamespaceRemap,
		featureGates: kept.featureGates, allowedEngines: kept.allowedEngines,
	}
	return d.spec()
}
