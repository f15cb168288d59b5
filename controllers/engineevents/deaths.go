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

package engineevents

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// reportedFor is how long a container that the engine restarted is reported as
	// restarted: long enough for clients that poll once a second, and about what
	// systemd and kubelet need to come back.
	reportedFor = 3 * time.Second
	// unreportedTTL is how long an unobserved exit is kept. On an overloaded host a
	// reconcile comes many seconds later, and would otherwise report nothing.
	unreportedTTL = 30 * time.Second
)

// Deaths holds how containers exited of late. An engine that restarts a container
// forgets how it exited; only the event had it. Only messages depend on it: a
// controller that was restarted knows no deaths, and does the same things.
type Deaths struct {
	clock clock.PassiveClock

	mutex sync.Mutex
	// recent deaths by the container's ID.
	recent map[string]death
}

// death is an exit, and when it was heard of.
type death struct {
	engine.Exit
	// exited distinguishes it from a container of which one process was killed.
	exited bool
	// at is when the engine reported it; reported, when it was first asked for.
	at, reported time.Time
}

// NewDeaths returns a Deaths that knows of none.
func NewDeaths(passive clock.PassiveClock) *Deaths {
	return &Deaths{clock: passive, recent: map[string]death{}}
}

// Observe takes note of an event.
func (d *Deaths) Observe(event engine.Event) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	now := d.clock.Now()
	for id, known := range d.recent {
		if now.Sub(known.at) > unreportedTTL+reportedFor {
			delete(d.recent, id)
		}
	}
	switch event.Kind {
	case engine.EventOOM:
		// Several watchers report the same: a death that is known stays so.
		known := d.recent[event.ContainerID]
		known.OOMKilled, known.at = true, now
		d.recent[event.ContainerID] = known
	case engine.EventDie:
		// EventOOM comes first.
		d.recent[event.ContainerID] = death{
			Exit: engine.Exit{Code: event.ExitCode, OOMKilled: d.recent[event.ContainerID].OOMKilled}, exited: true, at: now,
		}
	}
}

// Recent returns how the container exited of late, and for how long that is to
// be reported of it although it runs: some seconds from when it is first asked.
func (d *Deaths) Recent(containerID string) (engine.Exit, time.Duration) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	known, now := d.recent[containerID], d.clock.Now()
	if !known.exited {
		return engine.Exit{}, 0
	}
	if known.reported.IsZero() && now.Sub(known.at) < unreportedTTL {
		known.reported = now
		d.recent[containerID] = known
	}
	if remaining := reportedFor - now.Sub(known.reported); remaining > 0 {
		return known.Exit, remaining
	}
	return engine.Exit{}, 0
}
