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
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/imageref"
)

type imageAnswer struct {
	ID           string `json:"Id"`
	RepoTags     []string
	RepoDigests  []string
	Size         int64
	Architecture string
	Labels       map[string]string
}

// InspectImage implements engine.Images.
func (e *Engine) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	_, raw, err := e.localImage(ctx, reference)
	if err != nil {
		return engine.Image{}, fmt.Errorf("inspect image %q: %w", reference, err)
	}
	return engine.Image{
		ID: imageID(raw.ID), Tags: raw.RepoTags, Digests: raw.RepoDigests, SizeBytes: raw.Size, Architecture: raw.Architecture, Labels: raw.Labels,
	}, nil
}

// localImage finds an image and the name that Podman has it by.
func (e *Engine) localImage(ctx context.Context, reference string) (string, imageAnswer, error) {
	if reference == "" {
		return "", imageAnswer{}, fmt.Errorf("no reference: %w", engine.ErrInvalid)
	}
	var raw imageAnswer
	var err error
	for _, name := range localNames(reference) {
		err = e.call(ctx, get("/images/"+url.PathEscape(name)+"/json"), &raw)
		if !errors.Is(err, engine.ErrNotFound) {
			return name, raw, err
		}
	}
	return "", raw, err
}

// localNames are the names that a reference may have an image by, the first
// that there is counts. Podman itself would try the registries of its
// configuration, and whatever ends alike. It puts localhost/ before a name
// without a registry when it loads an archive.
func localNames(reference string) []string {
	parsed, err := imageref.Parse(reference)
	switch {
	case err != nil:
		return []string{reference} // an ID, or what Podman refuses
	case parsed.Short:
		return []string{"localhost/" + reference, parsed.Name}
	}
	return []string{parsed.Name}
}

// LoadImage implements engine.Images.
func (e *Engine) LoadImage(ctx context.Context, archive io.Reader) error {
	source := &adapter.Source{Reader: archive}
	load := post("/images/load")
	load.body = source
	if err := source.Or(e.call(ctx, load, nil)); err != nil {
		return fmt.Errorf("load image: %w", err)
	}
	return nil
}

// SaveImage implements engine.Images.
func (e *Engine) SaveImage(ctx context.Context, reference string) (io.ReadCloser, error) {
	fail := func(err error) (io.ReadCloser, error) { return nil, fmt.Errorf("save image %q: %w", reference, err) }
	name, _, err := e.localImage(ctx, reference)
	if err != nil {
		return fail(err)
	}
	stream, err := e.stream(ctx, get("/images/"+url.PathEscape(name)+"/get").with("format", "docker-archive"))
	if err != nil {
		return fail(err)
	}
	return stream, nil
}
