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

package imagepull_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// slowRegistry sends the steps of a pull with a pause before each, and then
// nothing: the pull ends with its context, as that of a real engine does.
type slowRegistry struct {
	*simulated.Engine

	steps []engine.PullProgress
	pause time.Duration
	// pulls counts the calls, left those that returned.
	pulls, left atomic.Int32
}

func (r *slowRegistry) PullImage(ctx context.Context, _ string, _ *engine.Credentials, progress func(engine.PullProgress)) error {
	r.pulls.Add(1)
	defer r.left.Add(1)
	for _, step := range r.steps {
		select {
		case <-time.After(r.pause):
			progress(step)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

// steps of a pull that comes to n layers.
func steps(n int, step engine.PullProgress) []engine.PullProgress {
	out := make([]engine.PullProgress, n)
	for i := range out {
		step.LayersTotal = i + 1
		out[i] = step
	}
	return out
}

func TestStalledPullIsRetried(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		steps  []engine.PullProgress
		pause  time.Duration
		// The pull still runs before, and has ended after.
		before, after time.Duration
	}{
		"no answer at all": {
			reason: "a registry that accepts connections and says nothing is stalled",
			before: 4 * time.Minute, after: 6 * time.Minute,
		},
		"in the middle": {
			reason: "what came before the stall does not count", steps: steps(3, engine.PullProgress{TotalBytes: 1}), pause: 4 * time.Minute,
			before: 16 * time.Minute, after: 18 * time.Minute,
		},
		"layers without bytes": {
			reason: "an engine that reports no bytes may still be downloading a large layer",
			steps:  steps(2, engine.PullProgress{WithoutBytes: true}), pause: 4 * time.Minute,
			before: 37 * time.Minute, after: 39 * time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				eng := &slowRegistry{Engine: simulated.New(), steps: tc.steps, pause: tc.pause}
				tracker := start(t, eng)
				ask := func() imagepull.Status {
					status := must.Get(tracker.Ensure(t.Context(), reference))(t)
					synctest.Wait()
					return status
				}
				ask()
				time.Sleep(tc.before)
				if status := ask(); status.Err != nil || eng.left.Load() != 0 {
					t.Fatalf("%s: ended after %s: %v", tc.reason, tc.before, status.Err)
				}
				time.Sleep(tc.after - tc.before)
				status := ask()
				if status.Err == nil || !strings.Contains(status.Text(), "no progress for") || eng.left.Load() != 1 {
					t.Fatalf("%s: after %s the status is %q", tc.reason, tc.after, status.Text())
				}
				ask()
				if eng.pulls.Load() != 2 {
					t.Errorf("%d pulls after the pause, want a retry", eng.pulls.Load())
				}
			})
		})
	}
}

// An image that is built here is in no registry, however often it is asked for.
func TestLocalImageIsNotPulled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const built = "localhost/capcon/node:v1.36.3"
		eng := simulated.New()
		tracker := start(t, eng)
		ask := func() imagepull.Status {
			status := must.Get(tracker.Ensure(t.Context(), built))(t)
			synctest.Wait()
			return status
		}
		ask()
		if status := ask(); !errors.Is(status.Err, imagepull.ErrLocalOnly) || !strings.Contains(status.Text(), "make images-load") {
			t.Errorf("status of an image that is not loaded: %q", status.Text())
		}
		if got := pulls(eng); got != 0 {
			t.Errorf("%d pulls of an image that no registry has", got)
		}
		eng.AddImage(engine.Image{Tags: []string{built}}, nil)
		if status := ask(); !status.Present {
			t.Error("an image that was loaded is not found")
		}
	})
}
