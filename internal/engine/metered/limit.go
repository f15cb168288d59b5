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

package metered

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/forward"
)

// How long an engine may take to answer, or to move the next piece of what it transfers.
// One that hangs on a container holds that container's lock: another caller would wait
// for it forever, and report stale state of the others. Both are far beyond what was
// measured of an engine that does answer, on a machine with a load of fifty on each
// processor.
//
// Reads are answered in milliseconds; changes end processes and remove files. A transfer
// has no limit in total: an image of many GB over a slow connection is as good as a small
// one. Nor does the time count in which the caller reads its own input or writes its own
// output.
const (
	defaultReadLimit   = 30 * time.Second
	defaultChangeLimit = 5 * time.Minute
)

// LateError says that the engine did not answer a call within its limit. To
// the caller it is not available.
type LateError struct {
	// Call is the name of the method.
	Call string
	// Limit is how long was waited.
	Limit time.Duration
	// Engine is the name of the engine; empty = the manager's own.
	Engine string
}

// Error implements error.
func (e *LateError) Error() string {
	return fmt.Sprintf("%v: no response to %s within %s", engine.ErrUnavailable, e.Call, e.Limit)
}

// Unwrap makes it an engine.ErrUnavailable.
func (e *LateError) Unwrap() error { return engine.ErrUnavailable }

// most time that a call may take without progress; 0 = any.
func (e *Engine) most(c forward.Call) time.Duration {
	switch {
	case c.Long:
		return 0
	case c.Changes != "", c.Method == methodLog: // of a log there may be much to search
		return e.changeLimit
	default:
		return e.readLimit
	}
}

// within makes a call that has to progress before its limit. One that does not is of
// an engine that is not available, to the caller.
func (e *Engine) within(ctx context.Context, c forward.Call, do func(context.Context, engine.Engine) error) error {
	most := e.most(c)
	if most == 0 {
		return do(ctx, e.inner)
	}
	ctx, limited := limit(ctx, &LateError{Call: c.Method, Limit: most, Engine: e.name})
	return limited.end(do(ctx, transfers{Engine: e.inner, limited: limited}))
}

// limited is a call that has a limit. The limit starts again with each piece of what is
// transferred, and is suspended while the caller reads or writes.
type limited struct {
	ctx    context.Context //nolint:containedctx // Its cause says why it ended.
	cancel context.CancelCauseFunc
	late   error
	most   time.Duration

	mu    sync.Mutex
	timer *time.Timer
	// callers that read or write now.
	callers int
	ended   bool
}

func limit(ctx context.Context, late *LateError) (context.Context, *limited) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &limited{ctx: ctx, cancel: cancel, late: late, most: late.Limit}
	l.timer = time.AfterFunc(l.most, func() { cancel(l.late) })
	return ctx, l
}

// suspend the limit until the returned function is called, which starts it again.
func (l *limited) suspend() (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.callers++
	l.timer.Stop()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.callers--; l.callers == 0 && !l.ended {
			l.timer.Reset(l.most)
		}
	}
}

// end releases what belongs to the call.
func (l *limited) end(err error) error {
	l.mu.Lock()
	l.ended = true
	l.timer.Stop()
	l.mu.Unlock()
	err = l.explain(err)
	l.cancel(nil)
	return err
}

// explain an error by what caused it.
func (l *limited) explain(err error) error {
	if err != nil && errors.Is(context.Cause(l.ctx), l.late) {
		return l.late
	}
	return err
}
