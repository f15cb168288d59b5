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

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Info implements engine.Host.
func (e *Engine) Info(ctx context.Context) (engine.Info, error) {
	var out engine.Info
	err := e.do(ctx, Call{Method: "Info"}, func() error {
		out = e.info
		return nil
	})
	return out, err
}

// Close implements engine.Host.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return nil
}

// Observe returns what InspectContainer does, for what runs in containers: it is no call.
func (e *Engine) Observe(name string) (observed engine.Container, err error) {
	err = e.with(name, func(c *container) error {
		observed = c.observed()
		return nil
	})
	return observed, err
}

// Down makes the engine unreachable: calls answer engine.ErrUnavailable and
// events are lost, which subscribers learn without the delay of
// a real one. Containers stay as they are.
func (e *Engine) Down() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.down {
		e.down = true
		e.notify(engine.EventLost)
	}
}

// Up ends Down. Subscribers receive a relist.
func (e *Engine) Up() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		e.down = false
		e.notify(engine.EventRelist)
	}
}

// storage is what an engine stores.
type storage struct {
	containers map[string]*container
	networks   map[string]*network
	volumes    map[string]*volume
	images     []*image
}

// SwitchStorage has another engine answer: the one whose StorageID that is, with
// what it had when it answered last, at first nothing. Subscribers receive a relist.
func (e *Engine) SwitchStorage(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.others[e.info.StorageID] = storage{e.containers, e.networks, e.volumes, e.images}
	next, ok := e.others[id]
	if !ok {
		next = storage{map[string]*container{}, map[string]*network{}, map[string]*volume{}, nil}
	}
	e.containers, e.networks, e.volumes, e.images = next.containers, next.networks, next.volumes, next.images
	e.info.StorageID = id
	e.notify(engine.EventRelist)
}

// RelistEvents makes subscribers relist, as after a broken connection.
func (e *Engine) RelistEvents() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notify(engine.EventRelist)
}

// RestartEngine ends every container and then starts those again whose restart
// policy says so. The events between are lost, a relist follows.
func (e *Engine) RestartEngine() {
	e.mu.Lock()
	wasDown := e.down
	e.down = true
	for _, c := range e.sorted() {
		if c.running() {
			e.ended(c, end{exitCode: terminated})
		}
	}
	var names []string
	for _, c := range e.sorted() {
		again := c.restarts() || c.spec.Restart == engine.RestartAlways && !c.startedAt.IsZero()
		if again && e.start(c) == nil {
			names = append(names, c.spec.Name)
		}
	}
	e.down = wasDown
	if !e.down {
		e.notify(engine.EventRelist)
	}
	e.mu.Unlock()
	e.started(names...)
}

// KillContainer ends a running container as a user's kill through the
// engine's API does: no restart policy starts it again. oom says that the
// kernel did it because memory was used up.
func (e *Engine) KillContainer(name string, exitCode int, oom bool) error {
	return e.with(name, func(c *container) error {
		if !c.running() {
			return conflict("container %q is %s", name, c.status)
		}
		c.stoppedByUser = true
		e.ended(c, end{exitCode: exitCode, oomKilled: oom})
		return nil
	})
}

// CrashContainer ends a running container as its process' own end does: the
// restart policy applies immediately.
func (e *Engine) CrashContainer(name string, exitCode int, oom bool) error {
	var again []string
	err := e.with(name, func(c *container) error {
		if !c.running() {
			return conflict("container %q is %s", name, c.status)
		}
		e.ended(c, end{exitCode: exitCode, oomKilled: oom})
		if c.restarts() && e.start(c) == nil {
			again = append(again, c.spec.Name)
		}
		return nil
	})
	e.started(again...)
	return err
}

// Signal reports a signal that does not end a running container.
func (e *Engine) Signal(name string) error {
	return e.change(name, engine.StatusRunning, engine.StatusRunning, engine.EventKill)
}

// Pause freezes a running container.
func (e *Engine) Pause(name string) error {
	return e.change(name, engine.StatusRunning, engine.StatusPaused, engine.EventPause)
}

// Unpause ends Pause.
func (e *Engine) Unpause(name string) error {
	return e.change(name, engine.StatusPaused, engine.StatusRunning, engine.EventUnpause)
}

func (e *Engine) change(name string, from, to engine.Status, kind engine.EventKind) error {
	return e.with(name, func(c *container) error {
		if c.status != from {
			return conflict("container %q is %s", name, c.status)
		}
		c.status = to
		e.emit(c, kind, "")
		return nil
	})
}

// OccupyHostPort lets a process of the host take a port, or give it back.
func (e *Engine) OccupyHostPort(port uint16) { e.setHostPort(port, true) }

// ReleaseHostPort ends OccupyHostPort.
func (e *Engine) ReleaseHostPort(port uint16) { e.setHostPort(port, false) }

func (e *Engine) setHostPort(port uint16, inUse bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hostPorts[port] = inUse
}
