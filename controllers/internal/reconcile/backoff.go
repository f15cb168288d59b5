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

package reconcile

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Backoff keeps what an engine has just refused, by object, so that events do not cause the
// same request immediately. It is safe for concurrent use, and empty at first.
//
// A container that does not start causes events: it joined its network and
// left it, or it was removed. These wake the controller that tried, which
// would retry immediately and indefinitely, faster than any back-off of its own.
// The record is in memory: after a restart the manager tries once more.
type Backoff struct {
	mutex   sync.Mutex
	entries map[client.ObjectKey]refusal
}

type refusal struct {
	err error
	// generation of the object that was refused: another may be accepted.
	generation int64
	until      time.Time
}

// repeats reports whether the engine would refuse the same again. It would not
// where it did not answer in time, where something was absent, and where a
// container ended in the middle of what was done to it.
func repeats(err error) bool {
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

// Record keeps an error about the object for UserInterval, if it repeats.
func (b *Backoff) Record(now time.Time, object client.Object, err error) {
	if !repeats(err) {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.entries == nil {
		b.entries = map[client.ObjectKey]refusal{}
	}
	// Objects that are gone ask no more.
	maps.DeleteFunc(b.entries, func(_ client.ObjectKey, old refusal) bool { return !old.until.After(now) })
	b.entries[client.ObjectKeyFromObject(object)] = refusal{err: err, generation: object.GetGeneration(), until: now.Add(UserInterval)}
}

// Remaining returns an error that was recorded and for how long it still counts;
// nil where there is none, or the object has changed.
func (b *Backoff) Remaining(now time.Time, object client.Object) (time.Duration, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	recorded := b.entries[client.ObjectKeyFromObject(object)]
	remaining := recorded.until.Sub(now)
	if remaining <= 0 || recorded.generation != object.GetGeneration() {
		return 0, nil
	}
	return remaining, recorded.err
}
