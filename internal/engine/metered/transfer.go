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
	"io"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// transfers is an engine during one call: what it transfers is progress.
type transfers struct {
	engine.Engine

	limited *limited
}

// Upload implements engine.Archiver.
func (t transfers) Upload(ctx context.Context, name string, archive io.Reader) error {
	return t.Engine.Upload(ctx, name, input{archive, t.limited})
}

// Exec implements engine.Executor.
func (t transfers) Exec(ctx context.Context, name string, command engine.Command) (engine.Output, error) {
	if command.Stdin != nil {
		command.Stdin = input{command.Stdin, t.limited}
	}
	if command.Stdout != nil {
		command.Stdout = output{command.Stdout, t.limited}
	}
	if command.Stderr != nil {
		command.Stderr = output{command.Stderr, t.limited}
	}
	return t.Engine.Exec(ctx, name, command)
}

// ContainerLog implements engine.Logs.
func (t transfers) ContainerLog(ctx context.Context, name string, request engine.LogRequest, out io.Writer) error {
	return t.Engine.ContainerLog(ctx, name, request, output{out, t.limited})
}

// input is what the caller gives to the engine.
type input struct {
	io.Reader

	limited *limited
}

// Read implements io.Reader.
func (i input) Read(p []byte) (int, error) {
	resume := i.limited.suspend()
	defer resume()
	return i.Reader.Read(p)
}

// Close the caller's reader, where it can be closed: see engine.Command.
func (i input) Close() error {
	if closer, ok := i.Reader.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// output is where the caller gets what the engine sends.
type output struct {
	io.Writer

	limited *limited
}

// Write implements io.Writer.
func (o output) Write(p []byte) (int, error) {
	resume := o.limited.suspend()
	defer resume()
	return o.Writer.Write(p)
}

// Download implements engine.Archiver. The recorded time is until the stream begins.
func (e *Engine) Download(ctx context.Context, name, path string) (io.ReadCloser, error) {
	ctx, limited := limit(ctx, &LateError{Call: "Download", Limit: e.readLimit, Engine: e.name})
	out, err := e.forwarded.Download(ctx, name, path)
	if err != nil {
		return nil, limited.end(err)
	}
	return &stream{ReadCloser: out, limited: limited, resume: limited.suspend()}, nil
}

// stream is what a call with a limit returned for reading. The limit holds during each
// Read, and is suspended between them.
type stream struct {
	io.ReadCloser

	limited *limited
	resume  func()
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	s.resume()
	n, err := s.ReadCloser.Read(p)
	s.resume = s.limited.suspend()
	return n, s.limited.explain(err)
}

// Close implements io.Closer.
func (s *stream) Close() error { return s.limited.end(s.ReadCloser.Close()) }
