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

package adapter

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Duplex is a connection whose writing side can be closed alone.
type Duplex interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// InputError is an error of a command's input, which the command takes for its end.
type InputError struct{ Err error }

// Error implements error.
func (e *InputError) Error() string { return "read input: " + e.Err.Error() }

// Unwrap returns the input's own error.
func (e *InputError) Unwrap() error { return e.Err }

// Streams returns what reads both outputs of a command from one stream, by Demultiplex, or the one of
// its terminal. stderr changes where the second one goes.
func Streams(command engine.Command, stderr func(io.Writer) io.Writer) func(io.Reader) (engine.Output, error) {
	return func(stream io.Reader) (engine.Output, error) {
		var out, errs engine.Buffer
		toStdout, toStderr := command.Stdout, command.Stderr
		if toStdout == nil {
			toStdout = &out
		}
		if toStderr == nil {
			toStderr = &errs
		}
		var err error
		if command.Terminal != nil {
			_, err = io.Copy(toStdout, stream)
		} else {
			err = engine.Demultiplex(stream, toStdout, stderr(toStderr))
		}
		return engine.Output{Stdout: out.Bytes(), Stderr: errs.Bytes()}, err
	}
}

// An engine refuses the size of a process that is about to start; the pause doubles with each refusal.
const (
	firstResizePause = 20 * time.Millisecond
	maxResizePause   = time.Second
)

// Resize gives a terminal its sizes, by a request of the engine, until the returned function is called. The
// first one too: Docker before 23.0 does not take it at the start. Each is repeated until the engine takes it: how
// long a process takes to start depends on the load of its host.
func Resize(ctx context.Context, terminal *engine.Terminal, resize func(context.Context, engine.TerminalSize) error) (stop func()) {
	if terminal == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for size := terminal.Size; ; {
			for pause := firstResizePause; size != (engine.TerminalSize{}) && resize(ctx, size) != nil; pause = min(2*pause, maxResizePause) {
				if Wait(ctx, pause) != nil {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case size = <-terminal.Sizes:
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// Communicate writes a command's input and reads its output, both to their ends, and
// returns when both are done or ctx has ended. It closes the connection.
func Communicate(
	ctx context.Context, stream Duplex, stdin io.Reader, read func(io.Reader) (engine.Output, error),
) (engine.Output, error) {
	defer stream.Close()
	// Closing the connection is what ends reads and writes under way.
	stopWatching := context.AfterFunc(ctx, func() { stream.Close() })
	defer stopWatching()

	source := &Source{Reader: stdin}
	written := make(chan struct{})
	go func() {
		defer close(written)
		if stdin == nil {
			return
		}
		// A command that does not read its input to the end is no error: its
		// exit code says how it went.
		_, _ = io.Copy(stream, source)
		_ = stream.CloseWrite()
	}()

	output, err := read(stream)
	stream.Close()
	source.stop()
	<-written
	if ctx.Err() != nil {
		return output, ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("read output: %w", err)
	}
	if source.err != nil {
		err = &InputError{source.err}
	}
	return output, err
}
