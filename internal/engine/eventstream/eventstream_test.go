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

package eventstream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/eventstream"
)

// fake is an engine whose streams are as the test says.
type fake struct {
	mu     sync.Mutex
	answer answer
	// broken ends the stream that is open.
	broken chan error
}

// answer to who connects.
type answer struct {
	// refuses is why no stream can be opened; nil = it can.
	refuses error
	// events are sent as soon as it is open.
	events []engine.Event
	// hangs says that there is none at all.
	hangs bool
	// closed says that the connection was closed and must not be opened again.
	closed bool
}

func (f *fake) answers(with answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = with
}

func (f *fake) now() answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answer
}

func (f *fake) stream(ctx context.Context, opened func(), handle func(engine.Event)) error {
	now := f.now()
	if now.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if now.refuses != nil {
		return now.refuses
	}
	opened()
	for _, event := range now.events {
		handle(event)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-f.broken:
		return err
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	const long = time.Minute
	refused, reset := errors.New("connection refused"), errors.New("connection reset")
	breaks := func(f *fake, then answer) {
		f.answers(then)
		f.broken <- reset
	}
	pass := func(d time.Duration) {
		time.Sleep(d) // of the bubble's clock
		synctest.Wait()
	}
	const relist, lost = engine.EventRelist, engine.EventLost
	failed := func(err error) string {
		return fmt.Sprintf(`"msg"="Engine's event stream ended, reconnecting" "error"=%q`, err)
	}
	const again = `"level"=0 "msg"="Reconnected to the engine's event stream"`
	cases := map[string]struct {
		reason string
		starts answer
		// happens once the first attempt was made.
		happens func(f *fake)
		want    []engine.EventKind
		logged  []string
	}{
		"Open": {
			reason:  "A stream that stays needs no word.",
			happens: func(*fake) { pass(long) },
			want:    []engine.EventKind{relist},
		},
		"Events": {
			reason:  "What happens is handed on after the relist.",
			starts:  answer{events: []engine.Event{{Kind: engine.EventStart}}},
			happens: func(*fake) { pass(long) },
			want:    []engine.EventKind{relist, engine.EventStart},
		},
		"Broken": {
			reason: "One that is open again soon has everything observed once.",
			happens: func(f *fake) {
				breaks(f, answer{})
				pass(long)
			},
			want:   []engine.EventKind{relist, relist},
			logged: []string{failed(reset), again},
		},
		"Outage": {
			reason: "An outage is reported once, however long, and each reason for it.",
			happens: func(f *fake) {
				breaks(f, answer{refuses: refused})
				pass(long)
				f.answers(answer{refuses: errors.New("permission denied")})
				pass(long)
				f.answers(answer{})
				pass(long)
			},
			want:   []engine.EventKind{relist, lost, relist},
			logged: []string{failed(reset), failed(refused), failed(errors.New("permission denied")), again},
		},
		"ReportedInTime": {
			reason: "It is reported when it has lasted, not when the next attempt fails.",
			happens: func(f *fake) {
				breaks(f, answer{hangs: true})
				pass(eventstream.LostAfter)
			},
			want:   []engine.EventKind{relist, lost},
			logged: []string{failed(reset)},
		},
		"TwoOutages": {
			reason: "Each is reported.",
			happens: func(f *fake) {
				for range 2 {
					breaks(f, answer{refuses: refused})
					pass(long)
					f.answers(answer{})
					pass(long)
				}
			},
			want:   []engine.EventKind{relist, lost, relist, lost, relist},
			logged: []string{failed(reset), failed(refused), again, failed(reset), failed(refused), again},
		},
		"NeverOpen": {
			reason: "Who could look before may not be able to now.",
			starts: answer{refuses: refused},
			happens: func(f *fake) {
				pass(long)
				f.answers(answer{})
				pass(long)
			},
			want:   []engine.EventKind{lost, relist},
			logged: []string{failed(refused), again},
		},
		"Hangs": {
			reason:  "Nor of an engine that does not answer.",
			starts:  answer{hangs: true},
			happens: func(*fake) { pass(long) },
			want:    []engine.EventKind{lost},
		},
		"Closed": {
			reason: "A connection that is closed is not opened again.",
			happens: func(f *fake) {
				breaks(f, answer{closed: true})
				pass(long)
			},
			want:   []engine.EventKind{relist},
			logged: []string{failed(reset)},
		},
	}
	for name, tc := range cases {
		synctest.Test(t, func(t *testing.T) {
			var logged []string
			logger := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
			ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logger))
			f := &fake{answer: tc.starts, broken: make(chan error)}
			var got []engine.EventKind
			done := make(chan struct{})
			go func() {
				defer close(done)
				eventstream.Follow(ctx, func() bool { return f.now().closed }, f.stream, func(event engine.Event) { got = append(got, event.Kind) })
			}()
			synctest.Wait()
			tc.happens(f)
			cancel()
			<-done
			time.Sleep(long)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s\nevents (-want +got):\n%s", name, tc.reason, diff)
			}
			if diff := cmp.Diff(tc.logged, logged); diff != "" {
				t.Errorf("%s: %s\nlogged (-want +got):\n%s", name, tc.reason, diff)
			}
		})
	}
}
