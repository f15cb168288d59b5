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
	"fmt"
	"io"
	"strconv"

	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

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
