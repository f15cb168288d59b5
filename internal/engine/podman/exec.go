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

package podman

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// execPoll is how often a command whose output has ended is polled for its exit
// code; it is nearly always there the first time.
const execPoll = 10 * time.Millisecond

// exitKilled is the exit code of what SIGKILL ended, as a shell has it.
const exitKilled = 137

// brokenPatience bounds waiting for the end of a command whose connection broke.
const brokenPatience = 2 * time.Second

// attachErrors begin what Podman says of such a command on its standard error.
var attachErrors = [][]byte{[]byte("Error: write unixpacket "), []byte("Error: read unixpacket ")}

type execBody struct {
	Command      []string `json:"Cmd"`
	User         string   `json:"User,omitempty"`
	AttachStdin  bool     `json:"AttachStdin"`
	AttachStdout bool     `json:"AttachStdout"`
	AttachStderr bool     `json:"AttachStderr"`
	Terminal     bool     `json:"Tty"`
}

type execStartBody struct {
	Detach   bool   `json:"Detach"`
	Terminal bool   `json:"Tty"`
	Rows     uint16 `json:"h,omitempty"`
	Columns  uint16 `json:"w,omitempty"`
}

type execAnswer struct {
	Running  bool
	ExitCode int
}

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
	create := post(containerPath(id) + "/exec").sending(execBody{
		Command: command.Args, User: command.User,
		AttachStdin: command.Stdin != nil, AttachStdout: true, AttachStderr: true, Terminal: command.Terminal != nil,
	})
	var created createdAnswer
	if err := e.call(ctx, create, &created); err != nil {
		return engine.Output{}, fail(err)
	}
	path := "/exec/" + url.PathEscape(created.ID)
	var start execStartBody
	if command.Terminal != nil {
		start = execStartBody{Terminal: true, Rows: command.Terminal.Size.Rows, Columns: command.Terminal.Size.Columns}
	}
	stream, err := e.attach(ctx, path, start)
	if err != nil {
		return engine.Output{}, fail(err)
	}
	stopResizing := adapter.Resize(ctx, command.Terminal, func(ctx context.Context, size engine.TerminalSize) error {
		return e.call(ctx, post(path+"/resize").with("h", fmt.Sprint(size.Rows)).with("w", fmt.Sprint(size.Columns)), nil)
	})
	defer stopResizing()
	output, broken := adapter.Communicate(ctx, stream, command.Stdin, adapter.Streams(command, dropAttachErrors))
	broken = typed(broken)
	var input *adapter.InputError
	if broken != nil && (ctx.Err() != nil || command.Stdin == nil || errors.Is(broken, engine.ErrTooLarge) || errors.As(broken, &input)) {
		return output, fail(broken)
	}
	code, err := e.exitCode(ctx, path, broken)
	if err != nil {
		return output, fail(err)
	}
	if code != 0 {
		return output, fail(&engine.ExitError{Code: code})
	}
	return output, nil
}

// attach starts the command and takes the connection over.
func (e *Engine) attach(ctx context.Context, path string, body execStartBody) (adapter.Duplex, error) {
	start := post(path + "/start").sending(body)
	start.header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"tcp"}}
	response, err := e.send(ctx, start)
	if err != nil {
		return nil, err
	}
	if stream, ok := response.Body.(adapter.Duplex); ok && response.StatusCode == http.StatusSwitchingProtocols {
		return stream, nil
	}
	defer response.Body.Close()
	if err := response.Process(nil); err != nil {
		return nil, typed(err)
	}
	return nil, fmt.Errorf("attach to the command: unexpected status %s", response.Status)
}

func dropAttachErrors(stderr io.Writer) io.Writer { return withoutAttachErrors{stderr} }

// withoutAttachErrors drops the pieces that are Podman's own.
type withoutAttachErrors struct{ io.Writer }

// Write implements io.Writer.
func (w withoutAttachErrors) Write(piece []byte) (int, error) {
	if slices.ContainsFunc(attachErrors, func(begin []byte) bool { return bytes.HasPrefix(piece, begin) }) {
		return len(piece), nil
	}
	return w.Writer.Write(piece)
}

// exitCode waits for the exit code of a command whose output has ended.
//
// A command that ends before it has read its input breaks the connection:
// Podman, which cannot hand the rest on, gives up. The command has ended then or
// is about to; where it has not, the connection broke for another reason.
func (e *Engine) exitCode(ctx context.Context, path string, broken error) (int, error) {
	for start := time.Now(); ; {
		var state execAnswer
		err := e.call(ctx, get(path+"/json"), &state)
		if isCause(err, define.ErrNoSuchExecSession) {
			// The container ended and took the command along.
			return exitKilled, nil
		}
		if err != nil {
			return 0, fmt.Errorf("read exit code: %w", err)
		}
		if !state.Running {
			return state.ExitCode, nil
		}
		if broken != nil && time.Since(start) > brokenPatience {
			return 0, broken
		}
		if err := adapter.Wait(ctx, execPoll); err != nil {
			return 0, fmt.Errorf("wait for exit code: %w", err)
		}
	}
}

// ContainerLog implements engine.Logs.
func (e *Engine) ContainerLog(ctx context.Context, name string, request engine.LogRequest, out io.Writer) error {
	fail := func(err error) error { return fmt.Errorf("read log of container %q: %w", name, err) }
	id, err := e.container(ctx, name)
	if err != nil {
		return err
	}
	read := get(containerPath(id)+"/logs").with("stdout", "true").with("stderr", "true").
		with("follow", strconv.FormatBool(request.Follow))
	if request.Tail > 0 {
		read = read.with("tail", strconv.Itoa(request.Tail))
	}
	stream, err := e.stream(ctx, read)
	if err != nil {
		return fail(err)
	}
	defer stream.Close()
	// Podman frames the log of a container with a terminal too.
	err = engine.Demultiplex(stream, out, out)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fail(err)
	}
	return nil
}
