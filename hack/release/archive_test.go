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
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestPackImage: an image of a release is the same each time, as a layout and as a
// docker-archive, and has the layers of the image it is made from, below that of the licenses.
func TestPackImage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, licenses string
		want             map[string]string
	}{
		"Modules":  {"Who gets the image gets their licenses.", "text\n", map[string]string{"usr/": "", "usr/share/": "", "usr/share/doc/": "", "usr/share/doc/capcon/": "", "usr/share/doc/capcon/third-party-licenses.txt": "text\n"}},
		"NoModule": {"The image of the load balancer has only Debian packages.", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := release{date: time.Unix(1000000000, 0).UTC()}
			var archives [2][]byte
			for i := range archives {
				archive := filepath.Join(t.TempDir(), "app.tar")
				writeImage(t, archive, []byte("program"))
				below := diffIDs(t, must.Get(tarball.ImageFromPath(archive, nil))(t))
				must.Succeed(t, r.packImage(t.Context(), archive, tc.licenses))
				archives[i] = must.Get(os.ReadFile(archive))(t)
				packed := must.Get(tarball.ImageFromPath(archive, nil))(t)
				id := must.Get(packed.ConfigName())(t)
				if other := must.Get(ofLayout(t, archive).ConfigName())(t); other != id {
					t.Errorf("the layout has %s, the docker-archive %s", other, id)
				}
				ids := diffIDs(t, packed)
				if diff := cmp.Diff(below, ids[:len(below)]); diff != "" {
					t.Errorf("the layers below (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.want, filesOf(t, packed, len(below))); diff != "" {
					t.Errorf("%s Files above (-want +got):\n%s", tc.reason, diff)
				}
			}
			if !bytes.Equal(archives[0], archives[1]) {
				t.Error("two archives of one image differ")
			}
		})
	}
}

func diffIDs(t *testing.T, image v1.Image) []v1.Hash {
	t.Helper()
	return must.Get(image.ConfigFile())(t).RootFS.DiffIDs
}

// filesOf the layers from one on, with their content.
func filesOf(t *testing.T, image v1.Image, from int) map[string]string {
	t.Helper()
	var files map[string]string
	for _, layer := range must.Get(image.Layers())(t)[from:] {
		content := tar.NewReader(must.Get(layer.Uncompressed())(t))
		for {
			header, err := content.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			must.Succeed(t, err)
			if files == nil {
				files = map[string]string{}
			}
			files[header.Name] = string(must.Get(io.ReadAll(content))(t))
		}
	}
	return files
}

// ofLayout is the image that an archive has as an OCI layout.
func ofLayout(t *testing.T, archive string) v1.Image {
	t.Helper()
	directory := t.TempDir()
	output, err := exec.CommandContext(t.Context(), "tar", "--extract", "--file", archive, "--directory", directory).CombinedOutput()
	if err != nil {
		t.Fatalf("unpack %s: %v: %s", archive, err, output)
	}
	index := must.Get(layout.ImageIndexFromPath(directory))(t)
	manifests := must.Get(index.IndexManifest())(t).Manifests
	if len(manifests) != 1 {
		t.Fatalf("the layout has %d images", len(manifests))
	}
	want := map[string]string{"io.containerd.image.name": "localhost/app:v1", "org.opencontainers.image.ref.name": "v1"}
	if diff := cmp.Diff(want, manifests[0].Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	return must.Get(index.Image(manifests[0].Digest))(t)
}

// A file of another form than the image builder's is refused, with its name.
func TestPackImageRefuses(t *testing.T) {
	t.Parallel()
	archive := filepath.Join(t.TempDir(), "app.tar")
	must.Succeed(t, os.WriteFile(archive, []byte("no archive"), 0o600))
	if err := (release{}).packImage(t.Context(), archive, ""); err == nil || !strings.Contains(err.Error(), archive) {
		t.Errorf("got %v, want an error with %s", err, archive)
	}
}

// The licenses in an image are those of its own modules.
func TestLicensesIn(t *testing.T) {
	t.Parallel()
	module := func(name, text string, files ...string) *usedModule {
		return &usedModule{name: name, texts: []licenseText{{"LICENSE", text}}, licenses: []string{"MIT"}, files: files}
	}
	r := release{version: "v0.1.0", modules: map[string]*usedModule{
		"a": module("a.example/a v1.0.0", "text of a", "node.tar", "plane.tar"), "b": module("b.example/b v1.0.0", "text of b", "plane.tar"),
	}}
	got := map[string][]string{}
	for _, file := range []string{"node.tar", "plane.tar", "haproxy.tar"} {
		for _, part := range []string{"- a.example/a v1.0.0: MIT\n", "text of a", "- b.example/b v1.0.0: MIT\n", "text of b"} {
			if strings.Contains(r.licensesIn(file), part) {
				got[file] = append(got[file], part)
			}
		}
	}
	all := []string{"- a.example/a v1.0.0: MIT\n", "text of a", "- b.example/b v1.0.0: MIT\n", "text of b"}
	if diff := cmp.Diff(map[string][]string{"node.tar": slices.Clone(all[:2]), "plane.tar": all}, got); diff != "" {
		t.Errorf("licenses (-want +got):\n%s", diff)
	}
}
