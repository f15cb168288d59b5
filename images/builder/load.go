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
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// loadImages gives the engine that the docker command reaches the images it
// does not have yet: an image of the same id is the same image.
func (b *builder) loadImages(ctx context.Context, names []string) error {
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(b.cache, name+".json"))
		if err != nil {
			return fmt.Errorf("read the description of image %s: %w", name, err)
		}
		var p publication
		if err := json.Unmarshal(text, &p); err != nil {
			return fmt.Errorf("read the description of image %s: %w", name, err)
		}
		if err := b.loadImage(ctx, name, p); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) loadImage(ctx context.Context, name string, p publication) error {
	inspect := command{args: []string{"docker", "image", "inspect", "--format", "{{.Id}}", p.Reference}}
	// An engine without the image answers with an error; one that is not
	// there fails in the load below and says so.
	output, err := inspect.output(ctx)
	older := strings.TrimSpace(output)
	if err == nil && older == p.ID {
		b.say(name, "the engine has it")
		return nil
	}
	load := command{
		args: []string{"docker", "image", "load", "--quiet", "--input", p.Archive},
		hint: "Is a container engine running? Try docker version.",
	}
	if err := load.run(ctx); err != nil {
		return err
	}
	b.say(name, "loaded into the engine")
	return b.removeUnnamed(ctx, name, older)
}

// removeUnnamed removes an image that the load took the name from: a gigabyte
// that nobody finds. One with another name stays, and one in use.
func (b *builder) removeUnnamed(ctx context.Context, name, id string) error {
	if id == "" {
		return nil
	}
	tags := command{args: []string{"docker", "image", "inspect", "--format", "{{len .RepoTags}}", id}}
	if count, err := tags.output(ctx); err != nil || strings.TrimSpace(count) != "0" {
		return err
	}
	remove := command{args: []string{"docker", "image", "rm", id}}
	if err := remove.run(ctx); err != nil {
		b.say(name, "the engine keeps the older %.19s, which is in use", id)
	}
	return nil
}
