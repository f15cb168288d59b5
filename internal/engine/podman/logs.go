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
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

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
