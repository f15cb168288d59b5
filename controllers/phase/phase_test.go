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

package phase_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capi-samples/cluster-api-provider-container/controllers/phase"
)

func TestRun(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cases := map[string]struct {
		reason   string
		outcomes []error
		ran      int
		result   ctrl.Result
		err      error
	}{
		"all done": {
			reason:   "a reconcile whose phases are all done waits for the next event",
			outcomes: []error{nil, nil}, ran: 2,
		},
		"wait for an event": {
			reason:   "a phase that waits stops those after it, and is no failure",
			outcomes: []error{phase.RequeueAfter(0), nil}, ran: 1,
		},
		"wait for a time": {
			reason:   "a phase that waits for a time brings the reconcile back then",
			outcomes: []error{nil, phase.RequeueAfter(time.Second)}, ran: 2,
			result: ctrl.Result{RequeueAfter: time.Second},
		},
		"failure": {
			reason:   "a failure stops the run and is left to the controller's back-off",
			outcomes: []error{broken, nil}, ran: 1, err: broken,
		},
		"soonest wait": {
			reason:   "of several waits the soonest counts",
			outcomes: []error{phase.Join(phase.RequeueAfter(time.Minute), phase.RequeueAfter(time.Second), phase.RequeueAfter(0))}, ran: 1,
			result: ctrl.Result{RequeueAfter: time.Second},
		},
		"failure before wait": {
			reason:   "a failure counts more than a wait",
			outcomes: []error{phase.Join(phase.RequeueAfter(time.Second), broken)}, ran: 1, err: broken,
		},
		"nothing joined": {
			reason:   "no outcomes are no outcome",
			outcomes: []error{phase.Join(nil, nil)}, ran: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			phases := make([]phase.Func[string], 0, len(tc.outcomes))
			for _, outcome := range tc.outcomes {
				phases = append(phases, func(context.Context, string) error {
					ran++
					return outcome
				})
			}
			result, err := phase.Run(t.Context(), "scope", phases...)
			if !errors.Is(err, tc.err) {
				t.Errorf("%s: error %v, want %v", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.result, result); diff != "" {
				t.Errorf("%s: result (-want, +got):\n%s", tc.reason, diff)
			}
			if ran != tc.ran {
				t.Errorf("%s: %d phases ran, want %d", tc.reason, ran, tc.ran)
			}
		})
	}
}

// Outcomes are logged, and read where one is not handled.
func TestOutcomeText(t *testing.T) {
	t.Parallel()
	for want, outcome := range map[string]error{
		"wait for an event":        phase.RequeueAfter(0),
		"wait for 15s":             phase.RequeueAfter(phase.UserInterval),
		"wait for 2s\nnot reached": phase.Join(phase.RequeueAfter(phase.PullInterval), errors.New("not reached")),
	} {
		if got := outcome.Error(); got != want {
			t.Errorf("the outcome is %q, want %q", got, want)
		}
	}
}
