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

package clusterpower_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// errKilled is what a manager that was killed gets for all that it still asks for.
var errKilled = errors.New("the manager is killed")

// settle reconciles until there is nothing more to do than to look once a minute, for half an
// hour at most, with the pauses that are asked for.
func (w *world) settle() {
	w.t.Helper()
	for end := w.clock.Now().Add(30 * time.Minute); w.clock.Now().Before(end); {
		result, err := w.survive()
		switch {
		case err != nil:
			w.clock.Step(5 * time.Second)
		case result.RequeueAfter == 0 || result.RequeueAfter == time.Minute:
			return
		default:
			w.clock.Step(result.RequeueAfter)
		}
	}
}

// survive reconciles once. A manager that was killed is started again.
func (w *world) survive() (ctrl.Result, error) {
	defer w.dead.Store(false)
	return w.reconciler.Reconcile(context.WithoutCancel(w.t.Context()), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.cluster())})
}

// end of a stop or a start.
type end struct {
	state
	reason string
}

func (w *world) expectEnd(want end) {
	w.t.Helper()
	w.engine.ResetHooks()
	w.expect("in the end", want.state)
	if reason, message := w.condition(); reason != want.reason {
		w.t.Errorf("condition %s (%s), want %s", reason, message, want.reason)
	}
}

// operations and their ends.
func operations() map[string]struct {
	prepare, begin func(w *world)
	want           end
} {
	stopIt := func(w *world) { w.edit(stopped) }
	return map[string]struct {
		prepare, begin func(w *world)
		want           end
	}{
		"stop": {func(*world) {}, stopIt, end{state{0, true, true}, infrav1.StoppedReason}},
		"start": {
			func(w *world) { stopIt(w); w.settle() }, func(w *world) { w.edit(started) },
			end{state{5, false, false}, infrav1.StartedReason},
		},
		// The annotation is removed before the stop has paused the Cluster.
		"start early": {
			func(w *world) { w.setReported("True"); stopIt(w); _, _ = w.survive() }, func(w *world) { w.edit(started) },
			end{state{5, false, false}, infrav1.StartedReason},
		},
	}
}

// side of the effect that a fault is on.
type side string

const (
	before side = "before"
	after  side = "after"
)

// TestOneFault: the end is the same whichever call of the engine fails once in whatever way, and
// wherever the manager is killed.
func TestOneFault(t *testing.T) {
	t.Parallel()
	faults := map[string]error{
		"killed":      errKilled,
		"unavailable": fmt.Errorf("no answer: %w", engine.ErrUnavailable),
		"address":     &engine.ConflictError{Resource: engine.ResourceAddress, Value: "172.18.0.9"},
		"unexpected":  errors.New("unexpected"),
	}
	for operation, o := range operations() {
		undisturbed := newWorld(t, nil)
		o.prepare(undisturbed)
		undisturbed.engine.ResetJournal()
		o.begin(undisturbed)
		undisturbed.settle()
		undisturbed.expectEnd(o.want)
		calls := len(undisturbed.engine.Journal()) - 1 // The last one is of expect.
		for name, fault := range faults {
			if operation == "start early" && name != "killed" && name != "unavailable" {
				continue // It makes the calls of a start.
			}
			t.Run(operation+"/"+name, func(t *testing.T) {
				t.Parallel()
				for number := 1; number <= calls; number++ {
					for _, at := range []side{before, after} {
						if at == after && !errors.Is(fault, errKilled) && !errors.Is(fault, engine.ErrUnavailable) {
							continue // What is refused has no effect.
						}
						w := newWorld(t, nil)
						o.prepare(w)
						w.engine.ResetJournal()
						w.disturbCalls(number, at, fault)
						o.begin(w)
						w.settle()
						w.expectEnd(o.want)
						if t.Failed() {
							t.Fatalf("fault at call %d, %s its effect", number, at)
						}
					}
				}
			})
		}
	}
}

// TestLostWrite: so it is whichever write to the API server fails, and wherever the manager is
// killed at one.
func TestLostWrite(t *testing.T) {
	t.Parallel()
	for operation, o := range operations() {
		for _, kill := range []bool{false, true} {
			for _, at := range []side{before, after} {
				t.Run(fmt.Sprintf("%s/kill=%t/%s", operation, kill, at), func(t *testing.T) {
					t.Parallel()
					for number, struck := 1, true; struck; number++ {
						w := newWorld(t, nil)
						o.prepare(w)
						struck = false
						w.disturbWrites(number, at, func() error {
							struck = true
							w.dead.Store(kill)
							return apierrors.NewTimeoutError("the API server does not answer", 1)
						})
						o.begin(w)
						w.settle()
						w.expectEnd(o.want)
						if t.Failed() {
							t.Fatalf("fault at write %d", number)
						}
					}
				})
			}
		}
	}
}

// disturbCalls lets the call of that number fail, before or after its effect.
func (w *world) disturbCalls(number int, at side, fault error) {
	strike := func(call simulated.Call) error {
		if call.Number != number {
			return nil
		}
		w.dead.Store(errors.Is(fault, errKilled))
		return fault
	}
	w.disturbWrites(0, before, nil)
	if at == after {
		w.engine.AfterCall(strike)
	} else {
		w.engine.OnCall(strike)
	}
}

// disturbWrites lets the write of that number strike, before or after its effect.
func (w *world) disturbWrites(number int, at side, strike func() error) {
	made := 0
	w.engine.OnCall(func(simulated.Call) error {
		if w.dead.Load() {
			return errKilled
		}
		return nil
	})
	do := func(write func() error) error {
		if w.dead.Load() {
			return errKilled
		}
		made++
		if made == number && at == before {
			return strike()
		}
		err := write()
		if made == number && at == after {
			return strike()
		}
		return err
	}
	w.reconciler.Client = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, p client.Patch, options ...client.PatchOption) error {
			return do(func() error { return c.Patch(ctx, object, p, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, subresource string, object client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			return do(func() error { return c.SubResource(subresource).Patch(ctx, object, p, options...) })
		},
	})
}
