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

package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// Publication describes a finished image to those who load it.
type Publication struct {
	// Reference is the image's name and tag, ID its configuration's digest as
	// engines print it, Archive the path of a docker-archive.
	Reference string `json:"reference"`
	ID        string `json:"id"`
	Archive   string `json:"archive"`
}

// ReadPublication reads the description of an image.
func ReadPublication(name, path string) (p Publication, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return Publication{}, fmt.Errorf("read the description of image %s: %w", name, err)
	}
	return p, nil
}

// Publish builds the named images, and says what it does meanwhile.
func (b *Builder) Publish(ctx context.Context, names []string, images map[string]*Artifact) error {
	requested := make([]*Artifact, 0, len(names))
	for _, name := range names {
		requested = append(requested, images[name])
	}
	count, err := b.missing(requested)
	if err != nil {
		return err
	}
	b.underway.plan(count)
	if count > 0 {
		b.Say("images", "%d parts are missing and are made now", count)
	}
	group, groupContext := errgroup.WithContext(ctx)
	go b.reportUnderway(groupContext) // until Wait returns
	for _, name := range names {
		group.Go(func() error { return b.publish(groupContext, name, images[name]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if !b.built.Load() {
		b.Say("images", "Everything is up to date (%.1fs)", time.Since(b.start).Seconds())
	}
	return nil
}

// publish builds an image and leaves, under stable names in the cache,
// <name>.tar and <name>.json.
func (b *Builder) publish(ctx context.Context, name string, image *Artifact) error {
	dir, err := b.Resolve(ctx, image)
	if err != nil {
		return err
	}
	p, err := ReadPublication(name, filepath.Join(dir, PublicationFile))
	if err != nil {
		return err
	}
	p.Archive = filepath.Join(b.Cache, name+".tar")
	if err := replaceLink(filepath.Join(dir, ArchiveFile), p.Archive); err != nil {
		return fmt.Errorf("publish image %s: %w", name, err)
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(b.Cache, name+".json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("describe image %s: %w", name, err)
	}
	info, err := os.Stat(p.Archive)
	if err != nil {
		return fmt.Errorf("publish image %s: %w", name, err)
	}
	b.Say(name, "%s is %s (%d MB)", p.Reference, p.Archive, info.Size()>>20)
	return nil
}

// replaceLink makes a symbolic link, in place of an older one in one step.
func replaceLink(target, path string) error {
	temporary := path + ".new"
	if err := errors.Join(os.RemoveAll(temporary), os.Symlink(target, temporary)); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
