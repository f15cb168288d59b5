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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// releaseSuffix ends the names of images whose programs know their version.
	releaseSuffix = "-release"
	// versionVariable is where the repository's programs have the version of a release.
	versionVariable = "github.com/capi-samples/cluster-api-provider-container/internal/release.version"
)

// edition of the images with programs of the repository's own module: what is developed,
// or a release.
type edition struct {
	// suffix of the names of artifacts, tag of the images, and flags of the linker.
	suffix, tag string
	ldflags     []string
}

// releaseNames are the images of a release.
func releaseNames() []string {
	return []string{"node", "haproxy", "registry", "plane" + releaseSuffix, managerName + releaseSuffix}
}

// addOwn adds those images of the repository's own programs that are asked for: they need
// a checkout whose programs compile.
func (b *builder) addOwn(ctx context.Context, images map[string]*artifact, requested func(string) bool, c *components, static *artifact) (err error) {
	editions := []edition{{tag: "dev"}, {suffix: releaseSuffix, tag: b.version, ldflags: []string{"-X", versionVariable + "=" + b.version}}}
	for _, e := range editions {
		if name := "plane" + e.suffix; err == nil && requested(name) {
			images[name], err = b.planeImage(ctx, c, static, e)
		}
		if name := managerName + e.suffix; err == nil && requested(name) {
			images[name], err = b.managerImage(ctx, e)
		}
	}
	return err
}

// export writes images, and lists of the Debian packages in them, to a directory:
// <image>-linux-<architecture>.tar and .debian. hack/release makes the archives of a release
// from them, with licenses and SBOMs.
func (b *builder) export(ctx context.Context, directory string, names []string, recipes map[string]*artifact) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	for _, name := range names {
		image, err := b.resolve(ctx, recipes[name])
		if err != nil {
			return err
		}
		list, err := b.resolve(ctx, debianList(recipes[name]))
		if err != nil {
			return err
		}
		to := filepath.Join(directory, strings.TrimSuffix(name, releaseSuffix)+"-linux-"+string(b.platform))
		err = errors.Join(copyFile(filepath.Join(image, archiveFile), to+".tar"), copyFile(filepath.Join(list, debianFile), to+".debian"))
		if err != nil {
			return fmt.Errorf("export image %s: %w", name, err)
		}
		b.say(name, "exported as %s.tar", to)
	}
	return nil
}

// copyFile in place of an older one, by a reflink or a copy: what is in the cache must not
// change with it.
func copyFile(from, to string) error {
	return command{args: []string{"cp", "--reflink=auto", "--remove-destination", from, to}}.run(context.Background())
}
