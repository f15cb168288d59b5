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
	"os"
	"slices"
	"testing"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// disturbed is a world with a fault in it.
type disturbed struct {
	*world.World
	// lose is what objects lose while no manager runs; nil = nothing.
	lose func(*world.World)
}

// LoseStatus implements faults.World.
func (d disturbed) LoseStatus() {
	if d.lose != nil {
		d.lose(d.World)
	}
}

// Revive implements faults.World.
func (d disturbed) Revive() { d.Restart() }

// RestartEngine implements faults.World.
func (d disturbed) RestartEngine() { d.Engine.RestartEngine() }

// arm lets the fault strike once, counted from now.
func (d disturbed) arm(f faults.Fault) *faults.Injector {
	injector := f.Arm(d)
	hook(d.World, injector)
	return injector
}

// hook lets an injector see what the manager of a world does.
func hook(w *world.World, injector *faults.Injector) {
	w.Calls.Hook(injector.BeforeCall, injector.AfterCall)
	w.Writes.Hook(
		func(world.Write) error { return injector.BeforeWrite() },
		func(world.Write) error { return injector.AfterWrite() },
	)
}

// scenario is a piece of work that is disturbed.
type scenario struct {
	options []builders.Option
	// setup brings the world, undisturbed, to where the work is due.
	setup func(w *world.World)
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
			var want state
			faults.Each(t, faults.Of(faults.Killed, faults.Unavailable), func(t *testing.T, f faults.Fault) *faults.Injector {
				t.Helper()
				w, injector := s.run(t, f, nil)
				got := snapshot(t, w)
				if f == (faults.Fault{}) {
					want = got
				}
				if diff := difference(want, got); diff != "" {
					t.Errorf("The end differs (-undisturbed +disturbed):\n%s", diff)
				}
				return injector
			})
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
	_, whole := s.run(t, faults.Fault{}, nil)
	for _, f := range whole.Faults() {
		if f.Kind != faults.Killed {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(s.options...))
			injector := disturbed{w, nil}.arm(f)
			for looks := 0; looks < 10 && !injector.Struck(); looks++ {
				injector.Guard(func() { look(w) })
			}
			deleteAll(w)
			s.drive(w, injector)
			want := state{Networks: snapshot(t, world.New(t, builders.New())).Networks, Objects: map[string]any{}}
			if diff := difference(want, snapshot(t, w)); diff != "" {
				t.Errorf("Something is left (-want +left):\n%s", diff)
			}
		})
	}
}

// run the work with a fault, at which the objects may lose something, to its end.
func (s scenario) run(t *testing.T, f faults.Fault, lose func(*world.World)) (*world.World, *faults.Injector) {
	t.Helper()
	w := world.New(t, builders.New(s.options...))
	if s.setup != nil {
		s.setup(w)
	}
	injector := disturbed{w, lose}.arm(f)
	s.drive(w, injector)
	return w, injector
}

// drive lets both controllers look, a second apart, until nothing happens.
func (s scenario) drive(w *world.World, injector *faults.Injector) {
	w.TB.Helper()
	patience := max(s.patience, 3)
	quiet := 0
	for range 80 {
		versions := w.Versions()
		injector.Guard(func() { look(w) })
		w.Clock.SetTime(w.Clock.Now().Add(time.Second))
		if !slices.Equal(versions, w.Versions()) {
			quiet = 0
			injector.Mark()
			continue
		}
		if quiet++; quiet == patience {
			return
		}
	}
	w.TB.Fatalf("the work does not end; the last mutations: %v", w.Mutations())
}

// look lets each controller look once. Faults cause errors: the next reconcile continues.
func look(w *world.World) {
	_, _ = w.ReconcileCluster()
	for _, name := range []string{builders.Machine, secondMachine} {
		if _, there := world.Get(w, name, &infrav1.ContainerMachine{}); there {
			_, _ = w.ReconcileMachine(name)
		}
	}
}

// TestMain keeps the library that all waiting goes through from printing each
// kill with its stack.
func TestMain(m *testing.M) {
	utilruntime.PanicHandlers = nil
	os.Exit(m.Run())
}
