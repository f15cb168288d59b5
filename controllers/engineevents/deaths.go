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
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// settling is how long a container that the engine started again is
	// reported as restarted: long enough to be noticed by who looks once a
	// second, and about what systemd and kubelet need to come back.
	settling = 3 * time.Second
	// forgotten is when a death is not worth a report any more that nobody has
	// made. On a host that is overloaded a controller comes to it many seconds
	// later, and would otherwise report nothing.
	forgotten = 30 * time.Second
)

// Deaths holds how containers ended of late. An engine that starts a container
// again forgets how it ended; the event was the only one to tell. It serves
// messages alone: a process that begins anew knows of no deaths, and does the
// same things.
type Deaths struct {
	clock clock.PassiveClock

	mutex sync.Mutex
	// recent deaths by the container's ID.
	recent map[string]Death
}

// Death is how a container ended.
type Death struct {
	ExitCode int
	// OutOfMemory says that the kernel ended a process of the container for
	// want of memory.
	OutOfMemory bool
	// died tells it from a container of which one process ended.
	died bool
	// at is when the engine told it; reported, when it was first asked for.
	at, reported time.Time
}

// String tells how it ended, to follow the container's name.
func (d Death) String() string {
	text := fmt.Sprintf("ended with exit code %d", d.ExitCode)
	if d.OutOfMemory {
		text += " for want of memory"
	}
	return text
}

// NewDeaths returns a Deaths that knows of none.
func NewDeaths(passive clock.PassiveClock) *Deaths {
	return &Deaths{clock: passive, recent: map[string]Death{}}
}

// Observe takes note of an event.
func (d *Deaths) Observe(event engine.Event) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	now := d.clock.Now()
	for id, death := range d.recent {
		if now.Sub(death.at) > forgotten+settling {
			delete(d.recent, id)
		}
	}
	switch event.Kind {
	case engine.EventOOM:
		// Several watchers tell the same: a death that is known stays so.
		death := d.recent[event.ContainerID]
		death.OutOfMemory, death.at = true, now
		d.recent[event.ContainerID] = death
	case engine.EventDie:
		// The want of memory is told first.
		d.recent[event.ContainerID] = Death{
			ExitCode: event.ExitCode, OutOfMemory: d.recent[event.ContainerID].OutOfMemory, died: true, at: now,
		}
	}
}

// Recent returns how the container ended of late, and for how long that is to
// be reported of it although it runs: some seconds from when it is first asked.
func (d *Deaths) Recent(containerID string) (Death, time.Duration) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	death, now := d.recent[containerID], d.clock.Now()
	if !death.died {
		return Death{}, 0
	}
	if death.reported.IsZero() && now.Sub(death.at) < forgotten {
		death.reported = now
		d.recent[containerID] = death
	}
	if remaining := settling - now.Sub(death.reported); remaining > 0 {
		return death, remaining
	}
	return Death{}, 0
}
