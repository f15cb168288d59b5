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

// Package backoff keeps what an engine has just refused, so that events do not cause
// the same request immediately.
//
// A container that does not start causes events: it joined its network and
// left it, or it was removed. These wake the controller that tried, which
// would retry immediately and indefinitely, faster than any back-off of its own.
// The record is in memory: after a restart the manager tries once more.
package backoff

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Memory of refusals, by object. It is safe for concurrent use.
type Memory struct {
	clock clock.PassiveClock

	mutex   sync.Mutex
	entries map[client.ObjectKey]entry
}

type entry struct {
	err error
	// generation of the object that was refused: another may be accepted.
	generation int64
	until      time.Time
}

// NewMemory returns a Memory in which nothing was refused.
func NewMemory(passive clock.PassiveClock) *Memory {
	return &Memory{clock: passive, entries: map[client.ObjectKey]entry{}}
}

// Repeats reports whether the engine would refuse the same again. It would not
// where it did not answer in time, where something was absent, and where a
// container ended in the middle of what was done to it.
func Repeats(err error) bool {
	var taken *engine.ConflictError
	var exit *engine.ExitError
	switch {
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, engine.ErrNotFound), errors.As(err, &exit),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return false
	case errors.Is(err, engine.ErrConflict):
		return errors.As(err, &taken)
	default:
		return true
	}
}

// Keep records an error about the object for some time, if it Repeats.
func (m *Memory) Keep(object client.Object, err error, duration time.Duration) {
	if !Repeats(err) {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	now := m.clock.Now()
	for key, old := range m.entries {
		// Objects that are gone ask no more.
		if !old.until.After(now) {
			delete(m.entries, key)
		}
	}
	m.entries[client.ObjectKeyFromObject(object)] = entry{err: err, generation: object.GetGeneration(), until: now.Add(duration)}
}

// Recall returns an error that was kept and for how long it still counts;
// nil where there is none, or the object has changed.
func (m *Memory) Recall(object client.Object) (time.Duration, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	kept, found := m.entries[client.ObjectKeyFromObject(object)]
	remaining := kept.until.Sub(m.clock.Now())
	if !found || remaining <= 0 || kept.generation != object.GetGeneration() {
		return 0, nil
	}
	return remaining, kept.err
}
