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

package simulated

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Call is one call of an engine method, as the journal records it.
type Call struct {
	// Number counts the calls from 1.
	Number int
	// Method as engine names it, such as "StartContainer".
	Method string
	// Name of the container, network, volume or image in question.
	Name string
	// Mutating: the method may change something. Exec counts as mutating,
	// whatever the command; see Command.
	Mutating bool
	// Command is what Exec ran.
	Command []string
}

type hooks struct {
	mu      sync.Mutex
	journal []Call
	// calls made so far, and whether the journal does not have them.
	calls   int
	forgets bool
	fail    map[string][]error
	before  []func(Call) error
	after   []func(Call) error
	start   []func(name string)
	logs    map[string]string
	exec    func(container string, command engine.Command) (engine.Output, error)
}

// script changes what a test scripts, or reads it.
func (e *Engine) script(how func(*hooks)) {
	e.hooks.mu.Lock()
	defer e.hooks.mu.Unlock()
	how(&e.hooks)
}

// Journal returns the calls made so far, in order, those that failed included.
func (e *Engine) Journal() []Call {
	e.hooks.mu.Lock()
	defer e.hooks.mu.Unlock()
	return slices.Clone(e.hooks.journal)
}

// MutatingCalls returns the calls of the journal that may change something.
func (e *Engine) MutatingCalls() []Call {
	return slices.DeleteFunc(e.Journal(), func(c Call) bool { return !c.Mutating })
}

// ResetJournal forgets the calls made so far and counts from 1 again.
func (e *Engine) ResetJournal() {
	e.script(func(h *hooks) { h.journal, h.calls = nil, 0 })
}

// FailNext lets the next call of the method return err, without any effect.
// Said several times, that many calls fail, in that order.
func (e *Engine) FailNext(method string, err error) {
	e.script(func(h *hooks) { h.fail[method] = append(h.fail[method], err) })
}

// OnCall adds a hook that runs before the effect of each call. Its error is
// returned instead of making the call. It may panic, which no lock survives,
// and it may call the engine.
func (e *Engine) OnCall(hook func(Call) error) {
	e.script(func(h *hooks) { h.before = append(h.before, hook) })
}

// AfterCall adds a hook that runs after the effect of each successful call.
// Its error is returned though the effect has happened, as when an engine's
// answer is lost.
func (e *Engine) AfterCall(hook func(Call) error) {
	e.script(func(h *hooks) { h.after = append(h.after, hook) })
}

// ResetHooks removes the hooks of OnCall and AfterCall and the failures of
// FailNext that did not happen yet.
func (e *Engine) ResetHooks() {
	e.script(func(h *hooks) { h.before, h.after, h.fail = nil, nil, map[string][]error{} })
}

// OnStart adds a hook that runs each time a container has started, before
// StartContainer returns and whatever starts it. It stands for what the
// container's process does.
func (e *Engine) OnStart(hook func(name string)) {
	e.script(func(h *hooks) { h.start = append(h.start, hook) })
}

// HandleExec sets what commands do. Without it every command prints nothing
// and ends with 0.
func (e *Engine) HandleExec(handler func(container string, command engine.Command) (engine.Output, error)) {
	e.script(func(h *hooks) { h.exec = handler })
}

// do makes one call: journal, faults, effect under the lock, faults again.
func (e *Engine) do(ctx context.Context, call Call, effect func() error) error {
	call, err := e.begin(ctx, call)
	if err != nil {
		return err
	}
	if err := e.locked(effect); err != nil {
		return err
	}
	return e.end(call)
}

// doTo makes a call about a container that is there.
func (e *Engine) doTo(ctx context.Context, call Call, effect func(*container) error) error {
	return e.do(ctx, call, func() error {
		c, err := e.find(call.Name)
		if err != nil {
			return err
		}
		return effect(c)
	})
}

// list makes a call that returns those of all that are selected, by name.
func list[T interface{ observed() O }, O any](
	ctx context.Context, e *Engine, method string, all map[string]T, selected func(O) bool,
) ([]O, error) {
	out := []O{}
	err := e.do(ctx, Call{Method: method}, func() error {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if one := all[name].observed(); selected(one) {
				out = append(out, one)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// inspect makes a call that returns one of all, by its name.
func inspect[T interface{ observed() O }, O any](ctx context.Context, e *Engine, call Call, kind string, all map[string]T) (O, error) {
	var out O
	err := e.do(ctx, call, func() error {
		one, ok := all[call.Name]
		if !ok {
			return absent(kind, call.Name)
		}
		out = one.observed()
		return nil
	})
	return out, err
}

// with gives a container to what a test does to it, with mu held.
func (e *Engine) with(name string, control func(*container) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(name)
	if err != nil {
		return err
	}
	return control(c)
}

func (e *Engine) locked(effect func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.reachable(); err != nil {
		return err
	}
	return effect()
}

// reachable is called with mu held.
func (e *Engine) reachable() error {
	if e.closed {
		return fmt.Errorf("simulated engine is closed: %w", engine.ErrUnavailable)
	}
	if e.down {
		return fmt.Errorf("simulated engine is down: %w", engine.ErrUnavailable)
	}
	return nil
}

func (e *Engine) begin(ctx context.Context, call Call) (Call, error) {
	if err := ctx.Err(); err != nil {
		return call, err
	}
	e.hooks.mu.Lock()
	e.hooks.calls++
	call.Number = e.hooks.calls
	if !e.hooks.forgets {
		e.hooks.journal = append(e.hooks.journal, call)
	}
	var planned error
	if errs := e.hooks.fail[call.Method]; len(errs) > 0 {
		planned, e.hooks.fail[call.Method] = errs[0], errs[1:]
	}
	before := slices.Clone(e.hooks.before)
	e.hooks.mu.Unlock()

	for _, hook := range before {
		if err := hook(call); err != nil {
			return call, err
		}
	}
	return call, planned
}

func (e *Engine) end(call Call) error {
	e.hooks.mu.Lock()
	after := slices.Clone(e.hooks.after)
	e.hooks.mu.Unlock()
	for _, hook := range after {
		if err := hook(call); err != nil {
			return err
		}
	}
	return nil
}

// started runs the hooks of OnStart. Called without mu.
func (e *Engine) started(names ...string) {
	e.hooks.mu.Lock()
	start := slices.Clone(e.hooks.start)
	e.hooks.mu.Unlock()
	for _, name := range names {
		for _, hook := range start {
			hook(name)
		}
	}
}
