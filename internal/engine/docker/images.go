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

	"github.com/moby/moby/api/types/jsonstream"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// InspectImage implements engine.Images.
func (e *Engine) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	if err := e.open(ctx); err != nil {
		return engine.Image{}, err
	}
	raw, err := e.client.ImageInspect(ctx, reference)
	if err != nil {
		return engine.Image{}, fmt.Errorf("inspect image %q: %w", reference, typed(err))
	}
	out := engine.Image{ID: raw.ID, Tags: raw.RepoTags, Digests: raw.RepoDigests, SizeBytes: raw.Size, Architecture: raw.Architecture}
	if raw.Config != nil {
		out.Labels = raw.Config.Labels
	}
	return out, nil
}

// LoadImage implements engine.Images.
func (e *Engine) LoadImage(ctx context.Context, archive io.Reader) error {
	if err := e.open(ctx); err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("load image: %w", err) }
	source := &adapter.Source{Reader: archive}
	stream, err := e.client.ImageLoad(ctx, source)
	if err := source.Or(typed(err)); err != nil {
		return fail(err)
	}
	defer stream.Close()
	if err := messages(stream, func(jsonstream.Message) {}); err != nil {
		return fail(typed(err))
	}
	return nil
}

// SaveImage implements engine.Images.
func (e *Engine) SaveImage(ctx context.Context, reference string) (io.ReadCloser, error) {
	// Found first: an older engine answers with an archive of nothing.
	if _, err := e.InspectImage(ctx, reference); err != nil {
		return nil, err
	}
	stream, err := e.client.ImageSave(ctx, []string{reference})
	if err != nil {
		return nil, fmt.Errorf("save image %q: %w", reference, typed(err))
	}
	return stream, nil
}

// messages reads a stream of progress to its end. An error that the engine
// reports within the stream is returned.
func messages(stream io.Reader, handle func(jsonstream.Message)) error {
	return typed(engine.Messages(stream, func(message jsonstream.Message) error {
		if message.Error != nil {
			return message.Error
		}
		handle(message)
		return nil
	}))
}
