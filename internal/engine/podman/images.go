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
	"net/url"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

type imageAnswer struct {
	ID          string `json:"Id"`
	RepoTags    []string
	RepoDigests []string
	Size        int64
	Labels      map[string]string
}

// InspectImage implements engine.Images.
func (e *Engine) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	fail := func(err error) (engine.Image, error) {
		return engine.Image{}, fmt.Errorf("inspect image %q: %w", reference, err)
	}
	if reference == "" {
		return fail(fmt.Errorf("no reference: %w", engine.ErrInvalid))
	}
	var raw imageAnswer
	if err := e.call(ctx, get("/images/"+url.PathEscape(reference)+"/json"), &raw); err != nil {
		return fail(err)
	}
	return engine.Image{
		ID: imageID(raw.ID), Tags: raw.RepoTags, Digests: raw.RepoDigests, SizeBytes: raw.Size, Labels: raw.Labels,
	}, nil
}

// LoadImage implements engine.Images.
func (e *Engine) LoadImage(ctx context.Context, archive io.Reader) error {
	source := &sourceReader{reader: archive}
	load := post("/images/load")
	load.body = source
	if err := source.or(e.call(ctx, load, nil)); err != nil {
		return fmt.Errorf("load image: %w", err)
	}
	return nil
}
