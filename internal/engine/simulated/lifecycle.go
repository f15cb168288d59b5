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
	"slices"
	"strconv"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// Exit codes as a shell counts them: 128 plus the signal.
const (
	killed     = 128 + 9
	terminated = 128 + 15
)

// StartContainer implements engine.ContainerWriter.
func (e *Engine) StartContainer(ctx context.Context, name string) error {
	call, err := e.begin(ctx, Call{Method: "StartContainer", Name: name, Mutating: true})
	if err != nil {
		return err
	}
	starts := false
	err = e.locked(func() error {
		c, err := e.find(name)
		if err != nil {
			return err
		}
		if c.status == engine.StatusPaused {
			return conflict("container %q is paused", name)
		}
		if c.running() {
			return nil
		}
		name = c.spec.Name
		starts = true
		return e.start(c)
	})
	if err != nil {
		return err
	}
	if starts {
		e.started(name)
	}
	return e.end(call)
}

// start takes addresses and ports, or changes nothing but the error it
// records. Called with mu held.
func (e *Engine) start(c *container) error {
	if err := e.startable(c); err != nil {
		c.startError = err.Error()
		return err
	}
	for name, at := range c.endpoints {
		at.addresses = e.networks[name].allocate(e, at.attachment.Addresses)
	}
	c.ports = e.publish(c.spec.Ports)
	c.clearMemory()
	c.status, c.startedAt, c.finishedAt = engine.StatusRunning, e.now(), time.Time{}
	c.startError, c.exitCode, c.oomKilled, c.stoppedByUser = "", 0, false, false
	for name := range c.endpoints {
		e.emit(c, engine.EventConnect, name)
	}
	e.emit(c, engine.EventStart, "")
	return nil
}

func (e *Engine) startable(c *container) error {
	for _, name := range c.spec.CDIDevices {
		if !e.cdiDevices[name] {
			return adapter.UnknownDevice(invalid("CDI device %q is not known", name), "an engine that has it")
		}
	}
	for name, at := range c.endpoints {
		n, ok := e.networks[name]
		if !ok {
			return conflict("network %q of container %q is gone", name, c.spec.Name)
		}
		if err := e.free(n, at.attachment.Addresses); err != nil {
			return err
		}
	}
	for _, want := range c.spec.Ports {
		if want.HostPort != 0 && e.portTaken(want) {
			return taken(engine.ResourceHostPort, strconv.Itoa(int(want.HostPort)))
		}
	}
	return nil
}

func (e *Engine) portTaken(want engine.PortBinding) bool {
	if want.Protocol == engine.ProtocolTCP && (e.hostPorts[want.HostPort] || e.portFree != nil && !e.portFree(want.HostPort)) {
		return true
	}
	for _, other := range e.containers {
		for _, have := range other.ports {
			if adapter.Collide(have, want) {
				return true
			}
		}
	}
	return false
}

func (e *Engine) publish(ports []engine.PortBinding) []engine.PortBinding {
	out := slices.Clone(ports)
	for i := range out {
		for out[i].HostPort == 0 {
			candidate := out[i]
			candidate.HostPort = e.nextPort
			e.nextPort = max(e.nextPort+1, firstDynamicPort)
			if !e.portTaken(candidate) {
				out[i] = candidate
			}
		}
	}
	return out
}

// StopContainer implements engine.ContainerWriter. The process ends immediately.
func (e *Engine) StopContainer(ctx context.Context, name string, _ time.Duration) error {
	return e.doTo(ctx, Call{Method: "StopContainer", Name: name, Mutating: true}, func(c *container) error {
		if c.running() {
			c.stoppedByUser = true
			e.ended(c, end{exitCode: terminated})
		}
		return nil
	})
}

// UpdateResources implements engine.ContainerWriter.
func (e *Engine) UpdateResources(ctx context.Context, name string, wanted engine.Resources) error {
	return e.doTo(ctx, Call{Method: "UpdateResources", Name: name, Mutating: true}, func(c *container) error {
		bounds := &c.spec.Resources
		bounds.MemoryBytes = cmp.Or(wanted.MemoryBytes, bounds.MemoryBytes)
		bounds.MilliCPU = cmp.Or(wanted.MilliCPU, bounds.MilliCPU)
		bounds.Pids = cmp.Or(wanted.Pids, bounds.Pids)
		return nil
	})
}

// end is how a process ended.
type end struct {
	exitCode  int
	oomKilled bool
}

// ended gives back what a running container held. Called with mu held.
func (e *Engine) ended(c *container, how end) {
	c.status, c.exitCode, c.oomKilled, c.finishedAt = engine.StatusExited, how.exitCode, how.oomKilled, e.now()
	c.ports = nil
	if how.oomKilled {
		e.emit(c, engine.EventOOM, "")
	}
	e.emit(c, engine.EventDie, "")
	for name, at := range c.endpoints {
		at.addresses = nil
		e.emit(c, engine.EventDisconnect, name)
	}
	c.clearMemory()
}

// clearMemory empties what is mounted as tmpfs.
func (c *container) clearMemory() {
	for _, m := range c.mounts {
		if m.Type == engine.MountTmpfs {
			m.files = newTree()
		}
	}
}

// restarts reports whether the engine starts an ended container again.
func (c *container) restarts() bool {
	switch c.spec.Restart {
	case engine.RestartUnlessStopped, engine.RestartAlways:
		return !c.stoppedByUser && !c.startedAt.IsZero()
	default:
		return false
	}
}
