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

// Package eventstream keeps the stream of an engine's events open.
package eventstream

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// LostAfter is how long there may be no stream until that is reported. The first
// attempts to open it again lie within: an engine that only dropped the
// connection has everything observed once, by the relist. A reconcile meanwhile uses
// what is a few seconds old for now.
const LostAfter = 2 * time.Second

// OpenTimeout bounds the question that comes before a stream is opened: an engine
// that accepts connections and answers none is tried again.
const OpenTimeout = 30 * time.Second

const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 10 * time.Second
)

// Stream opens one stream of events and reads it to its end, which it returns
// the reason of. It calls opened once, before the first event, when the engine
// has answered.
type Stream func(ctx context.Context, opened func(), handle func(engine.Event)) error

// Follow does what engine.EventSource promises, with one stream after the
// other, until ctx ends or the connection is closed. The reason why there is none is
// logged to the logger of ctx.
func Follow(ctx context.Context, closed func() bool, stream Stream, handle func(engine.Event)) {
	f := &follower{log: logr.FromContextOrDiscard(ctx), handle: handle}
	f.lost = time.AfterFunc(LostAfter, f.reportLost)
	defer f.end()
	for backoff := firstBackoff; ctx.Err() == nil && !closed(); backoff = min(2*backoff, lastBackoff) {
		err := stream(ctx, f.opened, f.deliver)
		if f.ended(ctx, err) {
			backoff = firstBackoff
		}
		// Jittered, so that several watchers do not return as one.
		_ = adapter.Wait(ctx, backoff/2+rand.N(backoff/2)) // its error ends the loop too
	}
}

// follower is what is known of the stream. Its mutex keeps two events from
// being handled concurrently.
type follower struct {
	log    logr.Logger
	lost   *time.Timer
	mu     sync.Mutex
	handle func(engine.Event)
	// open says that there is a stream, reported that its loss was reported.
	open, reported bool
	// failure is why there is none, as it was logged last.
	failure string
}

func (f *follower) deliver(event engine.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handle(event)
}

func (f *follower) opened() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open, f.reported = true, false
	if f.failure != "" {
		f.log.Info("Reconnected to the engine's event stream")
		f.failure = ""
	}
	f.handle(engine.Event{Kind: engine.EventRelist})
}

// ended takes note of the end of a stream, and reports whether it came about.
func (f *follower) ended(ctx context.Context, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	wasOpen := f.open
	f.open = false
	if wasOpen {
		f.lost.Reset(LostAfter)
	}
	if ctx.Err() == nil && err != nil && err.Error() != f.failure {
		f.log.Error(err, "Engine's event stream ended, reconnecting")
		f.failure = err.Error()
	}
	return wasOpen
}

// reportLost does so whatever an attempt to open the stream waits for.
func (f *follower) reportLost() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open || f.reported {
		return
	}
	f.reported = true
	f.handle(engine.Event{Kind: engine.EventLost})
}

// end reports nothing from here on.
func (f *follower) end() {
	f.lost.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reported = true
}
