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
	"errors"
	"io"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Exec implements engine.Executor by the handler of HandleExec, which is
// called without any lock and may use the engine's controls.
func (e *Engine) Exec(ctx context.Context, name string, command engine.Command) (engine.Output, error) { //nolint:gocognit // Steps, one after the other.
	call, err := e.begin(ctx, Call{Method: "Exec", Name: name, Mutating: true, Command: slices.Clone(command.Args)})
	if err != nil {
		return engine.Output{}, err
	}
	err = e.locked(func() error {
		c, err := e.find(name)
		if err != nil {
			return err
		}
		if c.status != engine.StatusRunning {
			return conflict("container %q is %s", name, c.status)
		}
		name = c.spec.Name
		return nil
	})
	if err != nil {
		return engine.Output{}, err
	}
	if len(command.Args) == 0 {
		return engine.Output{}, invalid("no command for container %q", name)
	}
	e.hooks.mu.Lock()
	handler := e.hooks.exec
	e.hooks.mu.Unlock()
	if handler == nil {
		return engine.Output{}, e.end(call)
	}
	output, ended := handler(name, command)
	if exit := new(engine.ExitError); ended != nil && !errors.As(ended, &exit) {
		return output, ended
	}
	for _, stream := range []struct {
		to   io.Writer
		text *[]byte
	}{{command.Stdout, &output.Stdout}, {command.Stderr, &output.Stderr}} {
		if stream.to == nil || len(*stream.text) == 0 {
			continue
		}
		if _, err := stream.to.Write(*stream.text); err != nil {
			return engine.Output{}, err
		}
		*stream.text = nil
	}
	if max(len(output.Stdout), len(output.Stderr)) > engine.MaxReadBytes {
		return output, engine.ErrTooLarge
	}
	if ended != nil {
		return output, ended
	}
	return output, e.end(call)
}
