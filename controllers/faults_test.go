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

package controllers_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// kind of fault.
type kind string

const (
	// killed: the manager ends at once and another one is started.
	killed kind = "killed"
	// unavailable: the answer is an error.
	unavailable kind = "unavailable"
	// refused: the engine answers with an error, and does nothing.
	refused kind = "refused"
)

// side of the effect that a fault is on.
type side string

const (
	before side = "before"
	after  side = "after"
)

// target is what is disturbed.
type target string

const (
	engineCall target = "engine call"
	apiWrite   target = "API write"
)

// fault is one disturbance of a run.
type fault struct {
	target target
	number int
	side   side
	kind   kind
}

func (f fault) String() string {
	return fmt.Sprintf("%s-%02d-%s-%s", f.target, f.number, f.kind, f.side)
}

// errKilled is what the manager panics with.
var errKilled = errors.New("the manager is killed")

// errRefused is an answer of the engine that no code knows.
var errRefused = errors.New("no space left on device")

// armed is a fault in a world.
type armed struct {
	fault
	world         *world.World
	calls, writes int
	// dead: a manager that is killed does nothing more, though its deferred
	// functions run when a test kills it by a panic.
	dead bool
	lose func(w *world.World)
	// struck: it has happened. After a call that did not succeed it does not:
	// that would be as after the call before.
	struck bool
}

// arm lets the fault strike once, counted from now.
func (f fault) arm(w *world.World) *armed {
	a := &armed{fault: f, world: w, calls: len(w.Calls.Made()), writes: len(w.Writes.Made())}
	w.Calls.Hook(
		func(call simulated.Call) error { return a.strike(engineCall, before, call.Number-a.calls) },
		func(call simulated.Call) error { return a.strike(engineCall, after, call.Number-a.calls) },
	)
	w.Writes.Hook(
		func(write world.Write) error { return a.strike(apiWrite, before, write.Number-a.writes) },
		func(write world.Write) error { return a.strike(apiWrite, after, write.Number-a.writes) },
	)
	return a
}

func (a *armed) strike(target target, side side, number int) error {
	if a.dead {
		panic(errKilled)
	}
	if a.target != target || a.side != side || a.number != number {
		return nil
	}
	a.struck = true
	if a.kind == killed {
		a.dead = true
		panic(errKilled)
	}
	if a.kind == refused {
		return errRefused
	}
	if target == apiWrite {
		return apierrors.NewTimeoutError("the API server does not answer", 1)
	}
	return fmt.Errorf("the engine does not answer: %w", engine.ErrUnavailable)
}

// revive starts another manager.
func (a *armed) revive() {
	a.dead = false
	if a.lose != nil {
		a.lose(a.world)
	}
	a.world.Restart()
}

// scenario is a piece of work that is disturbed.
type scenario struct {
	options []builders.Option
	// setup brings the world, undisturbed, to where the work is due.
	setup func(w *world.World)
	// lose removes what a move, a restore or a user takes from the objects, while
	// no manager runs; nil = nothing.
	lose func(w *world.World)
	// patience is for how many looks nothing may change before the work
	// counts as ended; 3 where it is 0.
	patience int
}

// TestFaults does each piece of work once undisturbed, and then again for
// each call of the engine and each write to the API server, with the manager
// killed or the answer lost, before and after the effect. The end must be the
// same each time.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			undisturbed := s.run(t, nil)
			want := snapshot(t, undisturbed.world)
			t.Logf("%d engine calls, %d API writes", len(undisturbed.calls), undisturbed.writes)
			for _, f := range undisturbed.faults() {
				t.Run(f.String(), func(t *testing.T) {
					got := s.run(t, &f)
					if diff := difference(want, snapshot(t, got.world)); diff != "" {
						t.Errorf("The end differs (-undisturbed +disturbed):\n%s", diff)
					}
				})
			}
		})
	}
}

// TestDeletedHalfWay deletes a partly created cluster at each point: whatever
// the manager had done before it was killed, nothing is left.
func TestDeletedHalfWay(t *testing.T) {
	t.Parallel()
	s := scenario{options: []builders.Option{builders.ControlPlane(builders.InitData), func(o *builders.Objects) {
		o.ContainerCluster.Spec.Network.Name = "mine"
		o.ContainerCluster.Spec.OwnerID, o.ContainerCluster.Finalizers, o.ContainerMachine.Finalizers = "", nil, nil
	}}}
	whole := s.run(t, nil)
	for _, f := range whole.faults() {
		if f.kind != killed {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(s.options...))
			a := f.arm(w)
			for looks := 0; looks < 10 && !a.struck; looks++ {
				look(a)
			}
			deleteAll(w)
			s.drive(t, a)
			want := state{Networks: snapshot(t, world.New(t, builders.New())).Networks, Objects: map[string]any{}}
			if diff := difference(want, snapshot(t, w)); diff != "" {
				t.Errorf("Something is left (-want +left):\n%s", diff)
			}
		})
	}
}

// outcome of a run.
type outcome struct {
	world *world.World
	// calls made until nothing changed any more, and writes.
	calls  []simulated.Call
	writes int
}

// faults are all that can befall the run. To be killed before a call is the
// same as to be killed after the one before it, and the answer to a question
// is lost the same way on both sides: these are left out.
func (o outcome) faults() []fault {
	all := []fault{{target: engineCall, number: 1, side: before, kind: killed}}
	for _, call := range o.calls {
		all = append(all,
			fault{target: engineCall, number: call.Number, side: after, kind: killed},
			fault{target: engineCall, number: call.Number, side: before, kind: unavailable},
		)
		if call.Mutating && !simulatedhaproxy.Reads(call) {
			all = append(all, fault{target: engineCall, number: call.Number, side: after, kind: unavailable})
		}
	}
	for number := range o.writes {
		for _, kind := range []kind{killed, unavailable} {
			for _, side := range []side{before, after} {
				all = append(all, fault{target: apiWrite, number: number + 1, side: side, kind: kind})
			}
		}
	}
	return all
}

func (s scenario) run(t *testing.T, f *fault) outcome {
	t.Helper()
	w := world.New(t, builders.New(s.options...))
	if s.setup != nil {
		s.setup(w)
	}
	if f == nil {
		f = &fault{}
	}
	a := f.arm(w)
	a.lose = s.lose
	calls := s.drive(t, a)
	result := outcome{world: w, calls: w.Calls.Made()[a.calls:calls], writes: len(w.Writes.Made()) - a.writes}
	for i := range result.calls {
		result.calls[i].Number = i + 1
	}
	return result
}

// drive lets both controllers look, a second apart, until nothing happens. It
// returns how many calls were made until then.
func (s scenario) drive(t *testing.T, a *armed) (calls int) {
	t.Helper()
	w := a.world
	patience := max(s.patience, 3)
	quiet := 0
	for range 80 {
		versions := w.Versions()
		look(a)
		w.Clock.SetTime(w.Clock.Now().Add(time.Second))
		if !slices.Equal(versions, w.Versions()) {
			quiet = 0
			calls = len(w.Calls.Made())
			continue
		}
		if quiet++; quiet == patience {
			return calls
		}
	}
	t.Fatalf("the work does not end; the last mutations: %v", w.Mutations())
	return 0
}

// look lets each controller look once.
func look(a *armed) {
	w := a.world
	a.guarded(func() {
		// Faults cause errors: the next reconcile continues.
		_, _ = w.ReconcileCluster()
		for _, name := range []string{builders.Machine, secondMachine} {
			if _, there := world.Get(w, name, &infrav1.ContainerMachine{}); there {
				_, _ = w.ReconcileMachine(name)
			}
		}
	})
}

// guarded starts another manager where one is killed meanwhile.
func (a *armed) guarded(look func()) {
	defer func() {
		if cause := recover(); cause != nil {
			if cause != any(errKilled) {
				panic(cause)
			}
			a.revive()
		}
	}()
	look()
}

// TestMain keeps the library that all waiting goes through from printing each
// kill with its stack.
func TestMain(m *testing.M) {
	utilruntime.PanicHandlers = nil
	os.Exit(m.Run())
}
