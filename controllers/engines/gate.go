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

package engines

import (
	"context"
	"errors"
	"sync"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/forward"
)

// gate passes calls on to an engine while that responds. When it is closed, the calls that are
// inside end with the reason, as do all others until it is opened.
type gate struct {
	forward.Engine

	inner engine.Engine

	mutex sync.Mutex
	// reason why it is closed; nil = it is open.
	reason error
	// open ends when the gate is closed, with the reason.
	open  context.Context //nolint:containedctx // It is the state of the gate.
	close context.CancelCauseFunc
}

// newGate returns one that is closed until the engine has responded.
func newGate(ctx context.Context, inner engine.Engine, reason error) *gate {
	g := &gate{inner: inner, reason: reason}
	g.open, g.close = context.WithCancelCause(ctx)
	g.Engine = forward.New(g.pass)
	return g
}

// closed returns why it is; nil where it is open.
func (g *gate) closed() error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.reason
}

// set closes the gate with a reason, or opens it without one. It reports whether it was the other way
// before. ctx bounds what an open gate lets in.
func (g *gate) set(ctx context.Context, reason error) (changed bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	changed = (g.reason == nil) != (reason == nil)
	g.reason = reason
	switch {
	case reason != nil:
		g.close(reason)
	case changed:
		g.close(nil)
		g.open, g.close = context.WithCancelCause(ctx)
	}
	return changed
}

// pass a call, which ends when the gate is closed. A stream that the call returns does so too.
func (g *gate) pass(ctx context.Context, call forward.Call, do func(context.Context, engine.Engine) error) error {
	g.mutex.Lock()
	open, reason := g.open, g.reason
	g.mutex.Unlock()
	if reason != nil {
		return reason
	}
	inside, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(open, func() { cancel(context.Cause(open)) })
	if call.Method == "Download" || call.Method == "SaveImage" {
		// The stream is read after the call, until the context of the caller ends.
		context.AfterFunc(inside, func() { stop() })
	} else {
		defer func() { stop(); cancel(nil) }()
	}
	err := do(inside, g.inner)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.Canceled) && open.Err() != nil {
		return context.Cause(open)
	}
	return err
}

// Events implements engine.EventSource.
func (g *gate) Events(ctx context.Context, handle func(engine.Event)) { g.inner.Events(ctx, handle) }

// Close implements engine.Host.
func (g *gate) Close() error { return g.inner.Close() }
