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

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// loader gives an engine images, by the engine's command.
type loader struct {
	*build.Builder
	// engine is the command with its first arguments, such as podman --remote.
	engine []string
}

// loadImages gives the engine the images it does not have yet: an image of the
// same id is the same image.
func (b loader) loadImages(ctx context.Context, names []string) error {
	for _, name := range names {
		p, err := build.ReadPublication(name, filepath.Join(b.Cache, name+".json"))
		if err != nil {
			return err
		}
		if err := b.loadImage(ctx, name, p); err != nil {
			return err
		}
	}
	return nil
}

func (b loader) loadImage(ctx context.Context, name string, p build.Publication) error {
	// An engine without the image answers with an error; one that is not
	// there fails in the load below and says so.
	output, err := b.image("inspect", "--format", "{{.Id}}", p.Reference).Output(ctx)
	older := strings.TrimSpace(output)
	if err == nil && hexID(older) == hexID(p.ID) {
		b.Say(name, "the engine has it")
		return nil
	}
	load := b.image("load", "--quiet", "--input", p.Archive)
	load.Hint = fmt.Sprintf("Is the engine running? Try make engine ENGINE=%s.", b.engine[0])
	if err := load.Run(ctx); err != nil {
		return err
	}
	b.Say(name, "loaded into the engine")
	return b.removeUnnamed(ctx, name, older)
}

// removeUnnamed removes an image that the load took the name from: a gigabyte
// without a name. One with another name stays, and one in use.
func (b loader) removeUnnamed(ctx context.Context, name, id string) error {
	if id == "" {
		return nil
	}
	count, err := b.image("inspect", "--format", "{{len .RepoTags}}", id).Output(ctx)
	if err != nil || strings.TrimSpace(count) != "0" {
		return err
	}
	if err := b.image("rm", id).Run(ctx); err != nil {
		b.Say(name, "the engine keeps the older %.19s, which is in use", id)
	}
	return nil
}

// image is a command about images.
func (b loader) image(args ...string) build.Command {
	return build.Command{Args: slices.Concat(b.engine, []string{"image"}, args)}
}

// hexID is an image's id without its algorithm, which Podman leaves out.
func hexID(id string) string { return strings.TrimPrefix(id, "sha256:") }
