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

package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// execPoll is how often a command whose output has ended is polled for its
// exit code; it is nearly always there the first time.
const execPoll = 10 * time.Millisecond

// Exec implements engine.Executor.
func (e *Engine) Exec(ctx context.Context, name string, command engine.Command) (engine.Output, error) {
	fail := func(err error) error { return fmt.Errorf("run command in container %q: %w", name, err) }
	if len(command.Args) == 0 {
		return engine.Output{}, fail(fmt.Errorf("no command: %w", engine.ErrInvalid))
	}
	id, err := e.container(ctx, name)
	if err != nil {
		return engine.Output{}, err
	}
	attach := client.ExecAttachOptions{}
	if command.Terminal != nil {
		attach = client.ExecAttachOptions{TTY: true, ConsoleSize: consoleSize(command.Terminal.Size)}
	}
	created, err := e.client.ExecCreate(ctx, id, client.ExecCreateOptions{
		Cmd: command.Args, User: command.User, TTY: attach.TTY, ConsoleSize: attach.ConsoleSize,
		AttachStdin: command.Stdin != nil, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return engine.Output{}, fail(typed(err))
	}
	attached, err := e.client.ExecAttach(ctx, created.ID, attach)
	if err != nil {
		return engine.Output{}, fail(e.explainAttach(ctx, name, err))
	}
	stopResizing := adapter.Resize(ctx, command.Terminal, func(ctx context.Context, size engine.TerminalSize) error {
		_, err := e.client.ExecResize(ctx, created.ID, client.ExecResizeOptions(consoleSize(size)))
		return err
	})
	defer stopResizing()
	output, err := adapter.Communicate(ctx, hijacked{&attached.HijackedResponse}, command.Stdin, adapter.Streams(command, unchanged))
	if err != nil {
		return output, fail(typed(err))
	}
	code, err := e.exitCode(ctx, created.ID)
	if err != nil {
		return output, fail(err)
	}
	if code != 0 {
		return output, fail(&engine.ExitError{Code: code})
	}
	return output, nil
}

func consoleSize(size engine.TerminalSize) client.ConsoleSize {
	return client.ConsoleSize{Height: uint(size.Rows), Width: uint(size.Columns)}
}

// explainAttach gives its kind to an error whose status the client does not
// keep: mostly the container ended between the two requests.
func (e *Engine) explainAttach(ctx context.Context, name string, cause error) error {
	if ctx.Err() != nil || kindOf(cause) != nil {
		return typed(cause)
	}
	raw, err := e.inspect(ctx, name)
	if err != nil {
		return errors.Join(err, cause)
	}
	if now := observed(raw).Status; now != engine.StatusRunning {
		return fmt.Errorf("container is %s: %w", now, errors.Join(engine.ErrConflict, cause))
	}
	return cause
}

// hijacked is a connection of which the client has read ahead.
type hijacked struct{ *client.HijackedResponse }

func (h hijacked) Read(p []byte) (int, error)  { return h.Reader.Read(p) }
func (h hijacked) Write(p []byte) (int, error) { return h.Conn.Write(p) }
func (h hijacked) Close() error                { return h.Conn.Close() }

func unchanged(stderr io.Writer) io.Writer { return stderr }

func (e *Engine) exitCode(ctx context.Context, id string) (int, error) {
	for {
		state, err := e.client.ExecInspect(ctx, id, client.ExecInspectOptions{})
		if err != nil {
			return 0, fmt.Errorf("read exit code: %w", typed(err))
		}
		if !state.Running {
			return state.ExitCode, nil
		}
		if err := adapter.Wait(ctx, execPoll); err != nil {
			return 0, fmt.Errorf("wait for exit code: %w", err)
		}
	}
}

// ContainerLog implements engine.Logs.
func (e *Engine) ContainerLog(ctx context.Context, name string, request engine.LogRequest, out io.Writer) error {
	fail := func(err error) error { return fmt.Errorf("read log of container %q: %w", name, err) }
	raw, err := e.inspect(ctx, name)
	if err != nil {
		return err
	}
	options := client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Follow: request.Follow}
	if request.Tail > 0 {
		options.Tail = strconv.Itoa(request.Tail)
	}
	stream, err := e.client.ContainerLogs(ctx, raw.ID, options)
	if err != nil {
		return fail(typed(err))
	}
	defer stream.Close()
	if raw.Config != nil && raw.Config.Tty {
		_, err = io.Copy(out, stream)
	} else {
		err = engine.Demultiplex(stream, out, out)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fail(err)
	}
	return nil
}
