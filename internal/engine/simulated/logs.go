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
	"io"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// SetLog sets what the process of a container of that name has printed.
func (e *Engine) SetLog(name, text string) {
	e.script(func(h *hooks) { h.logs[name] = text })
}

// ContainerLog implements engine.Logs. Nothing more is printed while it is
// followed, so that following a container that runs lasts as long as ctx.
func (e *Engine) ContainerLog(ctx context.Context, name string, request engine.LogRequest, out io.Writer) error {
	running := false
	err := e.doTo(ctx, Call{Method: "ContainerLog", Name: name}, func(c *container) error {
		name, running = c.spec.Name, c.running()
		return nil
	})
	if err != nil {
		return err
	}
	e.hooks.mu.Lock()
	lines := slices.Collect(strings.Lines(e.hooks.logs[name]))
	e.hooks.mu.Unlock()
	if request.Tail > 0 && len(lines) > request.Tail {
		lines = lines[len(lines)-request.Tail:]
	}
	if _, err := io.WriteString(out, strings.Join(lines, "")); err != nil {
		return err
	}
	if !request.Follow || !running {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}
