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

// Package build makes artifacts, each a directory of files, and keeps them in a cache under a hash
// over what goes into them. Programs of Go, layers and images are artifacts; how each image is made
// of them is said elsewhere.
package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// freeSpace is what a build of all images wants, Go's caches included, in
// bytes: 5 GB of those and 5 GB of artifacts, measured.
const freeSpace = 12 << 30

// Options of a builder.
type Options struct {
	// Root is the repository, and Cache where artifacts stay.
	Root, Cache string
	// Sources are the recipes themselves, by their paths: a changed recipe is a changed input.
	Sources fs.FS
	// Version of the release that images are built for, if any, and their platform.
	Version  string
	Platform Platform
}

// DefaultCache of images for a platform: it has one version of each artifact.
func DefaultCache(p Platform) (string, error) {
	userCache, err := os.UserCacheDir() // $XDG_CACHE_HOME or ~/.cache
	if err != nil {
		return "", fmt.Errorf("find the cache directory (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(userCache, "cluster-api-provider-container", "images"+p.suffix()), nil
}

// Builder holds what all artifacts of one run share.
type Builder struct {
	Options
	// Images is the repository's directory of components, and scratch where artifacts are made.
	Images, scratch string

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

// New takes the lock of the cache, until Close.
func New(ctx context.Context, o Options) (*Builder, error) {
	absolute, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	o.Root = absolute
	b := &Builder{Options: o, Images: ImagesDirectory(absolute), scratch: filepath.Join(o.Cache, "scratch"), start: time.Now()}
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
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

// ImagesDirectory of a repository has the components.
func ImagesDirectory(root string) string { return filepath.Join(root, "lab", "images") }

// acquire waits for another build with the same cache.
func (b *Builder) acquire(ctx context.Context) (err error) {
	if b.lock, err = os.OpenFile(filepath.Join(b.Cache, "lock"), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return fmt.Errorf("open lock: %w", err)
	}
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	take := func() error { return unix.Flock(int(b.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
	err = take()
	if errors.Is(err, unix.EWOULDBLOCK) {
		b.Say("images", "Waiting for another build with the cache %s", b.Cache)
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

// Close removes what was under way, and gives the lock back.
func (b *Builder) Close() {
	b.CleanUp("images", removeScratch(b.scratch), b.lock.Close())
}

// CleanUp reports what went wrong while tidying; the build is none the worse.
func (b *Builder) CleanUp(name string, errs ...error) {
	if err := errors.Join(errs...); err != nil {
		b.Say(name, "Cleaning up: %s", err)
	}
}

// Say prints one line of progress: seconds since the start, what, message.
func (b *Builder) Say(name, format string, arguments ...any) {
	fmt.Printf("%7.1fs  %-14s %s\n", time.Since(b.start).Seconds(), name, fmt.Sprintf(format, arguments...))
}
