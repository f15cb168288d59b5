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
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Platform is the architecture that images are built for, by Go's name.
type Platform string

// triplets are GNU's names of the architectures other than this machine's that images can
// be built for.
func triplets() map[Platform]string {
	return map[Platform]string{"arm64": "aarch64-linux-gnu"}
}

// NewPlatform checks the name of an architecture.
func NewPlatform(name string) (Platform, error) {
	p := Platform(name)
	if _, found := triplets()[p]; !found && p.foreign() {
		return "", fmt.Errorf("images cannot be built for architecture %q: use %s or one of %v",
			name, runtime.GOARCH, slices.Sorted(maps.Keys(triplets())))
	}
	return p, nil
}

// foreign programs run on this machine only where its kernel passes them to an emulator.
func (p Platform) foreign() bool { return string(p) != runtime.GOARCH }

// suffix of the cache's directory.
func (p Platform) suffix() string {
	if p.foreign() {
		return "-" + string(p)
	}
	return ""
}

// Compiler of C.
func (p Platform) Compiler() string {
	if p.foreign() {
		return triplets()[p] + "-gcc"
	}
	return "gcc"
}

// emulator is the kernel's name of the emulator that runs foreign programs.
func (p Platform) emulator() string {
	processor, _, _ := strings.Cut(triplets()[p], "-")
	return "qemu-" + processor
}

// hostPackages are the Debian packages that building for a foreign platform takes besides.
func (p Platform) hostPackages() []string {
	if !p.foreign() {
		return nil
	}
	return []string{"binfmt-support", "qemu-user-static", "gcc-" + triplets()[p], "libc6-dev-" + string(p) + "-cross"}
}

// prepare makes sure that this machine's kernel runs the platform's programs.
func (p Platform) prepare(ctx context.Context) error {
	const directory = "/proc/sys/fs/binfmt_misc"
	if !p.foreign() || Exists(filepath.Join(directory, p.emulator())) {
		return nil
	}
	const script = `mountpoint --quiet "$1" || mount -t binfmt_misc binfmt_misc "$1"
update-binfmts --enable "$2"`
	return Command{
		Args: []string{"bash", "-ec", script, "prepare", directory, p.emulator()},
		Hint: "The kernel needs binfmt_misc to run programs of another architecture.",
	}.Run(ctx)
}

// LibraryPackages are the Debian packages with the libraries of C that programs are linked
// with. On this machine's own platform it has them installed.
func (p Platform) LibraryPackages() []string {
	if p.foreign() {
		return []string{"libseccomp-dev"}
	}
	return nil
}

// environment of Go's compiler.
func (p Platform) environment() []string {
	if p.foreign() {
		return []string{"GOARCH=" + string(p)}
	}
	return nil
}

// cEnvironment of Go's compiler for programs with parts in C, with the directory of
// librariesArtifact.
func (p Platform) cEnvironment(libraries string) []string {
	if !p.foreign() {
		return nil
	}
	return []string{
		"CC=" + p.Compiler(),
		"PKG_CONFIG_LIBDIR=" + filepath.Join(libraries, "usr", "lib", triplets()[p], "pkgconfig"),
		"PKG_CONFIG_SYSROOT_DIR=" + libraries,
		"PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS=1",
	}
}
