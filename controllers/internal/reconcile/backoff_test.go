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

package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	refused, machine := errors.New("refused"), machineOf("m1", 1)
	for name, c := range map[string]struct {
		reason string
		object *infrav1.ContainerMachine
		after  time.Duration
		want   time.Duration
	}{
		"Now":     {"it has just been refused", machine, 0, reconcile.UserInterval},
		"Other":   {"another machine was not", machineOf("m2", 1), 0, 0},
		"Changed": {"another spec was not", machineOf("m1", 2), 0, 0},
		"Later":   {"some time has passed", machine, 5 * time.Second, reconcile.UserInterval - 5*time.Second},
		"Past":    {"all of it has", machine, reconcile.UserInterval, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backoff := &reconcile.Backoff{}
			backoff.Record(start.Add(-reconcile.UserInterval), machineOf("gone", 1), refused)
			backoff.Record(start, machine, refused)
			if got, err := backoff.Remaining(start.Add(c.after), c.object); got != c.want || (err != nil) != (c.want > 0) {
				t.Errorf("%s: %v remains for %s, want %s", c.reason, err, got, c.want)
			}
		})
	}
}

func machineOf(name string, generation int64) *infrav1.ContainerMachine {
	return &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Generation: generation}}
}

func TestBackoffOfRefusalsOnly(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Refused":     {"Nothing says that it would be different next time.", errors.New("no such device"), true},
		"Invalid":     {"A value stays what it is.", fmt.Errorf("start: %w", engine.ErrInvalid), true},
		"Taken":       {"Who has the port keeps it.", &engine.ConflictError{Resource: engine.ResourceHostPort}, true},
		"Unavailable": {"An engine that comes back is asked immediately.", fmt.Errorf("start: %w", engine.ErrUnavailable), false},
		"Late":        {"What took too long may take less.", fmt.Errorf("exec: %w", context.DeadlineExceeded), false},
		"Gone":        {"What is absent is made.", fmt.Errorf("start: %w", engine.ErrNotFound), false},
		"NotRunning":  {"A container that ended in the middle is started.", fmt.Errorf("exec: %w", engine.ErrConflict), false},
		"Killed":      {"So is one whose process was killed with it.", fmt.Errorf("exec: %w", &engine.ExitError{Code: 137}), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backoff := &reconcile.Backoff{}
			backoff.Record(time.Unix(0, 0), machineOf("m1", 1), c.err)
			if _, recorded := backoff.Remaining(time.Unix(0, 0), machineOf("m1", 1)); (recorded != nil) != c.want {
				t.Errorf("%s\nrecorded: %v", c.reason, recorded)
			}
		})
	}
}
