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

package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// scenario is a story whose steps keep or break rules. It runs in a namespace of its own, next to
// the others.
type scenario struct {
	name  string
	rules []string
	// inapplicable says why the provider cannot have this scenario; empty if it can.
	inapplicable func(Provider) string
	steps        func(*world) []step
}

// step of a scenario.
type step struct {
	// rule that it tests; empty for a step that only prepares the next ones.
	rule string
	// essential: the next steps make no sense if this one fails.
	essential bool
	run       func(context.Context) error
}

// notApplicableError is the reason why a rule does not apply.
type notApplicableError string

func (n notApplicableError) Error() string { return string(n) }

// results of rules, which scenarios add to concurrently.
type results struct {
	mutex sync.Mutex
	all   map[string]Result
}

// add adds what one step found. A rule passes if one step passes and none fails.
func (r *results) add(id string, err error, took time.Duration) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	result, found := r.all[id]
	result.Duration += took
	var reason notApplicableError
	switch {
	case errors.As(err, &reason):
		if !found {
			result.Status, result.Reason = NotApplicable, reason.Error()
		}
	case err != nil && result.Status == Fail:
		result.Reason += "; " + err.Error()
	case err != nil:
		result.Status, result.Reason = Fail, err.Error()
	case result.Status != Fail:
		result.Status, result.Reason = Pass, ""
	}
	r.all[id] = result
}

func (r *results) get(id string) Result {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.all[id]
}

// run runs the steps one after the other. If an essential step fails, the rules of the next steps do not
// apply; if one without a rule fails, that fails the next rule.
func (s scenario) run(ctx context.Context, w *world, found *results) {
	var unprepared error
	blocked := ""
	for _, step := range s.steps(w) {
		began := time.Now()
		var err error
		switch {
		case unprepared != nil:
			err = unprepared
		case blocked != "":
			err = notApplicableError(blocked)
		default:
			err = step.runWithin(ctx, w)
		}
		if cause := context.Cause(ctx); err != nil && cause != nil && !isNotApplicable(err) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		if step.rule != "" {
			found.add(step.rule, err, time.Since(began))
		}
		if err == nil || isNotApplicable(err) {
			continue
		}
		switch {
		case step.rule == "":
			unprepared = err
		case step.essential || unprepared != nil:
			unprepared, blocked = nil, fmt.Sprintf("not reached, because %s fails", step.rule)
		}
	}
}

// exceptionTimeout is the patience with a rule that the provider is known to break.
const exceptionTimeout = 10 * time.Second

func (s step) runWithin(ctx context.Context, w *world) error {
	if s.rule != "" && w != nil && w.provider.Exceptions[s.rule] != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, exceptionTimeout)
		defer cancel()
	}
	return s.run(ctx)
}

func isNotApplicable(err error) bool {
	var reason notApplicableError
	return errors.As(err, &reason)
}
