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

// Program is a set of Go programs built from one module.
type Program struct {
	// Name is the component's directory below images/.
	Name string
	// Module is the component whose module it is built in, where that is another; sources
	// are the directories of its packages there. Of the repository's programs, it is a directory of the repository.
	Module  string
	Sources []string
	// Packages to build: "tool" are those the module's go.mod lists as tools.
	Packages []string
	// Test builds the tests of the packages in place of their programs.
	Test bool
	Tags []string
	// Ldflags come after the ones that leave out debugging information.
	Ldflags []string
	env     []string
	// NeedsC marks programs with parts in C, linked statically: the image's C
	// library may be older than this machine's.
	NeedsC bool
	// Libraries of C, for a foreign platform.
	Libraries *Artifact
	// Renames gives names to programs that a package's path names badly.
	Renames map[string]string
}

// Artifact builds p below images/; more files count as inputs.
func (p Program) Artifact(b *Builder) (*Artifact, error) {
	dir := filepath.Join(b.Images, cmp.Or(p.Module, p.Name))
	files := []string{filepath.Join(dir, "go.mod")}
	for _, source := range append([]string{"."}, p.Sources...) {
		found, err := filepath.Glob(filepath.Join(dir, source, "*.go"))
		if err != nil {
			return nil, fmt.Errorf("list sources of %s: %w", p.Name, err)
		}
		files = append(files, found...)
	}
	if sum := filepath.Join(dir, "go.sum"); Exists(sum) {
		files = append(files, sum)
	}
	var needs []*Artifact
	if p.NeedsC && b.Platform.foreign() {
		needs = append(needs, p.Libraries)
	}
	return &Artifact{
		Name: "program-" + p.Name, Needs: needs,
		Recipe: []string{"build/program.go"},
		Files:  files,
		Values: append(p.Arguments(), append(p.environment(b.Platform), runtime.Version())...),
		Build: func(ctx context.Context, w *Workspace) error {
			return p.build(ctx, w, dir)
		},
	}, nil
}

func (p Program) environment(of Platform) []string {
	cgo := "CGO_ENABLED=0"
	if p.NeedsC {
		cgo = "CGO_ENABLED=1"
	}
	// Neither a workspace nor flags of the user's may change what is built.
	return slices.Concat([]string{cgo, "GOWORK=off", "GOFLAGS=-mod=readonly"}, of.environment(), p.env)
}

// Arguments of the go command.
func (p Program) Arguments() []string {
	ldflags := append([]string{"-s", "-w"}, p.Ldflags...)
	if p.NeedsC {
		ldflags = append(ldflags, "-linkmode", "external", "-extldflags", "-static")
	}
	verb := []string{"go", "build"}
	if p.Test {
		verb = []string{"go", "test", "-c", "-vet=off"}
	}
	return slices.Concat(verb, []string{
		"-trimpath", "-buildvcs=false",
		"-tags", strings.Join(p.Tags, ","), "-ldflags", strings.Join(ldflags, " "),
	}, p.Packages)
}

func (p Program) build(ctx context.Context, w *Workspace, dir string) error {
	environment := p.environment(w.Platform)
	if p.NeedsC {
		if err := w.PrepareHost(ctx); err != nil {
			return err
		}
		if w.Platform.foreign() {
			environment = append(environment, w.Platform.cEnvironment(w.Of(p.Libraries))...)
		}
	}
	// Who waits for the turn only fetches modules, so that who compiles waits for no download.
	w.underway.end(w.Name)
	if err := p.fetch(ctx, dir, environment); err != nil {
		return err
	}
	w.compiling.Lock()
	defer w.compiling.Unlock()
	w.underway.begin(w.Name)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.start = time.Now()
	w.Say("compiling")
	arguments := p.Arguments()
	arguments = append(arguments[:2:2], append([]string{"-o", w.Dir + string(filepath.Separator)}, arguments[2:]...)...)
	if err := (Command{Dir: dir, Env: environment, Args: arguments}).Run(ctx); err != nil {
		return err
	}
	for from, to := range p.Renames {
		if err := os.Rename(filepath.Join(w.Dir, from), filepath.Join(w.Dir, to)); err != nil {
			return fmt.Errorf("rename program: %w", err)
		}
	}
	return nil
}

// fetch makes Go download what the program is compiled from, and no more: go mod download
// would fetch all that go.mod lists.
func (p Program) fetch(ctx context.Context, dir string, environment []string) error {
	_, err := Command{
		Dir: dir, Env: environment,
		Args: slices.Concat([]string{"go", "list", "-deps", "-tags", strings.Join(p.Tags, ","), "-f", ""}, p.Packages),
		Hint: "If modules could not be fetched: is the Go module proxy reachable (go env GOPROXY)?",
	}.Output(ctx)
	return err
}

// ModuleVersion is the version of a module that a component's go.mod requires:
// the one place where a component's version stands.
func (b *Builder) ModuleVersion(component, module string) (string, error) {
	return RequiredVersion(os.DirFS(b.Images), component, module)
}

// RequiredVersion of a module in the go.mod of a component.
func RequiredVersion(images fs.FS, component, module string) (string, error) {
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

// ModuleDir downloads a module that a component requires and returns its
// directory in Go's module cache.
func (b *Builder) ModuleDir(ctx context.Context, component, module string) (string, error) {
	download := Command{
		Dir: filepath.Join(b.Images, component), Env: []string{"GOWORK=off", "GOFLAGS=-mod=readonly"},
		Args: []string{"go", "mod", "download", "-json", module},
		Hint: "Is the Go module proxy reachable (go env GOPROXY)?",
	}
	text, err := download.Output(ctx)
	if err != nil {
		return "", err
	}
	var found struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return "", fmt.Errorf("read the answer of go mod download: %w", err)
	}
	return found.Dir, nil
}

// Exists says that there is something at a path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
