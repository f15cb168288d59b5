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

package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/backoff"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
	memory := backoff.NewMemory(clock)
	machine := func(name string, generation int64) *infrav1.ContainerMachine {
		return &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Generation: generation}}
	}
	refused := errors.New("refused")
	expect := func(reason string, object *infrav1.ContainerMachine, want time.Duration) {
		t.Helper()
		got, err := memory.Recall(object)
		if got != want || (err != nil) != (want > 0) {
			t.Errorf("%s: it recalls %v for %s, want %s", reason, err, got, want)
		}
	}
	expect("nothing was refused", machine("m1", 1), 0)
	memory.Keep(machine("m1", 1), refused, 10*time.Second)
	expect("it has just been refused", machine("m1", 1), 10*time.Second)
	expect("another machine was not", machine("m2", 1), 0)
	expect("another spec was not", machine("m1", 2), 0)
	clock.SetTime(clock.Now().Add(4 * time.Second))
	expect("some time has passed", machine("m1", 1), 6*time.Second)
	clock.SetTime(clock.Now().Add(6 * time.Second))
	expect("all of it has", machine("m1", 1), 0)
}

func TestRepeats(t *testing.T) {
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
			if got := backoff.Repeats(c.err); got != c.want {
				t.Errorf("%s\nRepeats(%v) = %t", c.reason, c.err, got)
			}
			memory := backoff.NewMemory(testclock.NewFakePassiveClock(time.Unix(0, 0)))
			machine := &infrav1.ContainerMachine{}
			memory.Keep(machine, c.err, time.Minute)
			if _, kept := memory.Recall(machine); (kept != nil) != c.want {
				t.Errorf("%s\nkept: %v", c.reason, kept)
			}
		})
	}
}
