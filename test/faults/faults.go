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

// Package faults disturbs a piece of work once at each of its calls of the engine and of its
// writes to the API server: the manager is killed, an answer is lost, the engine refuses or
// restarts, objects lose their status.
package faults

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
)

// Kind of fault.
type Kind string

// The kinds of faults.
const (
	// Killed: the manager ends immediately and another one is started.
	Killed Kind = "killed"
	// Forgotten is Killed, and meanwhile the objects lose what a move, a restore or a user
	// takes from them.
	Forgotten Kind = "forgotten"
	// Unavailable: the answer is an error.
	Unavailable Kind = "unavailable"
	// Refused: the engine answers with an error, and does nothing.
	Refused Kind = "refused"
	// Restarted: the engine restarts before the call.
	Restarted Kind = "restarted"
)

// Side of the effect that a fault is on.
type Side string

// The sides.
const (
	Before Side = "before"
	After  Side = "after"
)

// Target is what is disturbed.
type Target string

// The targets.
const (
	EngineCall Target = "engine call"
	APIWrite   Target = "API write"
)

// Fault is one disturbance of a run; the zero value is none.
type Fault struct {
	Target Target
	// Number of the call or the write, from 1.
	Number int
	Side   Side
	Kind   Kind
}

// String names the fault.
func (f Fault) String() string {
	return fmt.Sprintf("%s-%02d-%s-%s", f.Target, f.Number, f.Kind, f.Side)
}

var (
	// errKilled is what the manager panics with.
	errKilled = errors.New("the manager is killed")
	// errRefused is an answer of the engine that no code knows.
	errRefused = errors.New("no space left on device")
)

// Each does the work once undisturbed, and then once for each fault of it that is wanted.
func Each(t *testing.T, wanted func(Fault) bool, run func(*testing.T, Fault) *Injector) {
	t.Helper()
	undisturbed := run(t, Fault{})
	if t.Failed() {
		return
	}
	all := undisturbed.Faults()
	t.Logf("%d engine calls, %d API writes", len(undisturbed.calls), undisturbed.writes)
	for _, fault := range all {
		if wanted == nil || wanted(fault) {
			t.Run(fault.String(), func(t *testing.T) {
				if injector := run(t, fault); !injector.struck {
					t.Log("it did not strike")
				}
			})
		}
	}
}

// Injector lets one fault strike once. Safe for concurrent use.
type Injector struct {
	fault Fault
	world World

	mutex sync.Mutex
	// calls and writes of the manager so far, and until the last Mark.
	calls                     []simulated.Call
	writes                    int
	markedCalls, markedWrites int
	// acting: the manager acts now. What is called otherwise is the test's.
	acting       bool
	dead, struck bool
}

// World is what the faults change.
type World interface {
	// LoseStatus has the objects lose what is neither spec nor a record.
	LoseStatus()
	// Revive starts another manager.
	Revive()
	// RestartEngine restarts the engine.
	RestartEngine()
}

// Arm lets the fault strike in the world.
func (f Fault) Arm(world World) *Injector { return &Injector{fault: f, world: world} }

// Struck reports whether it has happened. After a call that did not succeed it does
// not: that would be as after the call before.
func (i *Injector) Struck() bool {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.struck
}

// Mark says that the work continues: what follows the last one is no part of it.
func (i *Injector) Mark() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.markedCalls, i.markedWrites = len(i.calls), i.writes
}

// BeforeCall is to run before the effect of each call of the manager, and its error to be the
// call's.
func (i *Injector) BeforeCall(call simulated.Call) error {
	return i.strike(EngineCall, Before, func() int { i.calls = append(i.calls, call); return len(i.calls) })
}

// AfterCall is BeforeCall after the effect.
func (i *Injector) AfterCall(simulated.Call) error {
	return i.strike(EngineCall, After, func() int { return len(i.calls) })
}

// BeforeWrite is BeforeCall for writes to the API server.
func (i *Injector) BeforeWrite() error {
	return i.strike(APIWrite, Before, func() int { i.writes++; return i.writes })
}

// AfterWrite is BeforeWrite after the effect.
func (i *Injector) AfterWrite() error {
	return i.strike(APIWrite, After, func() int { return i.writes })
}

func (i *Injector) strike(target Target, side Side, count func() int) error {
	kind := i.strikes(target, side, count)
	switch kind {
	case "":
		return nil
	case Killed, Forgotten:
		panic(errKilled)
	case Refused:
		return errRefused
	case Restarted:
		i.world.RestartEngine()
		return nil
	case Unavailable:
	}
	if target == APIWrite {
		return apierrors.NewTimeoutError("the API server does not answer", 1)
	}
	return fmt.Errorf("the engine does not answer: %w", engine.ErrUnavailable)
}

// strikes returns the kind of what happens now; empty = nothing.
func (i *Injector) strikes(target Target, side Side, count func() int) Kind {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if !i.acting {
		return ""
	}
	// A manager that is killed does nothing more, though its deferred functions run when a
	// test kills it by a panic.
	if i.dead {
		return Killed
	}
	number := count()
	if i.struck || i.fault.Target != target || i.fault.Side != side || i.fault.Number != number {
		return ""
	}
	i.struck = true
	i.dead = i.fault.Kind == Killed || i.fault.Kind == Forgotten
	return i.fault.Kind
}

// Guard lets the manager act. Where it is killed meanwhile, another one is started.
func (i *Injector) Guard(act func()) {
	i.begin(true)
	defer func() {
		cause := recover()
		i.begin(false)
		if cause == any(errKilled) {
			if i.fault.Kind == Forgotten {
				i.world.LoseStatus()
			}
			i.world.Revive()
		} else if cause != nil {
			panic(cause)
		}
	}()
	act()
}

func (i *Injector) begin(acting bool) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.acting, i.dead = acting, false
}

// Faults are all that can befall the work until the last Mark. To be killed at any other moment
// is the same as to be killed after the effect before it, and the answer to a question is lost
// the same way on both sides: these are left out.
func (i *Injector) Faults() []Fault {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	all := []Fault{{EngineCall, 1, Before, Killed}}
	for at, call := range i.calls[:i.markedCalls] {
		number := at + 1
		all = append(all, Fault{EngineCall, number, Before, Unavailable})
		if call.Mutating && !simulatedhaproxy.Reads(call) {
			all = append(all,
				Fault{EngineCall, number, After, Unavailable},
				Fault{EngineCall, number, After, Killed},
				Fault{EngineCall, number, After, Forgotten},
				Fault{EngineCall, number, Before, Refused},
				Fault{EngineCall, number, Before, Restarted},
			)
		}
	}
	for at := range i.markedWrites {
		number := at + 1
		all = append(all,
			Fault{APIWrite, number, Before, Unavailable},
			Fault{APIWrite, number, After, Unavailable},
			Fault{APIWrite, number, After, Killed},
			Fault{APIWrite, number, After, Forgotten},
		)
	}
	return all
}

// Of returns a filter for the kinds.
func Of(kinds ...Kind) func(Fault) bool {
	return func(fault Fault) bool { return slices.Contains(kinds, fault.Kind) }
}
