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
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/mod/modfile"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		given  []string
		want   []string
	}{
		"nothing":   {"the images that every cluster needs", nil, imageNames()},
		"an image":  {"an image is its own name", []string{"haproxy"}, []string{"haproxy"}},
		"a group":   {"a group stands for its images", []string{"management-previous"}, previousManagementNames()},
		"a mixture": {"in the order of the arguments", []string{"haproxy", "management"}, append([]string{"haproxy"}, managementNames()...)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := expand(tc.given)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := expand([]string{"haproxy", "surprise"}); err == nil {
		t.Error("an image that nothing builds must be an error")
	}
}

// TestClusterAPIPrograms: the core manager's package has moved between versions,
// and each manager is an image.
func TestClusterAPIPrograms(t *testing.T) {
	t.Parallel()
	b := repository(t)
	for _, suffix := range []string{"", previousSuffix} {
		names := clusterAPINames()
		for i := range names {
			names[i] += suffix
		}
		images, err := b.recipes(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		var built []string
		for _, name := range names {
			for _, need := range images[name].needs {
				if slices.Contains(need.values, "build") {
					built = append(built, need.values[slices.Index(need.values, "-ldflags")+2])
				}
			}
		}
		slices.Sort(built)
		if diff := cmp.Diff(tools(t, filepath.Join(b.images, "cluster-api"+suffix, "go.mod")), built); diff != "" {
			t.Errorf("packages of images/cluster-api%s/go.mod and of its images (-want, +got):\n%s", suffix, diff)
		}
	}
}

// tools are the programs that a go.mod lists.
func tools(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(path, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, tool := range file.Tool {
		paths = append(paths, tool.Path)
	}
	slices.Sort(paths)
	return paths
}

func TestRootImage(t *testing.T) {
	t.Parallel()
	source := &artifact{name: "program", build: func(_ context.Context, w *workspace) error {
		return os.WriteFile(filepath.Join(w.dir, "tool"), []byte("program"), 0o644)
	}}
	base := &artifact{name: "base"}
	layerArtifact(base, func(_ context.Context, _ *workspace, files *tree) error {
		files.write("etc/passwd", "root", 0o644)
		return files.err
	})
	cases := map[string]struct {
		reason string
		base   *artifact
		want   map[string]int64
	}{
		"alone":     {"an image may hold one file", nil, map[string]int64{"tool": 0o755}},
		"on a base": {"a program may need certificates", base, map[string]int64{"etc/passwd": 0o644, "tool": 0o755}},
	}
	b := newTestBuilder(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image := build(t, b, rootImage(name, prefix+"test:1", tc.base, source, "/tool", "serve"))
			if diff := cmp.Diff(tc.want, regularFiles(t, image)); diff != "" {
				t.Errorf("%s; files and modes (-want, +got):\n%s", tc.reason, diff)
			}
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			want := v1.Config{User: unprivileged, Entrypoint: []string{"/tool", "serve"}}
			if diff := cmp.Diff(want, config.Config); diff != "" {
				t.Errorf("configuration (-want, +got):\n%s", diff)
			}
		})
	}
}

func build(t *testing.T, b *builder, image *artifact) v1.Image {
	t.Helper()
	directory, err := b.resolve(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	built, err := tarball.ImageFromPath(filepath.Join(directory, archiveFile), nil)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// regularFiles of an image, with their modes.
func regularFiles(t *testing.T, image v1.Image) map[string]int64 {
	t.Helper()
	stream := mutate.Extract(image)
	defer func() { _ = stream.Close() }() // only read
	files := map[string]int64{}
	reader := tar.NewReader(stream)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			files[filepath.Clean(header.Name)] = header.Mode
		}
	}
}
