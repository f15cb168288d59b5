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
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestLayout: an image of a release has the id of the image it is made from, as a layout and
// as a docker-archive, and its archive is the same each time.
func TestLayout(t *testing.T) {
	t.Parallel()
	const reference = "localhost/capcon/app:v0.1.0"
	source := t.TempDir()
	layer := packed(t, writeTree(t, []string{"a/one", "b"}))
	if err := platform("amd64").writeImage(source, reference, []imageLayer{{layer, "files"}}, v1.Config{User: "1"}); err != nil {
		t.Fatal(err)
	}
	want, err := readPublication("app", filepath.Join(source, publicationFile))
	if err != nil {
		t.Fatal(err)
	}
	var archives [2][]byte
	for i := range archives {
		directory, archive := t.TempDir(), filepath.Join(t.TempDir(), archiveFile)
		if err := writeLayout(filepath.Join(source, archiveFile), reference, directory); err != nil {
			t.Fatal(err)
		}
		if err := packLayout(t.Context(), directory, archive); err != nil {
			t.Fatal(err)
		}
		if archives[i], err = os.ReadFile(archive); err != nil {
			t.Fatal(err)
		}
		loaded, err := tarball.ImageFromPath(archive, nil)
		if err != nil {
			t.Fatal(err)
		}
		for form, image := range map[string]v1.Image{"docker-archive": loaded, "layout": ofLayout(t, directory, reference)} {
			id, err := image.ConfigName()
			if err != nil || id.String() != want.ID {
				t.Errorf("the %s has %s, want %s: %v", form, id, want.ID, err)
			}
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives of one image differ")
	}
}

func ofLayout(t *testing.T, directory, reference string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("the layout has %d images: %v", len(manifest.Manifests), err)
	}
	want := map[string]string{"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": "v0.1.0"}
	if diff := cmp.Diff(want, manifest.Manifests[0].Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestPackageOfFile(t *testing.T) {
	t.Parallel()
	got, err := packageOfFile("/debs/libc6_1%3a2.36-9+deb12u1_amd64.deb")
	if want := "libc6 1:2.36-9+deb12u1 amd64"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := packageOfFile("/debs/surprise.deb"); err == nil {
		t.Error("another file: success, want an error")
	}
}
