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
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// scope reports into the conditions of a ContainerMachine.
type scope struct{ machine infrav1.ContainerMachine }

func (s *scope) Report(outcome error) {
	reconcile.Report(&s.machine, infrav1.ContainerReadyCondition, outcome)
}

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
			outcomes: []error{reconcile.Wait{}, nil}, ran: 1,
		},
		"wait for a time": {
			reason:   "a phase that waits for a time brings the reconcile back then",
			outcomes: []error{nil, reconcile.Wait{After: time.Second}}, ran: 2,
			result: ctrl.Result{RequeueAfter: time.Second},
		},
		"failure": {
			reason:   "a failure stops the run and is left to the controller's back-off",
			outcomes: []error{broken, nil}, ran: 1, err: broken,
		},
		"soonest wait": {
			reason:   "of several waits the soonest counts",
			outcomes: []error{reconcile.Join(reconcile.Wait{After: time.Minute}, reconcile.Wait{After: time.Second}, reconcile.Wait{})}, ran: 1,
			result: ctrl.Result{RequeueAfter: time.Second},
		},
		"failure before wait": {
			reason:   "a failure counts more than a wait",
			outcomes: []error{reconcile.Join(reconcile.Wait{After: time.Second}, broken)}, ran: 1, err: broken,
		},
		"failure only a user can correct": {
			reason:   "an error that only a user can correct is looked at again after a time",
			outcomes: []error{reconcile.Failure{Err: broken, After: time.Second}, nil}, ran: 1,
			result: ctrl.Result{RequeueAfter: time.Second},
		},
		"failure with a reason": {
			reason:   "a failure that passes is left to the controller's back-off, whatever condition says so",
			outcomes: []error{reconcile.Failure{Err: broken, Reason: "Broken"}, nil}, ran: 1, err: broken,
		},
		"nothing joined": {
			reason:   "no outcomes are no outcome",
			outcomes: []error{reconcile.Join(nil, nil)}, ran: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			phases := make([]reconcile.Phase[*scope], 0, len(tc.outcomes))
			for _, outcome := range tc.outcomes {
				phases = append(phases, func(context.Context, *scope) error {
					ran++
					return outcome
				})
			}
			result, err := reconcile.Run(t.Context(), &scope{}, phases...)
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
		"wait for an event":        reconcile.Wait{},
		"wait for 15s":             reconcile.Wait{After: reconcile.UserInterval},
		"wait for 2s\nnot reached": reconcile.Join(reconcile.Wait{After: reconcile.PullInterval}, errors.New("not reached")),
	} {
		if got := outcome.Error(); got != want {
			t.Errorf("the outcome is %q, want %q", got, want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	const kind, other = infrav1.ContainerReadyCondition, infrav1.BootstrapCompletedCondition
	cases := map[string]struct {
		reason  string
		outcome error
		want    []string
		ofKind  bool
	}{
		"a wait":        {"what is waited for is no error", reconcile.Wait{Reason: "Pulling", Message: "1 %"}, []string{kind + " False Pulling: 1 %"}, true},
		"for an event":  {"the condition is the one of the kind", reconcile.WaitForEvent("Stopped", "stopped"), []string{kind + " False Stopped: stopped"}, true},
		"a failure":     {"the message is that of the error", reconcile.Failure{Err: broken, Reason: "Failed"}, []string{kind + " False Failed: broken"}, true},
		"not observed":  {"what is unknown is not false", reconcile.Failure{Err: broken, Status: metav1.ConditionUnknown, Reason: "Down", Message: "m"}, []string{kind + " Unknown Down: m"}, true},
		"no reason":     {"conditions stay as they are", reconcile.Wait{After: time.Second}, nil, false},
		"another error": {"nothing says which condition it is about", broken, nil, false},
		"more than one": {"each outcome has its condition", reconcile.Join(nil, broken, reconcile.Wait{Condition: other, Reason: "W"}, reconcile.WaitForEvent("E", "")), []string{kind + " False E: ", other + " False W: "}, true},
		"a named one":   {"the condition of the kind is not touched", reconcile.Wait{Condition: other, Reason: "W", Message: "m"}, []string{other + " False W: m"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scope{}
			if got := reconcile.Report(&s.machine, kind, tc.outcome); got != tc.ofKind {
				t.Errorf("%s: of the kind: %t, want %t", tc.reason, got, tc.ofKind)
			}
			var got []string
			for _, condition := range s.machine.Status.Conditions {
				got = append(got, fmt.Sprintf("%s %s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: conditions (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}
