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

package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/cluster-api/util/conditions"
)

const (
	// UserInterval is the interval for what only a user can correct: no event reports
	// that a network, an image or a mount was corrected.
	UserInterval = 15 * time.Second
	// PullInterval is how often the progress of a pull is reported.
	PullInterval = 2 * time.Second
)

// Wait is the outcome of a phase that cannot be done yet, which is no failure.
type Wait struct { //nolint:errname // An outcome, and no error: a reconcile returns none for it.
	// Reason and Message of the condition that says so; empty = conditions stay as they are.
	Reason, Message string
	// Condition is the type of that condition; empty = the one of the kind.
	Condition string
	// After is the time until the next reconcile; 0 = an event causes it.
	After time.Duration
}

// Error implements error, so that a phase can return it.
func (w Wait) Error() string {
	if w.After == 0 {
		return "wait for an event"
	}
	return fmt.Sprintf("wait for %s", w.After)
}

// WaitForEvent is a Wait that an event ends.
func WaitForEvent(reason, message string) error { return Wait{Reason: reason, Message: message} }

// Failure is the outcome of a phase that got an error.
type Failure struct { //nolint:errname // As Wait: the outcome that has an error.
	// Err is what the phase got.
	Err error
	// Condition is the type of the condition that says so; empty = the one of the kind. Reason
	// and Message are those of that condition; without a Message it has the text of Err.
	Condition, Reason, Message string
	// Status of that condition; empty = False. Unknown where the state could not be observed.
	Status metav1.ConditionStatus
	// After is the time until the next reconcile, for an error that only a user can correct;
	// 0 = it passes, and the controller's back-off decides.
	After time.Duration
}

// Error implements error.
func (f Failure) Error() string { return f.Err.Error() }

// Unwrap returns what the phase got.
func (f Failure) Unwrap() error { return f.Err }

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

// outcomes that were joined, or the one that was not.
func outcomes(outcome error) []error {
	if several, ok := errors.AsType[joined](outcome); ok {
		return several
	}
	return []error{outcome}
}

// waitOf an outcome says for how long it waits, and whether it does.
func waitOf(outcome error) (time.Duration, bool) {
	if wait, ok := errors.AsType[Wait](outcome); ok {
		return wait.After, true
	}
	failure, ok := errors.AsType[Failure](outcome)
	return failure.After, ok && failure.After > 0
}

// Report sets the conditions for an outcome. Those of an outcome without a type get the one
// of the kind; it reports whether there was one.
func Report(object conditions.Setter, kind string, outcome error) bool {
	isOfKind := false
	for _, each := range outcomes(outcome) {
		condition := metav1.Condition{Status: metav1.ConditionFalse}
		if wait, ok := errors.AsType[Wait](each); ok {
			condition.Type, condition.Reason, condition.Message = wait.Condition, wait.Reason, wait.Message
		} else if failure, ok := errors.AsType[Failure](each); ok {
			condition.Type, condition.Reason = failure.Condition, failure.Reason
			condition.Status = cmp.Or(failure.Status, condition.Status)
			condition.Message = cmp.Or(failure.Message, failure.Err.Error())
		}
		if condition.Reason == "" {
			continue
		}
		isOfKind = isOfKind || condition.Type == ""
		condition.Type = cmp.Or(condition.Type, kind)
		SetCondition(object, condition)
	}
	return isOfKind
}
