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

package dashboard

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

const (
	// interval between observations where nothing reports a change: the engine does not.
	interval = 2 * time.Second
	// pause is the least time between observations: a creation changes objects dozens of times a second.
	pause = 250 * time.Millisecond
)

// observer says what the page shows.
type observer interface {
	// observe returns a value for JSON, in which errors are a part.
	observe(ctx context.Context) any
	// changes gets a value when there is something to observe; nil = not known.
	changes() <-chan struct{}
}

// feed has the newest state of the page for all readers. It observes only while one waits.
type feed struct {
	// wanted is sent to by the feed, and received from by readers that wait.
	wanted chan struct{}

	mutex   sync.Mutex
	text    string
	version int
	// changed is closed by the next version.
	changed chan struct{}
}

func newFeed() *feed { return &feed{wanted: make(chan struct{}), changed: make(chan struct{})} }

// current text, with its version, 0 before the first, and a channel that is closed when there is a newer one.
func (f *feed) current() (text string, version int, changed <-chan struct{}) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.text, f.version, f.changed
}

// publish a text, unless it is the current one.
func (f *feed) publish(text string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if text == f.text {
		return
	}
	f.text, f.version = text, f.version+1
	close(f.changed)
	f.changed = make(chan struct{})
}

// run observes until ctx ends.
func (f *feed) run(ctx context.Context, clock session.Clock, source observer) {
	for {
		select {
		case <-ctx.Done():
			return
		case f.wanted <- struct{}{}:
		}
		text, err := json.Marshal(source.observe(ctx))
		if err == nil && ctx.Err() == nil { // The values have no channels or functions.
			f.publish(string(text))
		}
		if clock.PauseFor(ctx, pause, nil) == nil {
			_ = clock.PauseFor(ctx, interval-pause, source.changes())
		}
	}
}
