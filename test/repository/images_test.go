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

package repository

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// A default image names its registry and is pinned by digest, or it is built on
// this host. Otherwise everyone who can push to its name has code run in privileged
// containers, and Podman looks a short name up in registries that the user did
// not choose.
func problemOf(image string) string {
	switch {
	case strings.HasSuffix(image, "@"):
		image += "sha256:" + strings.Repeat("0", 64)
	case strings.HasSuffix(image, ":"):
		image += "tag"
	}
	parsed, err := adapter.ParseReference(image)
	switch {
	case err != nil:
		return err.Error()
	case parsed.Short:
		return "names no registry"
	case !parsed.Pinned && !parsed.LocalOnly():
		return "has no digest and is not below localhost/"
	}
	return ""
}

// imageLiteral is a text in a program that is a reference, or its beginning.
var imageLiteral = regexp.MustCompile(`"([a-z0-9][a-z0-9.-]*(?::\d+)?(?:/[a-z0-9._-]+)+[:@][\w.:-]*)"`)

func TestDefaultImagesOfPrograms(t *testing.T) {
	t.Parallel()
	found := 0
	for _, path := range files(t, ".go") {
		top, _, _ := strings.Cut(path, "/")
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "enginetest") || !slices.Contains([]string{"api", "cmd", "controllers", "internal"}, top) {
			continue
		}
		for _, match := range imageLiteral.FindAllStringSubmatch(readFile(t, path), -1) {
			found++
			if problem := problemOf(match[1]); problem != "" {
				t.Errorf("%s: the default image %s %s", path, match[1], problem)
			}
		}
	}
	if found < 5 { // load balancer, plane, registry, and nodes
		t.Errorf("Found only %d images in the programs", found)
	}
}

// What users apply: the overlays, the flavors and the class with the defaults of
// their variables, the Pod network, and the examples of the guides.
func TestDefaultImagesOfManifests(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		images := map[string]bool{}
		for _, object := range build(t, overlay) {
			collectImages(object.Object, images)
		}
		checkManifest(t, "config/"+overlay, images)
		if len(images) == 0 {
			t.Errorf("config/%s has no image", overlay)
		}
	}
	for _, pattern := range []string{"templates/*.yaml", "templates/cni/*.yaml", "docs/how-to/*/*.yaml"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			name := must.Get(filepath.Rel(root, path))(t)
			images := map[string]bool{}
			for _, object := range clusterctl.Decode(t, []byte(fillIn(t, readFile(t, name)))) {
				collectImages(object.Object, images)
			}
			checkManifest(t, name, images)
		}
	}
}

func checkManifest(t *testing.T, name string, images map[string]bool) {
	t.Helper()
	for image := range images {
		if problem := problemOf(image); problem != "" {
			t.Errorf("%s: the default image %s %s", name, image, problem)
		}
	}
}

// collectImages collects the values of fields that are called image, and those of
// maps that are called images. An empty one leaves the choice to the provider.
func collectImages(value any, into map[string]bool) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			collectImages(element, into)
		}
	case map[string]any:
		// Its schema has a field "images".
		if value["kind"] == "CustomResourceDefinition" {
			return
		}
		// A variable of a class has its name next to its value.
		if name, ok := value["name"].(string); ok && value["value"] != nil {
			collectImages(map[string]any{name: value["value"]}, into)
		}
		for key, element := range value {
			key = strings.ToLower(key)
			if image, ok := element.(string); ok && image != "" && strings.HasSuffix(key, "image") {
				into[image] = true
			}
			if named, ok := element.(map[string]any); ok && strings.HasSuffix(key, "images") {
				for _, image := range named {
					collectImages(map[string]any{"image": image}, into)
				}
			}
			collectImages(element, into)
		}
	}
}
