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

package debian

import (
	"context"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// Libraries of C that programs are linked with, for a foreign platform.
func Libraries(p build.Platform, debs *build.Artifact) *build.Artifact {
	return &build.Artifact{
		Name: "libraries", Needs: []*build.Artifact{debs}, Recipe: []string{"debian/libraries.go"}, Values: p.LibraryPackages(),
		Build: func(ctx context.Context, w *build.Workspace) error {
			for _, name := range p.LibraryPackages() {
				file, err := debFile(w.Of(debs), name)
				if err != nil {
					return err
				}
				if err := (build.Command{Args: []string{"dpkg-deb", "--extract", file, w.Dir}}).Run(ctx); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
