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
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Artifact is one step of a build: a directory of files made from files, values
// and other artifacts, and from nothing else.
type Artifact struct {
	Name string
	// Needs are the artifacts whose directories this one reads.
	Needs []*Artifact
	// Recipe names the source files of this program that say how it is made.
	Recipe []string
	// Files are paths of the inputs on this machine.
	Files []string
	// Values are inputs that are not files: versions, flags, package lists.
	Values []string
	// Build fills the empty directory w.Dir.
	Build func(ctx context.Context, w *Workspace) error

	once   sync.Once
	result result
}

type result struct {
	key, dir string
	err      error
}

// Workspace is what an artifact is built with.
type Workspace struct {
	*Builder
	Name string
	// Dir becomes the artifact; scratch is discarded.
	Dir, Scratch string
	// start is when the work began, after any wait for others.
	start time.Time
}

// Of is the path of a file of an artifact that is already built.
func (w *Workspace) Of(a *Artifact, elements ...string) string {
	return filepath.Join(append([]string{a.result.dir}, elements...)...)
}

// Say prints a line of progress of this artifact.
func (w *Workspace) Say(format string, arguments ...any) {
	w.Builder.Say(w.Name, format, arguments...)
}

// Resolve returns the artifact's directory, building it and what it needs
// where the cache does not have it.
func (b *Builder) Resolve(ctx context.Context, a *Artifact) (string, error) {
	a.once.Do(func() { a.result.err = b.resolveOnce(ctx, a) })
	return a.result.dir, a.result.err
}

func (b *Builder) resolveOnce(ctx context.Context, a *Artifact) (err error) {
	group, groupContext := errgroup.WithContext(ctx)
	for _, need := range a.Needs {
		group.Go(func() error {
			_, err := b.Resolve(groupContext, need)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := b.locate(a); err != nil {
		return err
	}
	if _, err := os.Stat(a.result.dir); err == nil {
		return nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for %s in the cache: %w", a.Name, err)
	}
	if err := b.make(ctx, a, a.result.dir); err != nil {
		return fmt.Errorf("build %s: %w", a.Name, err)
	}
	return nil
}

// locate says where in the cache an artifact is, or will be, once that is known of what it needs.
func (b *Builder) locate(a *Artifact) (err error) {
	if a.result.key, err = b.key(a); err != nil {
		return fmt.Errorf("compute the inputs of %s: %w", a.Name, err)
	}
	a.result.dir = filepath.Join(b.Cache, "artifacts", a.Name, a.result.key)
	return nil
}

// missing counts the artifacts that the cache does not have, of those given and what they need.
func (b *Builder) missing(artifacts []*Artifact) (count int, err error) {
	seen := map[*Artifact]bool{}
	var visit func(a *Artifact) error
	visit = func(a *Artifact) error {
		if seen[a] {
			return nil
		}
		seen[a] = true
		for _, need := range a.Needs {
			if err := visit(need); err != nil {
				return err
			}
		}
		if err := b.locate(a); err != nil {
			return err
		}
		if !Exists(a.result.dir) {
			count++
		}
		return nil
	}
	for _, a := range artifacts {
		if err := visit(a); err != nil {
			return 0, err
		}
	}
	return count, nil
}

// make builds into a temporary directory and renames it, so that what is in
// the cache is whole, and drops the artifact's older versions.
func (b *Builder) make(ctx context.Context, a *Artifact, dir string) error {
	b.built.Store(true)
	scratch, err := os.MkdirTemp(b.scratch, a.Name+"-")
	if err != nil {
		return fmt.Errorf("create scratch directory: %w", err)
	}
	defer func() { b.CleanUp(a.Name, removeScratch(scratch)) }()
	w := &Workspace{Builder: b, Name: a.Name, Dir: filepath.Join(scratch, "out"), Scratch: filepath.Join(scratch, "tmp"), start: time.Now()}
	err = errors.Join(os.MkdirAll(w.Dir, 0o755), os.MkdirAll(w.Scratch, 0o755), os.MkdirAll(filepath.Dir(dir), 0o755))
	if err != nil {
		return fmt.Errorf("create directories: %w", err)
	}
	b.underway.begin(a.Name)
	err = a.Build(ctx, w)
	b.underway.end(a.Name)
	if err != nil {
		return err
	}
	if err := os.Rename(w.Dir, dir); err != nil {
		return fmt.Errorf("move into the cache: %w", err)
	}
	b.underway.finish()
	b.Say(a.Name, "done in %.1fs", time.Since(w.start).Seconds())
	return prune(filepath.Dir(dir), filepath.Base(dir))
}

// prune removes all but one version of an artifact: sizes are in gigabytes,
// and what an older checkout needs again is quickly made from Go's own cache.
func prune(versions, keep string) error {
	entries, err := os.ReadDir(versions)
	for _, entry := range entries {
		if entry.Name() != keep {
			err = errors.Join(err, os.RemoveAll(filepath.Join(versions, entry.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("remove cached versions: %w", err)
	}
	return nil
}

// key is a hash over everything that goes into an artifact. Lists of needs and
// values keep their order, since it can matter; files do not.
func (b *Builder) key(a *Artifact) (string, error) {
	digest := sha256.New()
	field := func(kind, value string) {
		digest.Write(fmt.Appendf(nil, "%s %d %s\n", kind, len(value), value)) // a hash never fails
	}
	field("artifact", a.Name)
	for _, need := range a.Needs {
		field("need "+need.Name, need.result.key)
	}
	for _, value := range a.Values {
		field("value", value)
	}
	for _, name := range a.Recipe {
		text, err := fs.ReadFile(b.Sources, name)
		if err != nil {
			return "", fmt.Errorf("read recipe: %w", err)
		}
		field("recipe "+name, string(text))
	}
	files := make([]string, 0, len(a.Files))
	for _, file := range a.Files {
		sum, err := sumFile(file)
		if err != nil {
			return "", fmt.Errorf("read input: %w", err)
		}
		// The base name and not the path: clones share the cache.
		files = append(files, filepath.Base(file)+" "+sum)
	}
	slices.Sort(files)
	for _, file := range files {
		field("file", file)
	}
	return hex.EncodeToString(digest.Sum(nil))[:20], nil
}

func sumFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}
