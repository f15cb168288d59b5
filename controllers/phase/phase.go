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

// Package phase runs a reconcile as the list of its phases.
//
// A phase observes, acts, and sets the conditions that are its own. What it
// returns says how the reconcile continues: nil = with the next phase; RequeueAfter =
// not now, and what the phases before it found stands; any other error = not
// now, and the controller's back-off decides when.
package phase

import (
	"context"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// UserInterval is the interval for what only a user can correct: no event reports
	// that a network, an image or a mount was corrected.
	UserInterval = 15 * time.Second
	// PullInterval is how often the progress of a pull is reported.
	PullInterval = 2 * time.Second
)

// Func is one phase over a scope of type S.
type Func[S any] func(ctx context.Context, scope S) error

// waiting ends a run without an error.
type waiting struct {
	after time.Duration
}

// Error implements error, so that a phase can return it.
func (w *waiting) Error() string {
	if w.after == 0 {
		return "wait for an event"
	}
	return fmt.Sprintf("wait for %s", w.after)
}

// RequeueAfter stops the run; the next reconcile comes with an event, or after that
// time where it is not 0.
func RequeueAfter(after time.Duration) error { return &waiting{after: after} }

// Run calls the phases in order until one of them waits or fails.
func Run[S any](ctx context.Context, scope S, phases ...Func[S]) (ctrl.Result, error) {
	for _, phase := range phases {
		if err := phase(ctx, scope); err != nil {
			return Result(err)
		}
	}
	return ctrl.Result{}, nil
}

// joined are the outcomes of phases that did not stop each other.
type joined []error

// Error implements error.
func (j joined) Error() string { return errors.Join(j...).Error() }

// Unwrap returns the outcomes.
func (j joined) Unwrap() []error { return j }

// Join combines the outcomes of phases that do not stop each other; nil for
// none. The soonest wait counts, unless one of them is a failure.
func Join(outcomes ...error) error {
	if err := errors.Join(outcomes...); err == nil {
		return nil
	}
	return joined(outcomes)
}

// Result is what a reconcile answers for the outcome of a phase.
func Result(outcome error) (ctrl.Result, error) {
	outcomes := []error{outcome}
	var several joined
	if errors.As(outcome, &several) {
		outcomes = several
	}
	var result ctrl.Result
	failures := []error{}
	for _, each := range outcomes {
		var wait *waiting
		switch {
		case !errors.As(each, &wait):
			failures = append(failures, each)
		case wait.after > 0 && (result.RequeueAfter == 0 || wait.after < result.RequeueAfter):
			result.RequeueAfter = wait.after
		}
	}
	if err := errors.Join(failures...); err != nil {
		return ctrl.Result{}, err
	}
	return result, nil
}
