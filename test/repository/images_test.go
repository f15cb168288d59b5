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
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// likeAnImage is a name with a tag or a digest, also where what follows the colon
// or the at sign is not constant. Of a name without a folder only what has the
// tag of a version: the rest may be anything.
var likeAnImage = regexp.MustCompile(`^(([a-z0-9][\w.-]*(:\d+)?/)+[a-z0-9][\w.-]*(:[\w.-]*|@(sha256:[0-9a-f]{64})?)|` +
	`[a-z][a-z0-9-]+(:(v?\d+(\.\d+)*|latest|dev)|@sha256:[0-9a-f]{64}))$`)

// imagesOf returns the constants of a package that are like a reference, by
// position. The operands of a constant are not constants of their own.
func imagesOf(positions *token.FileSet, files []*ast.File) map[string]string {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	// What is imported is not looked at, so there are errors.
	config := types.Config{Error: func(error) {}}
	_, _ = config.Check("", positions, files, info)
	found := map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			expression, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			value := info.Types[expression].Value
			if value == nil || value.Kind() != constant.String {
				return true
			}
			if text := constant.StringVal(value); likeAnImage.MatchString(text) {
				found[positions.Position(expression.Pos()).String()] = text
			}
			return false
		})
	}
	return found
}

func TestDefaultImagesOfPrograms(t *testing.T) {
	t.Parallel()
	all := map[string]string{}
	for _, directory := range sourceDirectories(t) {
		paths := must.Get(filepath.Glob(filepath.Join(directory, "*.go")))(t)
		positions := token.NewFileSet()
		var files []*ast.File
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file := must.Get(parser.ParseFile(positions, path, nil, 0))(t)
			files = append(files, file)
		}
		for where, image := range imagesOf(positions, files) {
			all[where] = image
			if problem := problemOf(image); problem != "" {
				t.Errorf("%s: the default image %s %s", where, image, problem)
			}
		}
	}
	const least = 10 // load balancer, plane, registry, and the nodes' versions
	if len(all) < least {
		t.Errorf("Found only %d images in the programs: %v", len(all), all)
	}
}

// sourceDirectories of all programs, those that build images included.
func sourceDirectories(t *testing.T) []string {
	t.Helper()
	directories := []string{root}
	for _, top := range []string{"api", "cmd", "controllers", "internal", "lab/images", "templates"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil || !entry.IsDir():
				return err
			case slices.Contains([]string{"testdata", "enginetest", "simulated"}, entry.Name()):
				return fs.SkipDir // for tests only
			}
			directories = append(directories, path)
			return nil
		})
		must.Succeed(t, err)
	}
	return directories
}

// The search finds what it is there for.
func TestShortDefaultIsFound(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("a", 64)
	cases := map[string]struct {
		reason, source string
		// want is the problem; empty = none.
		want string
	}{
		"short":          {"Podman looks it up anywhere.", `const a = "haproxy:3.2"`, "names no registry"},
		"in a folder":    {"Any user may own it.", `var a = map[string]string{"v1": "kindest/node:v1.36.3"}`, "names no registry"},
		"no digest":      {"Its tag may be moved.", `func f() string { return "docker.io/capcon/plane:dev" }`, "has no digest and is not below localhost/"},
		"concatenated":   {"The whole counts.", `const a = "quay.io/x/"; const b = a + "y:" + "v1"`, "has no digest and is not below localhost/"},
		"open end":       {"The rest is a tag.", `func f(v string) string { return "docker.io/kindest/node:" + v }`, "has no digest and is not below localhost/"},
		"short, pinned":  {"A registry has to be named.", `const a = "haproxy` + digest + `"`, "names no registry"},
		"pinned":         {"This one is right.", `const a = "docker.io/library/haproxy` + digest + `"`, ""},
		"built":          {"This one is right.", `const p = "localhost/capcon/"; const a = p + "haproxy:2.6"`, ""},
		"built, by name": {"This one is right.", `func f(v string) string { return "localhost/capcon/node:" + v }`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			positions := token.NewFileSet()
			file := must.Get(parser.ParseFile(positions, "a.go", "package a\n"+tc.source, 0))(t)
			found := imagesOf(positions, []*ast.File{file})
			if len(found) != 1 {
				t.Fatalf("%s Found %v, want one image", tc.reason, found)
			}
			for _, image := range found {
				if diff := cmp.Diff(tc.want, problemOf(image)); diff != "" {
					t.Errorf("%s %s (-want +got):\n%s", tc.reason, image, diff)
				}
			}
		})
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
