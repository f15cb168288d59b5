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

package nodeimages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// fullName is BuildKit's annotation, and ofOCI that of other builders.
func fullName(name string) map[string]string { return map[string]string{nameAnnotations[0]: name} }
func ofOCI(name string) map[string]string    { return map[string]string{nameAnnotations[1]: name} }

func imageFor(t *testing.T, architecture string) v1.Image {
	t.Helper()
	image := must.Get(random.Image(1024, 2))(t)
	config := must.Get(image.ConfigFile())(t).DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	return must.Get(mutate.ConfigFile(image, config))(t)
}

// platforms are an index with an image for each, and an attestation, as BuildKit writes them.
func platforms(images ...v1.Image) v1.ImageIndex {
	index := mutate.AppendManifests(empty.Index)
	for _, image := range images {
		config, err := image.ConfigFile()
		if err != nil {
			panic(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: config.Architecture}},
		})
	}
	attestation := v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}
	return mutate.AppendManifests(index, mutate.IndexAddendum{Add: empty.Image, Descriptor: attestation})
}

// ociArchive of an index, as a tar.
func ociArchive(t *testing.T, entries ...mutate.IndexAddendum) []byte {
	t.Helper()
	directory := t.TempDir()
	must.Get(ocilayout.Write(directory, mutate.AppendManifests(empty.Index, entries...)))(t)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	must.Succeed(t, w.AddFS(os.DirFS(directory)))
	must.Succeed(t, w.Close())
	return out.Bytes()
}

func TestReadOCIArchive(t *testing.T) {
	t.Parallel()
	amd, arm := imageFor(t, "amd64"), imageFor(t, "arm64")
	entry := func(add mutate.Appendable, annotations map[string]string) mutate.IndexAddendum {
		return mutate.IndexAddendum{Add: add, Descriptor: v1.Descriptor{Annotations: annotations}}
	}
	for name, tc := range map[string]struct {
		reason  string
		entries []mutate.IndexAddendum
		tag     string
		err     string
	}{
		"Image":     {"Without a platform in the index, its configuration has it.", []mutate.IndexAddendum{entry(amd, fullName("docker.io/library/app:v1"))}, "docker.io/library/app:v1", ""},
		"Platforms": {"That of the nodes is taken.", []mutate.IndexAddendum{entry(platforms(arm, amd), fullName("docker.io/library/app:v1"))}, "docker.io/library/app:v1", ""},
		"Flat":      {"Some builders nest no index.", []mutate.IndexAddendum{entry(arm, ofOCI("app:v1")), entry(amd, ofOCI("app:v1"))}, "app:v1", ""},
		"Other":     {"Its Pods would fail.", []mutate.IndexAddendum{entry(platforms(arm), fullName("app:v1"))}, "", "no image for linux/amd64, but for linux/arm64; build it with --platform=linux/amd64"},
		"Unnamed":   {"Pods could not name it.", []mutate.IndexAddendum{entry(amd, nil)}, "", "its image has no name"},
		"TagOnly":   {"Nor by a tag alone.", []mutate.IndexAddendum{entry(amd, ofOCI("latest"))}, "", "its image has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := ReadStream("stream", bytes.NewReader(ociArchive(t, tc.entries...)), "amd64")
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s Got %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			must.Succeed(t, err)
			defer func() { must.Succeed(t, archive.Close()) }()
			id := must.Get(amd.ConfigName())(t).String()
			if diff := cmp.Diff([]Archived{{ID: id, Tags: []string{tc.tag}}}, archive.Images); diff != "" {
				t.Errorf("%s images (-want +got):\n%s", tc.reason, diff)
			}
			e := simulated.New()
			if loaded, err := archive.Load(t.Context(), e); !loaded || err != nil {
				t.Fatalf("loaded %v, %v", loaded, err)
			}
			// An engine saves it again as a docker-archive with the same image.
			saved := must.Get(e.SaveImage(t.Context(), tc.tag))(t)
			again := must.Get(ReadStream("saved", saved, "amd64"))(t)
			if again.Images[0].ID != id {
				t.Errorf("the engine has %s, want %s", again.Images[0].ID, id)
			}
			must.Succeed(t, again.Close())
		})
	}
}

// What was copied to a temporary file is removed.
func TestCompressedArchiveLeavesNoFile(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	must.Get(w.Write(ociArchive(t, mutate.IndexAddendum{Add: imageFor(t, "amd64"), Descriptor: v1.Descriptor{Annotations: fullName("app:v1")}})))(t)
	must.Succeed(t, w.Close())
	file := filepath.Join(t.TempDir(), "app.tgz")
	must.Succeed(t, os.WriteFile(file, compressed.Bytes(), 0o600))
	archive := must.Get(ReadArchive(file, "amd64"))(t)
	must.Succeed(t, archive.Close())
	if left := must.Get(filepath.Glob(filepath.Join(directory, "capcon-*")))(t); len(left) > 0 {
		t.Errorf("temporary files: %v", left)
	}
	// A stream that breaks leaves none either.
	if _, err := ReadStream("stream", io.MultiReader(bytes.NewReader(compressed.Bytes()[:200])), "amd64"); err == nil {
		t.Error("a stream that ends early was accepted")
	}
}
