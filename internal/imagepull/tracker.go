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

package imagepull

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// firstPause and longestPause bound the time between an unsuccessful pull and
// the next: short enough for a registry that was restarted, long enough not
// to run into a registry's rate limit.
const (
	firstPause   = 5 * time.Second
	longestPause = 5 * time.Minute
)

// Tracker keeps at most one pull of each image going. Its Start must run for
// pulls to make progress.
type Tracker struct {
	// Limits of each pull; set them before Start.
	Limits Limits

	images   engine.Images
	now      func() time.Time
	requests chan request

	mutex sync.Mutex
	pulls map[string]*pull
}

// request for a pull. The pull outlives the call that requested it and uses the
// logger of that call, which names the object.
type request struct {
	reference string
	// log is nil where the call had none.
	log *logr.Logger
}

// pull is what is known of the last or present pull of one image.
type pull struct {
	running  bool
	progress engine.PullProgress
	err      error
	failures int
	retryAt  time.Time
}

// NewTracker returns a Tracker over images.
func NewTracker(images engine.Images) *Tracker {
	return &Tracker{
		images: images,
		now:    time.Now,
		// Ensure never waits: each image is requested at most once at a time,
		// and no manager needs so many.
		requests: make(chan request, 1024),
		pulls:    map[string]*pull{},
	}
}

// Status of an image.
type Status struct {
	// Reference of the request.
	Reference string
	// Present: the engine has it.
	Present bool
	// Image is set where it is present.
	Image engine.Image
	// Progress of the running pull where it is not.
	Progress engine.PullProgress
	// Err is why the last pull ended without the image, nil before. It is
	// tried again.
	Err error
}

// Text describes how far the pull is, or why the last one failed and what to
// do about it.
func (s Status) Text() string {
	const megabyte = 1 << 20
	switch {
	case s.Present:
		return "image " + s.Reference + " is present"
	case errors.Is(s.Err, ErrLocalOnly):
		return s.Err.Error() + "; build it with \"make images-load\", load it with \"capcon images load FILE\", or use another image"
	case s.Err != nil:
		return s.Err.Error() + "; retrying: check the image name and the registry, or load the image into the engine"
	case s.Progress.LayersTotal == 0:
		return "pulling image " + s.Reference
	default:
		return fmt.Sprintf("pulling image %s: %d of %d layers, %d of %d MiB", s.Reference,
			s.Progress.LayersDone, s.Progress.LayersTotal, s.Progress.CurrentBytes/megabyte, s.Progress.TotalBytes/megabyte)
	}
}

// Ensure reports whether the engine has the image and sees to it that it is
// being pulled where not. The error is that of asking the engine.
func (t *Tracker) Ensure(ctx context.Context, reference string) (Status, error) {
	image, err := t.images.InspectImage(ctx, reference)
	if err == nil {
		t.forget(reference)
		return Status{Reference: reference, Present: true, Image: image}, nil
	}
	if !errors.Is(err, engine.ErrNotFound) {
		return Status{}, fmt.Errorf("inspect image %q: %w", reference, err)
	}

	t.mutex.Lock()
	defer t.mutex.Unlock()
	current, known := t.pulls[reference]
	if !known {
		current = &pull{}
		t.pulls[reference] = current
	}
	if !current.running && !t.now().Before(current.retryAt) {
		requested := request{reference: reference}
		if log, err := logr.FromContext(ctx); err == nil {
			requested.log = &log
		}
		select {
		case t.requests <- requested:
			current.running = true
		default:
			// The next call asks again.
		}
	}
	return Status{Reference: reference, Progress: current.progress, Err: current.err}, nil
}

func (t *Tracker) forget(reference string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if current, known := t.pulls[reference]; known && !current.running {
		delete(t.pulls, reference)
	}
}

// Start pulls what is requested until ctx ends. It returns when no pull runs
// any more.
func (t *Tracker) Start(ctx context.Context) error {
	var pulls sync.WaitGroup
	defer pulls.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case requested := <-t.requests:
			pulling := ctx
			if requested.log != nil {
				pulling = logr.NewContext(ctx, *requested.log)
			}
			pulls.Go(func() { t.pull(pulling, requested.reference) })
		}
	}
}

// NeedLeaderElection is false: what a follower never asks for is not pulled.
func (t *Tracker) NeedLeaderElection() bool { return false }

func (t *Tracker) pull(ctx context.Context, reference string) {
	// The caller of Ensure may have seen the image absent just before an earlier pull
	// ended.
	_, err := t.images.InspectImage(ctx, reference)
	if errors.Is(err, engine.ErrNotFound) {
		err = t.Limits.pull(ctx, t.images, reference, nil, func(progress engine.PullProgress) {
			t.mutex.Lock()
			defer t.mutex.Unlock()
			t.pulls[reference].progress = progress
		})
	}

	t.mutex.Lock()
	defer t.mutex.Unlock()
	current := t.pulls[reference]
	current.running = false
	current.progress = engine.PullProgress{}
	if err == nil {
		delete(t.pulls, reference)
		return
	}
	current.err = err
	current.retryAt = t.now().Add(pause(current.failures))
	current.failures++
}

// pause doubles with each failure.
func pause(failures int) time.Duration {
	wait := firstPause
	for range failures {
		wait *= 2
		if wait >= longestPause {
			return longestPause
		}
	}
	return wait
}
