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

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/debian"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/recipes"
)

// export writes images, and lists of the Debian packages in them, to a directory:
// <image>-linux-<architecture>.tar and .debian. hack/release makes the archives of a release
// from them, with licenses and SBOMs.
func export(ctx context.Context, b *build.Builder, directory string, names []string, images map[string]*build.Artifact) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	for _, name := range names {
		image, err := b.Resolve(ctx, images[name])
		if err != nil {
			return err
		}
		list, err := b.Resolve(ctx, debian.List(images[name]))
		if err != nil {
			return err
		}
		to := filepath.Join(directory, strings.TrimSuffix(name, recipes.ReleaseSuffix)+"-linux-"+string(b.Platform))
		err = errors.Join(copyFile(filepath.Join(image, build.ArchiveFile), to+".tar"), copyFile(filepath.Join(list, debian.ListFile), to+".debian"))
		if err != nil {
			return fmt.Errorf("export image %s: %w", name, err)
		}
		b.Say(name, "exported as %s.tar", to)
	}
	return nil
}

// copyFile in place of an older one, by a reflink or a copy: what is in the cache must not
// change with it.
func copyFile(from, to string) error {
	return build.Command{Args: []string{"cp", "--reflink=auto", "--remove-destination", from, to}}.Run(context.Background())
}
