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

// Package reconcile has what all reconcilers share: it runs a reconcile as the list of its
// phases, says whether an object is reconciled at all, and which changes cause a reconcile.
//
// A phase observes and acts. What it returns says how the reconcile continues: nil = with the
// next phase; Wait or WaitForEvent = not now, and what the phases before it found stands;
// Failure and any other error = not now, and the controller's back-off decides when. A Wait
// and a Failure carry the reason and message of the condition that says so, which the
// translator of the kind sets: a phase sets a condition itself only where it continues.
package reconcile

import (
	"context"
	"errors"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Phase is one step of a reconcile, over a scope of type S.
type Phase[S any] func(ctx context.Context, scope S) error

// Scope is one reconcile of one object, whose phases Run calls.
type Scope interface {
	// Report sets the conditions for an outcome that ends the reconcile: the translator of
	// the kind, which calls Report of this package.
	Report(outcome error)
}

// Run calls the phases in order until one of them waits or fails, and reports its outcome.
func Run[S Scope](ctx context.Context, scope S, phases ...Phase[S]) (ctrl.Result, error) {
	for _, phase := range phases {
		if outcome := phase(ctx, scope); outcome != nil {
			scope.Report(outcome)
			return Result(outcome)
		}
	}
	return ctrl.Result{}, nil
}

// Result is what a reconcile answers for the outcome of a phase.
func Result(outcome error) (ctrl.Result, error) {
	var result ctrl.Result
	var failures []error
	for _, each := range outcomes(outcome) {
		after, waits := waitOf(each)
		switch {
		case !waits:
			failures = append(failures, each)
		case after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter):
			result.RequeueAfter = after
		}
	}
	if err := errors.Join(failures...); err != nil {
		return ctrl.Result{}, err
	}
	return result, nil
}

// LogCluster adds the Cluster to the logger of a reconcile, under the key that Cluster
// API's controllers use. The object itself is there already.
func LogCluster(ctx context.Context, namespace, name string) context.Context {
	return ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx, "Cluster", klog.KRef(namespace, name)))
}
