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
	"path"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// Upload implements engine.Archiver. copyUIDGID is false: otherwise Podman gives
// every file to the container's user.
func (e *Engine) Upload(ctx context.Context, name string, archive io.Reader) error {
	id, err := e.container(ctx, name)
	if err != nil {
		return engine.Failed("upload to", name, err)
	}
	return adapter.Upload(ctx, name, archive, e.inspect, func(source io.Reader) error {
		request := put(containerPath(id)+"/archive").with("path", "/").with("copyUIDGID", "false")
		request.body = source
		return e.call(ctx, request, nil)
	})
}

// Download implements engine.Archiver.
func (e *Engine) Download(ctx context.Context, name, target string) (io.ReadCloser, error) {
	fail := func(err error) (io.ReadCloser, error) {
		return nil, fmt.Errorf("download %q from container %q: %w", target, name, err)
	}
	if !path.IsAbs(target) {
		return fail(fmt.Errorf("path is not absolute: %w", engine.ErrInvalid))
	}
	id, err := e.container(ctx, name)
	if err != nil {
		return nil, err
	}
	stream, err := e.stream(ctx, get(containerPath(id)+"/archive").with("path", target))
	if err != nil {
		return fail(err)
	}
	return stream, nil
}
