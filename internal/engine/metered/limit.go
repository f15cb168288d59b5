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
	"io"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/forward"
)

// How long an engine may take for one call. One that hangs on a container holds
// that container's lock: another caller would wait for it forever, and report of the
// rest what was true before. Both are far beyond what was measured of an engine that
// does answer, on a machine with a load of fifty on each processor.
//
// Reads are answered in milliseconds; changes end processes and remove files.
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
}

// Error implements error.
func (e *LateError) Error() string {
	return fmt.Sprintf("%v: no response to %s within %s", engine.ErrUnavailable, e.Call, e.Limit)
}

// Unwrap makes it an engine.ErrUnavailable.
func (e *LateError) Unwrap() error { return engine.ErrUnavailable }

// most time that a call may take; 0 = any.
func (e *Engine) most(c forward.Call) time.Duration {
	switch {
	case c.Long:
		return 0
	case c.Changes != "", c.Method == methodLog: // of a log there may be much to transfer
		return e.changeLimit
	default:
		return e.readLimit
	}
}

// within makes a call that has to end before its limit. One that does not is of
// an engine that is not available, to the caller.
func (e *Engine) within(ctx context.Context, c forward.Call, do func(context.Context, engine.Engine) error) error {
	most := e.most(c)
	if most == 0 {
		return do(ctx, e.inner)
	}
	ctx, limited := limit(ctx, c.Method, most)
	return limited.end(do(ctx, e.inner))
}

// limited is a call that has a limit.
type limited struct {
	ctx    context.Context //nolint:containedctx // It is asked why it ended.
	cancel context.CancelFunc
	late   error
}

func limit(ctx context.Context, method string, most time.Duration) (context.Context, limited) {
	late := &LateError{Call: method, Limit: most}
	ctx, cancel := context.WithTimeoutCause(ctx, most, late)
	return ctx, limited{ctx: ctx, cancel: cancel, late: late}
}

// end releases what belongs to the call.
func (l limited) end(err error) error {
	defer l.cancel()
	return l.explain(err)
}

// explain an error by what caused it.
func (l limited) explain(err error) error {
	if err != nil && errors.Is(context.Cause(l.ctx), l.late) {
		return l.late
	}
	return err
}

// Download implements engine.Archiver. The recorded time is until the stream
// begins; the limit is that of the whole.
func (e *Engine) Download(ctx context.Context, name, path string) (io.ReadCloser, error) {
	ctx, limited := limit(ctx, "Download", e.readLimit)
	out, err := e.forwarded.Download(ctx, name, path)
	if err != nil {
		return nil, limited.end(err)
	}
	return stream{ReadCloser: out, limited: limited}, nil
}

// stream is what a call with a limit returned for reading.
type stream struct {
	io.ReadCloser

	limited limited
}

func (s stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	return n, s.limited.explain(err)
}

func (s stream) Close() error { return s.limited.end(s.ReadCloser.Close()) }
