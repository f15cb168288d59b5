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
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

type image struct {
	engine.Image
	files tree
	// config of an archive it was loaded from, whose digest is the ID.
	config []byte
}

type registryImage struct {
	image       image
	credentials *engine.Credentials
}

// AddImage makes an image local, with the files its containers begin with. An
// empty ID is chosen from the tags. It returns the ID.
func (e *Engine) AddImage(img engine.Image, files map[string][]byte) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	root := newTree()
	for name, content := range files {
		// Without symbolic links no path can be refused.
		_ = root.putFile(name, content, e.now())
	}
	return e.addImage(image{Image: img, files: root})
}

// addImage takes the image's tags away from others, as loading does. Called
// with mu held.
func (e *Engine) addImage(img image) string {
	if img.ID == "" {
		img.ID = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(strings.Join(img.Tags, " "))))
	}
	e.images = slices.DeleteFunc(e.images, func(have *image) bool {
		have.Tags = slices.DeleteFunc(have.Tags, func(tag string) bool { return slices.Contains(img.Tags, tag) })
		return have.ID == img.ID
	})
	e.images = append(e.images, &img)
	return img.ID
}

// RemoveImage removes a local image by reference or ID.
func (e *Engine) RemoveImage(reference string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.images = slices.DeleteFunc(e.images, func(have *image) bool { return have.is(reference) })
}

// AddRegistryImage puts an image where PullImage finds it. With credentials,
// only who has them can pull it.
func (e *Engine) AddRegistryImage(reference string, img engine.Image, credentials *engine.Credentials) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Contains(img.Tags, reference) && !strings.Contains(reference, "@") {
		img.Tags = append(img.Tags, reference)
	}
	if strings.Contains(reference, "@") {
		img.Digests = append(img.Digests, reference)
	}
	e.registry[fullName(reference)] = &registryImage{image: image{Image: img, files: newTree()}, credentials: credentials}
}

func (i *image) is(reference string) bool {
	named := func(name string) bool { return fullName(name) == fullName(reference) }
	return i.ID == reference || strings.TrimPrefix(i.ID, "sha256:") == reference ||
		slices.ContainsFunc(i.Tags, named) || slices.ContainsFunc(i.Digests, named)
}

// fullName is the name in full that a reference stands for.
func fullName(reference string) string {
	parsed, err := adapter.ParseReference(reference)
	if err != nil {
		return reference
	}
	return parsed.Name
}

func (e *Engine) findImage(reference string) (*image, error) {
	for _, img := range e.images {
		if img.is(reference) {
			return img, nil
		}
	}
	return nil, absent("image", reference)
}

// InspectImage implements engine.Images.
func (e *Engine) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	var out engine.Image
	err := e.do(ctx, Call{Method: "InspectImage", Name: reference}, func() error {
		img, err := e.findImage(reference)
		if err != nil {
			return err
		}
		out = img.Image
		out.Tags, out.Digests = slices.Clone(img.Tags), slices.Clone(img.Digests)
		out.Labels = maps.Clone(img.Labels)
		return nil
	})
	return out, err
}

// PullImage implements engine.Images: an image of AddRegistryImage comes in
// two steps of progress.
func (e *Engine) PullImage(ctx context.Context, reference string, credentials *engine.Credentials, progress func(engine.PullProgress)) error {
	call, err := e.begin(ctx, Call{Method: "PullImage", Name: reference, Mutating: true})
	if err != nil {
		return err
	}
	var pulled image
	err = e.locked(func() error {
		remote, ok := e.registry[fullName(reference)]
		if !ok {
			return absent("image", reference)
		}
		if remote.credentials != nil && (credentials == nil || *credentials != *remote.credentials) {
			return fmt.Errorf("image %q: %w", reference, engine.ErrUnauthorized)
		}
		pulled = remote.image
		pulled.Tags, pulled.Digests = slices.Clone(pulled.Tags), slices.Clone(pulled.Digests)
		return nil
	})
	if err != nil {
		return err
	}
	if progress != nil {
		half := pulled.SizeBytes / 2
		progress(engine.PullProgress{CurrentBytes: half, TotalBytes: pulled.SizeBytes, LayersTotal: 1})
		progress(engine.PullProgress{CurrentBytes: pulled.SizeBytes, TotalBytes: pulled.SizeBytes, LayersDone: 1, LayersTotal: 1})
	}
	err = e.locked(func() error {
		e.addImage(pulled)
		return nil
	})
	if err != nil {
		return err
	}
	return e.end(call)
}

// LoadImage implements engine.Images. A docker-archive gives its images with
// their files; anything else gives one image without a name, so that tests
// need not build archives.
func (e *Engine) LoadImage(ctx context.Context, archive io.Reader) error {
	content, err := io.ReadAll(archive)
	if err != nil {
		return fmt.Errorf("load image: %w", err)
	}
	return e.do(ctx, Call{Method: "LoadImage", Mutating: true}, func() error {
		images, err := readArchive(bytes.NewReader(content))
		if err != nil {
			images = []image{{files: newTree(), Image: engine.Image{
				ID: fmt.Sprintf("sha256:%x", sha256.Sum256(content)), SizeBytes: int64(len(content)),
			}}}
		}
		for _, img := range images {
			e.addImage(img)
		}
		return nil
	})
}

// SaveImage implements engine.Images. The archive has the image's configuration and
// one layer, so that LoadImage gives an image like it.
func (e *Engine) SaveImage(ctx context.Context, reference string) (io.ReadCloser, error) {
	var content []byte
	err := e.do(ctx, Call{Method: "SaveImage", Name: reference}, func() error {
		img, err := e.findImage(reference)
		if err != nil {
			return err
		}
		content, err = img.archive(fullName(reference))
		return err
	})
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}
