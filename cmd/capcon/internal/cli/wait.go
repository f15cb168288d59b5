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

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
)

const (
	// pollInterval is short against what people notice; the reads go to a
	// process on this machine.
	pollInterval = 500 * time.Millisecond
	// troubleGrace is how long a condition that waiting does not heal may
	// stand before up gives up: somebody may be mending it, and a first
	// report may be overtaken.
	troubleGrace = 15 * time.Second
)

// upSteps stay on the board while the cluster's stages change.
func upSteps() []string { return []string{stepEngine, stepPlane, stepImages} }

// waitReady shows the cluster's way until it is ready.
func (s *session) waitReady(ctx context.Context, b *board, request input.Request) error {
	var last management.Snapshot
	troubled := map[string]time.Time{}
	remembered := false
	for {
		observed, err := management.Observe(ctx, s.client, namespace, request.Name)
		switch {
		case ctx.Err() != nil:
			return s.notReady(ctx, request, last)
		case err != nil && !transient(err):
			return err
		case err != nil:
			b.waiting(stepPlane, "does not answer: "+management.OneLine(err.Error()))
		default:
			b.finished(stepPlane, "answers")
			last = management.Summarize(observed)
			b.cluster(upSteps(), last)
			if !remembered {
				if remembered, err = s.remember(request.Name, observed); err != nil {
					return err
				}
			}
			if last.Ready() {
				return nil
			}
			if err := s.giveUp(request, last, troubled); err != nil {
				return err
			}
		}
		if err := s.pause(ctx, pollInterval); err != nil {
			return s.notReady(ctx, request, last)
		}
	}
}

// remember whose the containers are, as soon as that is decided.
func (s *session) remember(name string, observed management.Observed) (bool, error) {
	if observed.Infrastructure == nil || management.OwnerID(observed.Infrastructure) == "" {
		return false, nil
	}
	err := s.state.Remember(name, state.Cluster{
		Namespace: namespace,
		OwnerID:   management.OwnerID(observed.Infrastructure),
		Network:   observed.Infrastructure.Spec.Network.Name,
	})
	return err == nil, err
}

// giveUp returns an error when a trouble has stood for the grace period.
func (s *session) giveUp(request input.Request, snapshot management.Snapshot, since map[string]time.Time) error {
	now := s.Now()
	standing := make(map[string]time.Time, len(snapshot.Troubles))
	var found []string
	for _, trouble := range snapshot.Troubles {
		key := trouble.Object + " " + trouble.Reason
		first, known := since[key]
		if !known {
			first = now
		}
		standing[key] = first
		if now.Sub(first) >= troubleGrace {
			found = append(found, fmt.Sprintf("%s: %s: %s\n    remedy: %s",
				trouble.Object, trouble.Reason, management.OneLine(trouble.Message), trouble.Remedy))
		}
	}
	clear(since)
	for key, first := range standing {
		since[key] = first
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("waiting will not make cluster %q ready:\n  %s\n\"%s up %s\" goes on afterwards",
		request.Name, strings.Join(found, "\n  "), s.Program, request.Name)
}

// notReady is the error of a wait that ended too early.
func (s *session) notReady(ctx context.Context, request input.Request, last management.Snapshot) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	missing := last.Missing()
	if !last.Exists {
		missing = []string{"the management plane did not answer"}
	}
	return fmt.Errorf("cluster %q is not ready after %s. Still missing:\n  %s\n\"%s up %s\" goes on waiting, \"%s status %s\" has the details",
		request.Name, request.Timeout, strings.Join(missing, "\n  "), s.Program, request.Name, s.Program, request.Name)
}
