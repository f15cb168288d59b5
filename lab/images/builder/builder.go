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
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// sources are the recipes themselves: a changed recipe is a changed input.
//
//go:embed *.go
var sources embed.FS

// freeSpace is what a build of all images wants, Go's caches included, in
// bytes: 5 GB of those and 5 GB of artifacts, measured.
const freeSpace = 12 << 30

// builder holds what all artifacts of one run share.
type builder struct {
	// root is the repository, images its directory of components, cache where
	// artifacts stay and scratch where they are made; same file system.
	root, images, cache, scratch string

	// version of the release that images are built for, if any, and their platform.
	version  string
	platform platform

	start time.Time
	// built says that something was not in the cache.
	built atomic.Bool
	lock  *os.File
	// compiling lets one Go build run at a time: each one uses all cores.
	compiling sync.Mutex
	underway  underway
	// prepareOnce prepares the machine, if there is something to build with it;
	// unprepared is why it could not.
	prepareOnce sync.Once
	unprepared  error
}

func newBuilder(ctx context.Context, root string, p platform) (*builder, error) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	userCache, err := os.UserCacheDir() // $XDG_CACHE_HOME or ~/.cache
	if err != nil {
		return nil, fmt.Errorf("find the cache directory (set HOME or XDG_CACHE_HOME): %w", err)
	}
	b := &builder{
		root:   absolute,
		images: imagesDirectory(absolute),
		cache:  filepath.Join(userCache, "cluster-api-provider-container", "images"+p.suffix()),
		start:  time.Now(), platform: p,
	}
	b.scratch = filepath.Join(b.cache, "scratch")
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return nil, fmt.Errorf("create the cache directory: %w", err)
	}
	if err := b.acquire(ctx); err != nil {
		return nil, err
	}
	// What a killed run left behind; the lock says that no one uses it.
	if err := errors.Join(removeScratch(b.scratch), os.MkdirAll(b.scratch, 0o755)); err != nil {
		return nil, fmt.Errorf("clear the scratch directory: %w", err)
	}
	return b, nil
}

// imagesDirectory of a repository has the components.
func imagesDirectory(root string) string { return filepath.Join(root, "lab", "images") }

// acquire waits for another build with the same cache.
func (b *builder) acquire(ctx context.Context) (err error) {
	if b.lock, err = os.OpenFile(filepath.Join(b.cache, "lock"), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return fmt.Errorf("open lock: %w", err)
	}
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	take := func() error { return unix.Flock(int(b.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
	err = take()
	if errors.Is(err, unix.EWOULDBLOCK) {
		b.say("images", "Waiting for another build with the cache %s", b.cache)
	}
	for ; errors.Is(err, unix.EWOULDBLOCK); err = take() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	if err != nil {
		return fmt.Errorf("lock the cache: %w", err)
	}
	return nil
}

func (b *builder) close() {
	b.cleanUp("images", removeScratch(b.scratch), b.lock.Close())
}

// cleanUp reports what went wrong while tidying; the build is none the worse.
func (b *builder) cleanUp(name string, errs ...error) {
	if err := errors.Join(errs...); err != nil {
		b.say(name, "Cleaning up: %s", err)
	}
}

// say prints one line of progress: seconds since the start, what, message.
func (b *builder) say(name, format string, arguments ...any) {
	fmt.Printf("%7.1fs  %-14s %s\n", time.Since(b.start).Seconds(), name, fmt.Sprintf(format, arguments...))
}

// publication describes a finished image to those who load it.
type publication struct {
	// Reference is the image's name and tag, ID its configuration's digest as
	// engines print it, Archive the path of a docker-archive.
	Reference string `json:"reference"`
	ID        string `json:"id"`
	Archive   string `json:"archive"`
}

// readPublication reads the description of an image.
func readPublication(name, path string) (p publication, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return publication{}, fmt.Errorf("read the description of image %s: %w", name, err)
	}
	return p, nil
}

// publish builds an image and leaves, under stable names in the cache,
// <name>.tar and <name>.json.
func (b *builder) publish(ctx context.Context, name string, image *artifact) error {
	dir, err := b.resolve(ctx, image)
	if err != nil {
		return err
	}
	p, err := readPublication(name, filepath.Join(dir, publicationFile))
	if err != nil {
		return err
	}
	p.Archive = filepath.Join(b.cache, name+".tar")
	if err := replaceLink(filepath.Join(dir, archiveFile), p.Archive); err != nil {
		return fmt.Errorf("publish image %s: %w", name, err)
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(b.cache, name+".json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("describe image %s: %w", name, err)
	}
	info, err := os.Stat(p.Archive)
	if err != nil {
		return fmt.Errorf("publish image %s: %w", name, err)
	}
	b.say(name, "%s is %s (%d MB)", p.Reference, p.Archive, info.Size()>>20)
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
