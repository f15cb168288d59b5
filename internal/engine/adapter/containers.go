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

package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// CouldBeID reports whether name could be the beginning of an ID.
func CouldBeID(name string) bool { return strings.Trim(name, "0123456789abcdef") == "" }

// Status is that of a state as Docker or Podman names it. Docker's "dead" is a removal that
// did not come to its end. An initialized container of Podman has its namespaces and its
// address, and no process yet.
func Status(state string) engine.Status {
	return cmp.Or(map[string]engine.Status{
		"created":     engine.StatusCreated,
		"configured":  engine.StatusCreated,
		"initialized": engine.StatusCreated,
		"running":     engine.StatusRunning,
		"stopping":    engine.StatusRunning,
		"paused":      engine.StatusPaused,
		"restarting":  engine.StatusRestarting,
		"removing":    engine.StatusRemoving,
		"dead":        engine.StatusRemoving,
	}[state], engine.StatusExited)
}

// Labels are the attributes of a container's event that are not the engine's own.
func Labels(attributes map[string]string, own []string) map[string]string {
	labels := maps.Clone(attributes)
	for _, name := range own {
		delete(labels, name)
	}
	return labels
}

// Upload sends an archive to a container.
func Upload[C any](
	ctx context.Context, name string, archive io.Reader,
	inspect func(context.Context, string) (C, error), send func(io.Reader) error,
) error {
	source := &Source{Reader: archive}
	err := source.Or(send(source))
	if err == nil {
		return nil
	}
	// An answer that comes before the archive is read may be lost in the broken
	// connection: that there is no such container.
	if _, inspectErr := inspect(ctx, name); errors.Is(inspectErr, engine.ErrNotFound) {
		err = inspectErr
	}
	return engine.Failed("upload to", name, err)
}

const (
	// removalPoll is how often a removal that someone else started is looked at.
	removalPoll = 50 * time.Millisecond
	// removalPatience bounds how long its end is waited for in one call.
	removalPatience = 20 * time.Second
)

// Remove removes a container. It repeats an attempt whose error may be due to a removal that
// is in progress.
func Remove(ctx context.Context, name string, attempt func() (inProgress bool, err error)) error {
	for start := time.Now(); ; {
		inProgress, err := attempt()
		if err == nil || errors.Is(err, engine.ErrNotFound) {
			return nil
		}
		if !inProgress || time.Since(start) > removalPatience {
			return engine.Failed("remove", name, err)
		}
		if err := Wait(ctx, removalPoll); err != nil {
			return fmt.Errorf("wait for removal of container %q, which is already in progress: %w", name, err)
		}
	}
}
