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
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// execPoll is how often a command whose output has ended is asked for its
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
	created, err := e.client.ContainerExecCreate(ctx, id, container.ExecOptions{
		Cmd: command.Args, User: command.User,
		AttachStdin: command.Stdin != nil, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return engine.Output{}, fail(typed(err))
	}
	stream, err := e.client.ContainerExecAttach(ctx, created.ID, container.ExecAttachOptions{})
	if err != nil {
		return engine.Output{}, fail(e.explainAttach(ctx, name, err))
	}
	output, err := communicate(ctx, stream, command.Stdin)
	if err != nil {
		return output, fail(err)
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

// communicate writes the input and reads the output, both to their ends, and
// returns when both are done or ctx has ended.
func communicate(ctx context.Context, stream types.HijackedResponse, stdin []byte) (engine.Output, error) {
	defer stream.Close()
	// Closing the connection is what ends reads and writes under way.
	stopWatching := context.AfterFunc(ctx, stream.Close)
	defer stopWatching()

	written := make(chan struct{})
	go func() {
		defer close(written)
		if stdin == nil {
			return
		}
		// A command that does not read its input to the end is no error: its
		// exit code says how it went.
		_, _ = stream.Conn.Write(stdin)
		_ = stream.CloseWrite()
	}()

	var stdout, stderr engine.Buffer
	err := engine.Demultiplex(stream.Reader, &stdout, &stderr)
	stream.Close()
	<-written
	output := engine.Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if ctx.Err() != nil {
		return output, ctx.Err()
	}
	if err != nil {
		return output, fmt.Errorf("read output: %w", typed(err))
	}
	return output, nil
}

func (e *Engine) exitCode(ctx context.Context, id string) (int, error) {
	for {
		state, err := e.client.ContainerExecInspect(ctx, id)
		if err != nil {
			return 0, fmt.Errorf("read exit code: %w", typed(err))
		}
		if !state.Running {
			return state.ExitCode, nil
		}
		if err := wait(ctx, execPoll); err != nil {
			return 0, fmt.Errorf("wait for exit code: %w", err)
		}
	}
}
