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
	// oomBefore is the longest time between an OOM kill and the exit that it causes.
	oomBefore = 10 * time.Second
	// loopExits of a container, one after the other, are a crash loop.
	loopExits = 5
	// loopGap is the longest time between two exits of one crash loop: Docker's restart
	// policy waits for up to a minute.
	loopGap = 90 * time.Second
	// loopReportedFor is how long a container in a crash loop is reported although it
	// runs: it is likely to exit again.
	loopReportedFor = 20 * time.Second
)

// Exits holds how containers exited recently. An engine that restarts a container
// forgets how it exited; only the event had it. Only messages depend on it: a
// controller that was restarted knows none, and does the same things.
type Exits struct {
	clock clock.PassiveClock

	mutex sync.Mutex
	// recent exits by the container's ID.
	recent map[string]record
}

// record is an exit, and when it was heard of.
type record struct {
	engine.Exit
	// exited distinguishes it from a container of which one process was killed.
	exited bool
	// at is when the engine reported it; reported, when Recent first returned it.
	at, reported time.Time
	// event is when it exited by the engine's clock; oom, when a process was OOMKilled.
	event, oom time.Time
	// count of exits since the last time it ran for longer than loopGap.
	count int
}

func (d record) loops(now time.Time) bool { return d.count >= loopExits && now.Sub(d.at) < loopGap }

// NewExits returns Exits without any.
func NewExits(passive clock.PassiveClock) *Exits {
	return &Exits{clock: passive, recent: map[string]record{}}
}

// Observe takes note of an event.
func (d *Exits) Observe(event engine.Event) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	now := d.clock.Now()
	for id, known := range d.recent {
		if now.Sub(known.at) > loopGap {
			delete(d.recent, id)
		}
	}
	switch event.Kind {
	case engine.EventOOM:
		// Several watchers report the same: what is recorded stays.
		known := d.recent[event.ContainerID]
		known.OOMKilled, known.oom, known.at = true, event.Time, now
		d.recent[event.ContainerID] = known
	case engine.EventDie:
		// EventOOM comes first.
		before := d.recent[event.ContainerID]
		if before.exited && before.event.Equal(event.Time) {
			return
		}
		oom := before.OOMKilled && event.Time.Sub(before.oom) < oomBefore
		d.recent[event.ContainerID] = record{
			Exit: engine.Exit{Code: event.ExitCode, OOMKilled: oom}, exited: true,
			at: now, event: event.Time, oom: before.oom, count: before.count + 1,
		}
	}
}

// Recent returns how the container exited recently, and for how long that is to
// be reported of it although it runs: some seconds from the first call.
func (d *Exits) Recent(containerID string) (engine.Exit, time.Duration) {
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
	limit := reportedFor
	if known.loops(now) {
		limit = loopReportedFor
	}
	if remaining := limit - now.Sub(known.reported); remaining > 0 {
		return known.Exit, remaining
	}
	return engine.Exit{}, 0
}

// IsCrashLooping reports whether the container has exited repeatedly within a short time.
func (d *Exits) IsCrashLooping(containerID string) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.recent[containerID].loops(d.clock.Now())
}
