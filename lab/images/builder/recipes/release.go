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

package recipes

import (
	"context"
)

const (
	// ReleaseSuffix ends the names of images whose programs know their version.
	ReleaseSuffix = "-release"
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
	return []string{"node", "haproxy", "registry", planeName + ReleaseSuffix, managerName + ReleaseSuffix}
}

// addOwn adds those images of the repository's own programs that are asked for: they need
// a checkout whose programs compile.
func (s set) addOwn(ctx context.Context, requested func(string) bool) (err error) {
	if requested("haproxy") {
		if s.images["haproxy"], err = s.haproxyImage(ctx); err != nil {
			return err
		}
	}
	editions := []edition{{tag: "dev"}, {suffix: ReleaseSuffix, tag: s.Version, ldflags: []string{"-X", versionVariable + "=" + s.Version}}}
	for _, e := range editions {
		if err == nil {
			err = s.addPlanes(ctx, e, requested)
		}
		if name := managerName + e.suffix; err == nil && requested(name) {
			s.images[name], err = s.managerImage(ctx, e)
		}
	}
	return err
}

// addPlanes adds those images of management planes that are asked for.
func (s set) addPlanes(ctx context.Context, e edition, requested func(string) bool) error {
	name, memoryName := planeName+e.suffix, planeMemoryName+e.suffix
	if !requested(name) && !requested(memoryName) {
		return nil
	}
	image, err := s.planeImage(ctx, e)
	if err == nil && requested(name) {
		s.images[name] = image.artifact()
	}
	if err == nil && requested(memoryName) {
		s.images[memoryName], err = s.planeMemoryImage(ctx, e, image)
	}
	return err
}
