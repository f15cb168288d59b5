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

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const reference = "example.test/node:v1"

// pulls counts the pulls an engine was asked for.
func pulls(eng *simulated.Engine) int {
	count := 0
	for _, call := range eng.Journal() {
		if call.Method == "PullImage" {
			count++
		}
	}
	return count
}

// start runs a tracker until the test ends, in the test's bubble.
func start(t *testing.T, eng engine.Images) *imagepull.Tracker {
	t.Helper()
	tracker := imagepull.NewTracker(eng)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- tracker.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Start ended with %v", err)
		}
	})
	return tracker
}

func TestEnsurePullsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng := simulated.New()
		eng.AddRegistryImage(reference, engine.Image{}, nil)
		tracker := start(t, eng)
		for range 5 {
			status := must.Get(tracker.Ensure(t.Context(), reference))(t)
			if status.Present {
				t.Fatal("image is there before it was pulled")
			}
		}
		synctest.Wait()
		status := must.Get(tracker.Ensure(t.Context(), reference))(t)
		if !status.Present {
			t.Errorf("image is not there after its pull: %s", status.Text())
		}
		if got := pulls(eng); got != 1 {
			t.Errorf("%d pulls for one image that was asked for five times", got)
		}
	})
}

// lateAnswers is an engine that takes a second for a pull and, once it is late, two for
// the answer to an inspection.
type lateAnswers struct {
	*simulated.Engine

	late atomic.Bool
}

func (e *lateAnswers) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	image, err := e.Engine.InspectImage(ctx, reference)
	if e.late.Load() {
		time.Sleep(2 * time.Second) // of the bubble's clock
	}
	return image, err
}

func (e *lateAnswers) PullImage(ctx context.Context, reference string, credentials *engine.Credentials, progress func(engine.PullProgress)) error {
	time.Sleep(time.Second) // of the bubble's clock
	return e.Engine.PullImage(ctx, reference, credentials, progress)
}

// An image that arrives between an inspection and what follows from it is not pulled a
// second time.
func TestEnsureDoesNotPullWhatArrived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng := &lateAnswers{Engine: simulated.New()}
		eng.AddRegistryImage(reference, engine.Image{}, nil)
		tracker := start(t, eng)
		for range 2 {
			status, err := tracker.Ensure(t.Context(), reference)
			if err != nil || status.Present {
				t.Fatalf("status %q, error %v before the pull ended", status.Text(), err)
			}
			synctest.Wait()
			eng.late.Store(true)
		}
		time.Sleep(10 * time.Second) // of the bubble's clock
		if got := pulls(eng.Engine); got != 1 {
			t.Errorf("%d pulls, want 1", got)
		}
	})
}

func TestEnsureRetriesWithPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng := simulated.New()
		tracker := start(t, eng)
		ask := func() imagepull.Status {
			status := must.Get(tracker.Ensure(t.Context(), reference))(t)
			synctest.Wait()
			return status
		}
		ask()
		status := ask()
		if status.Err == nil || !strings.Contains(status.Text(), "load the image into the engine") {
			t.Errorf("status of an image that no registry has: %q lacks the remedy", status.Text())
		}
		if got := pulls(eng); got != 1 {
			t.Errorf("%d pulls concurrently after a failure, want a pause first", got)
		}
		time.Sleep(6 * time.Second)
		ask()
		if got := pulls(eng); got != 2 {
			t.Errorf("%d pulls after the pause, want 2", got)
		}
		// The image appears without a pull, as when a user loads it.
		eng.AddImage(engine.Image{Tags: []string{reference}}, nil)
		if status := ask(); !status.Present {
			t.Error("an image that was loaded is not seen")
		}
	})
}

// The pull belongs to the first object that requests it, in the log too.
func TestPullIsOfWhoAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		inner := simulated.New()
		for _, name := range []string{reference, "example.test/other:v1"} {
			inner.AddRegistryImage(name, engine.Image{}, nil)
		}
		eng := must.Get(metered.New(inner, prometheus.NewRegistry(), metered.Options{Logger: logger}))(t)
		tracker := start(t, eng)
		ask := func(ctx context.Context, name string) {
			must.Get(tracker.Ensure(ctx, name))(t)
		}
		for _, machine := range []string{"first", "second"} {
			asking, cancel := context.WithCancel(logr.NewContext(t.Context(), logger.WithValues("machine", machine)))
			ask(asking, reference)
			cancel()
		}
		synctest.Wait()
		ask(t.Context(), "example.test/other:v1")
		synctest.Wait()
		want := []string{`"machine"="first" "method"="PullImage" "image"="` + reference + `"`, `"method"="PullImage" "image"="example.test/other:v1"`}
		if len(lines) != len(want) {
			t.Fatalf("logged %q, want %d lines", lines, len(want))
		}
		for i := range want {
			if !strings.Contains(lines[i], want[i]) || i == 1 && strings.Contains(lines[i], "machine") {
				t.Errorf("logged %s, want %s", lines[i], want[i])
			}
		}
	})
}

func TestEnsureReportsTheEngine(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	eng.Down()
	_, err := imagepull.NewTracker(eng).Ensure(t.Context(), reference)
	if !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("error %v of an engine that is down, want ErrUnavailable", err)
	}
}
