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

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// loader gives an engine images, by the engine's command.
type loader struct {
	*builder
	// engine is the command with its first arguments, such as podman --remote.
	engine []string
}

// loadImages gives the engine the images it does not have yet: an image of the
// same id is the same image.
func (b loader) loadImages(ctx context.Context, names []string) error {
	for _, name := range names {
		p, err := readPublication(name, filepath.Join(b.cache, name+".json"))
		if err != nil {
			return err
		}
		if err := b.loadImage(ctx, name, p); err != nil {
			return err
		}
	}
	return nil
}

func (b loader) loadImage(ctx context.Context, name string, p publication) error {
	// An engine without the image answers with an error; one that is not
	// there fails in the load below and says so.
	output, err := b.image("inspect", "--format", "{{.Id}}", p.Reference).output(ctx)
	older := strings.TrimSpace(output)
	if err == nil && hexID(older) == hexID(p.ID) {
		b.say(name, "the engine has it")
		return nil
	}
	load := b.image("load", "--quiet", "--input", p.Archive)
	load.hint = fmt.Sprintf("Is the engine running? Try make engine ENGINE=%s.", b.engine[0])
	if err := load.run(ctx); err != nil {
		return err
	}
	b.say(name, "loaded into the engine")
	return b.removeUnnamed(ctx, name, older)
}

// removeUnnamed removes an image that the load took the name from: a gigabyte
// without a name. One with another name stays, and one in use.
func (b loader) removeUnnamed(ctx context.Context, name, id string) error {
	if id == "" {
		return nil
	}
	count, err := b.image("inspect", "--format", "{{len .RepoTags}}", id).output(ctx)
	if err != nil || strings.TrimSpace(count) != "0" {
		return err
	}
	if err := b.image("rm", id).run(ctx); err != nil {
		b.say(name, "the engine keeps the older %.19s, which is in use", id)
	}
	return nil
}

// image is a command about images.
func (b loader) image(args ...string) command {
	return command{args: slices.Concat(b.engine, []string{"image"}, args)}
}

// hexID is an image's id without its algorithm, which Podman leaves out.
func hexID(id string) string { return strings.TrimPrefix(id, "sha256:") }
