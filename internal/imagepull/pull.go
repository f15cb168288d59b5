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
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// How long a pull may be without progress. Engines have no such limit: a
// connection on which a registry stops sending stays open for days.
const (
	// stallLimit is the default of containerd's image_pull_progress_timeout,
	// after which the kubelet's pulls are canceled too. It is longer than
	// Docker's own retries of a broken download, some 75 s.
	stallLimit = 5 * time.Minute
	// stallLimitOfLayer is for engines that report no bytes, where a layer that
	// is downloaded slowly looks like one that is stalled. The largest layer of
	// a node image, half a GB, takes so long at 300 kB/s.
	stallLimitOfLayer = 30 * time.Minute
)

// Limits are how long a pull may be without progress. Zero is the default.
type Limits struct {
	// Progress of an engine that reports bytes, or nothing yet. Default 5 min.
	Progress time.Duration
	// Layer of an engine that reports no bytes. Default 30 min.
	Layer time.Duration
}

// ErrLocalOnly says that an image is in no registry.
var ErrLocalOnly = errors.New("images of localhost/ are never pulled")

// StalledError says that a pull was canceled, because it made no progress.
type StalledError struct {
	// Limit that it exceeded.
	Limit time.Duration
}

// Error implements error.
func (e *StalledError) Error() string {
	return fmt.Sprintf("no progress for %s; check the registry and the network", e.Limit)
}

// Unwrap returns ErrUnavailable: another try may succeed.
func (e *StalledError) Unwrap() error { return engine.ErrUnavailable }

// Pull fetches an image as engine.Images does, with progress that may be nil. A
// name below localhost/ is not asked for: ErrLocalOnly. A pull without progress
// is canceled: *StalledError.
func Pull(
	ctx context.Context, images engine.Images, reference string, credentials *engine.Credentials, progress func(engine.PullProgress),
) error {
	return Limits{}.pull(ctx, images, reference, credentials, progress)
}

// pull is Pull within these limits.
func (l Limits) pull(
	ctx context.Context, images engine.Images, reference string, credentials *engine.Credentials, progress func(engine.PullProgress),
) error {
	fail := func(err error) error { return fmt.Errorf("pull image %q: %w", reference, err) }
	if parsed, err := adapter.ParseReference(reference); err == nil && parsed.LocalOnly() {
		return fail(ErrLocalOnly)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	after := func(limit time.Duration) *time.Timer {
		return time.AfterFunc(limit, func() { cancel(&StalledError{Limit: limit}) })
	}
	timer := after(l.of(engine.PullProgress{}))
	defer func() { timer.Stop() }()
	err := images.PullImage(ctx, reference, credentials, func(now engine.PullProgress) {
		timer.Stop()
		timer = after(l.of(now))
		if progress != nil {
			progress(now)
		}
	})
	var stalled *StalledError
	if err != nil && errors.As(context.Cause(ctx), &stalled) {
		return fail(stalled)
	}
	return err
}

func (l Limits) of(progress engine.PullProgress) time.Duration {
	if progress.WithoutBytes {
		return cmp.Or(l.Layer, stallLimitOfLayer)
	}
	return cmp.Or(l.Progress, stallLimit)
}
