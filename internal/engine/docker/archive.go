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
	"path"

	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// Upload implements engine.Archiver. CopyUIDGID stays off: with it, Docker
// gives every file to the container's user; without it, to the owner that the
// archive says.
func (e *Engine) Upload(ctx context.Context, name string, archive io.Reader) error {
	id, err := e.container(ctx, name)
	if err != nil {
		return engine.Failed("upload to", name, err)
	}
	return adapter.Upload(ctx, name, archive, e.inspect, func(source io.Reader) error {
		_, err := e.client.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: "/", Content: source})
		return typed(err)
	})
}

// Download implements engine.Archiver.
func (e *Engine) Download(ctx context.Context, name, target string) (io.ReadCloser, error) {
	id, err := e.container(ctx, name)
	if err != nil {
		return nil, err
	}
	if !path.IsAbs(target) {
		return nil, engine.WithKind(fmt.Errorf("download %q from container %q: path is not absolute", target, name), engine.ErrInvalid)
	}
	copied, err := e.client.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: target})
	if err != nil {
		return nil, fmt.Errorf("download %q from container %q: %w", target, name, typed(err))
	}
	return copied.Content, nil
}
