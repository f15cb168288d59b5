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
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// program is a set of Go programs built from one module.
type program struct {
	// name is the component's directory below images/.
	name string
	// module is the component whose module it is built in, where that is another; sources
	// are the directories of its packages there.
	module  string
	sources []string
	// packages to build: "tool" are those the module's go.mod lists as tools.
	packages []string
	// test builds the tests of the packages in place of their programs.
	test bool
	tags []string
	// ldflags come after the ones that leave out debugging information.
	ldflags []string
	env     []string
	// needsC marks programs with parts in C, linked statically: the image's C
	// library may be older than this machine's.
	needsC bool
	// libraries of C, for a foreign platform.
	libraries *artifact
	// renames gives names to programs that a package's path names badly.
	renames map[string]string
}

// artifact builds p below images/; more files count as inputs.
func (p program) artifact(b *builder) (*artifact, error) {
	dir := filepath.Join(b.images, cmp.Or(p.module, p.name))
	files := []string{filepath.Join(dir, "go.mod")}
	for _, source := range append([]string{"."}, p.sources...) {
		found, err := filepath.Glob(filepath.Join(dir, source, "*.go"))
		if err != nil {
			return nil, fmt.Errorf("list sources of %s: %w", p.name, err)
		}
		files = append(files, found...)
	}
	if sum := filepath.Join(dir, "go.sum"); exists(sum) {
		files = append(files, sum)
	}
	var needs []*artifact
	if p.needsC && b.platform.foreign() {
		needs = append(needs, p.libraries)
	}
	return &artifact{
		name: "program-" + p.name, needs: needs,
		recipe: []string{"gobuild.go"},
		files:  files,
		values: append(p.arguments(), append(p.environment(b.platform), runtime.Version())...),
		build: func(ctx context.Context, w *workspace) error {
			return p.build(ctx, w, dir)
		},
	}, nil
}

func (p program) environment(of platform) []string {
	cgo := "CGO_ENABLED=0"
	if p.needsC {
		cgo = "CGO_ENABLED=1"
	}
	// Neither a workspace nor flags of the user's may change what is built.
	return slices.Concat([]string{cgo, "GOWORK=off", "GOFLAGS=-mod=readonly"}, of.environment(), p.env)
}

func (p program) arguments() []string {
	ldflags := append([]string{"-s", "-w"}, p.ldflags...)
	if p.needsC {
		ldflags = append(ldflags, "-linkmode", "external", "-extldflags", "-static")
	}
	verb := []string{"go", "build"}
	if p.test {
		verb = []string{"go", "test", "-c", "-vet=off"}
	}
	return slices.Concat(verb, []string{
		"-trimpath", "-buildvcs=false",
		"-tags", strings.Join(p.tags, ","), "-ldflags", strings.Join(ldflags, " "),
	}, p.packages)
}

func (p program) build(ctx context.Context, w *workspace, dir string) error {
	environment := p.environment(w.platform)
	if p.needsC {
		if err := w.prepareHost(ctx); err != nil {
			return err
		}
		if w.platform.foreign() {
			environment = append(environment, w.platform.cEnvironment(w.of(p.libraries))...)
		}
	}
	// Who waits for the turn does nothing yet.
	w.underway.end(w.name)
	w.compiling.Lock()
	defer w.compiling.Unlock()
	w.underway.begin(w.name)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.start = time.Now()
	w.say("compiling")
	arguments := p.arguments()
	arguments = append(arguments[:2:2], append([]string{"-o", w.dir + string(filepath.Separator)}, arguments[2:]...)...)
	compile := command{
		dir: dir, env: environment, args: arguments,
		hint: "If modules could not be fetched: is the Go module proxy reachable (go env GOPROXY)?",
	}
	if err := compile.run(ctx); err != nil {
		return err
	}
	for from, to := range p.renames {
		if err := os.Rename(filepath.Join(w.dir, from), filepath.Join(w.dir, to)); err != nil {
			return fmt.Errorf("rename program: %w", err)
		}
	}
	return nil
}

// moduleVersion is the version of a module that a component's go.mod requires:
// the one place where a component's version stands.
func (b *builder) moduleVersion(component, module string) (string, error) {
	return requiredVersion(os.DirFS(b.images), component, module)
}

func requiredVersion(images fs.FS, component, module string) (string, error) {
	name := path.Join(component, "go.mod")
	text, err := fs.ReadFile(images, name)
	if err != nil {
		return "", fmt.Errorf("read go.mod: %w", err)
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return "", fmt.Errorf("parse go.mod: %w", err)
	}
	for _, require := range file.Require {
		if require.Mod.Path == module {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", name, module)
}

// moduleDir downloads a module that a component requires and returns its
// directory in Go's module cache.
func (b *builder) moduleDir(ctx context.Context, component, module string) (string, error) {
	download := command{
		dir: filepath.Join(b.images, component), env: []string{"GOWORK=off", "GOFLAGS=-mod=readonly"},
		args: []string{"go", "mod", "download", "-json", module},
		hint: "Is the Go module proxy reachable (go env GOPROXY)?",
	}
	text, err := download.output(ctx)
	if err != nil {
		return "", err
	}
	var found struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return "", fmt.Errorf("read the answer of go mod download: %w", err)
	}
	return found.Dir, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
