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
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("ab", 32)
	cases := map[string]struct {
		reason     string
		config     string
		present    string
		wantLoaded bool
	}{
		"absent":        {"What is not there is loaded.", digest + ".json", "", true},
		"there":         {"What is there costs nothing.", digest + ".json", "sha256:" + digest, false},
		"newer format":  {"OCI paths are understood.", "blobs/sha256/" + digest, "sha256:" + digest, false},
		"other makers":  {"So are bare digests.", "sha256:" + digest, "sha256:" + digest, false},
		"another build": {"The tag has moved on.", digest + ".json", "sha256:" + strings.Repeat("cd", 32), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := simulated.New()
			if tc.present != "" {
				e.AddImage(engine.Image{ID: tc.present, Tags: []string{"a:1"}}, nil)
			}
			file := must.Get(ReadArchive(archive(t, tc.config), "amd64"))(t)
			loaded := must.Get(file.Load(t.Context(), e))(t)
			if loaded != tc.wantLoaded {
				t.Errorf("%s Loaded: %v", tc.reason, loaded)
			}
			if diff := cmp.Diff([]Archived{{ID: "sha256:" + digest, Tags: []string{"a:1"}}}, file.Images); diff != "" {
				t.Errorf("content differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadArchiveRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, content, want string }{
		"Text":  {"It is no archive.", strings.Repeat("no archive", 200), "create it with \"docker save\""},
		"Short": {"Nor is what is shorter than a header of one.", "hello\n", "create it with \"docker save\""},
		"Empty": {"Nor is nothing.", "", "create it with \"docker save\""},
		"Zstd":  {"What decompresses it is named.", "\x28\xb5\x2f\xfd and so on", "run \"unzstd\" first, or use gzip"},
		"Xz":    {"So it is here.", "\xfd7zXZ\x00 and so on", "run \"unxz\" first"},
		"Link":  {"An engine follows it to a list that was not read.", tarOf(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "./manifest.json", Linkname: "other"}), "manifest.json is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "file.tar")
			must.Succeed(t, os.WriteFile(file, []byte(tc.content), 0o600))
			if _, err := ReadArchive(file, "amd64"); !errors.Is(err, ErrNotAnArchive) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nGot %v, want ErrNotAnArchive with %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestReadArchiveNamesTheCause of what is no other program's.
func TestReadArchiveNamesTheCause(t *testing.T) {
	t.Parallel()
	whole := tarOf(t, content("a", strings.Repeat("x", 512)), content("b", strings.Repeat("x", 4096)))
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	must.Get(writer.Write([]byte(whole)))(t)
	must.Succeed(t, writer.Close())
	for name, tc := range map[string]struct{ content, want string }{
		"tar":     {whole[:len(whole)-2048], "unexpected EOF: the file is incomplete or damaged; create it again"},
		"gzip":    {zipped.String()[:zipped.Len()/2], "decompress: unexpected EOF: the file is incomplete or damaged; create it again"},
		"no gzip": {"\x1f\x8bhello, this is no gzip", "decompress: "},
	} {
		file := filepath.Join(t.TempDir(), "file.tar")
		must.Succeed(t, os.WriteFile(file, []byte(tc.content), 0o600))
		if _, err := ReadArchive(file, "amd64"); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "TMPDIR") {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := ReadArchive(t.TempDir(), "amd64"); err == nil || !strings.Contains(err.Error(), "it is a directory; use the path of an archive") {
		t.Errorf("directory: %v", err)
	}
}

// An engine may give an image each of these names: Docker by manifest.json, by the last one
// where there are two; Podman and containerd by index.json.
func TestArchiveNames(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "image.tar")
	must.Succeed(t, os.WriteFile(file, []byte(tarOf(t,
		content("manifest.json", `[{"Config":"x.json","RepoTags":["first:1"]}]`),
		content("/./manifest.json", `[{"Config":"x.json","RepoTags":["second:1"]}]`),
		content("index.json", `{"manifests":[{"annotations":{"io.containerd.image.name":"third:1","org.opencontainers.image.ref.name":"fourth:1"}}]}`),
		content("repositories", `{"fifth":{"1":"id"}}`),
	)), 0o600))
	got := must.Get(ReadArchive(file, "amd64"))(t).Names
	if diff := cmp.Diff([]string{"fifth:1", "first:1", "fourth:1", "second:1", "third:1"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func content(name, text string) tar.Header {
	return tar.Header{Name: name, Size: int64(len(text)), Typeflag: tar.TypeReg, Mode: 0o600, PAXRecords: map[string]string{"TEST.text": text}}
}

// tarOf entries whose content is in a record of theirs.
func tarOf(tb testing.TB, entries ...tar.Header) string {
	tb.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, entry := range entries {
		must.Succeed(tb, w.WriteHeader(&entry))
		must.Get(w.Write([]byte(entry.PAXRecords["TEST.text"])))(tb)
	}
	must.Succeed(tb, w.Close())
	return out.String()
}

func archive(tb testing.TB, config string) string {
	tb.Helper()
	manifest := must.Get(json.Marshal([]map[string]any{{"Config": config, "RepoTags": []string{"a:1"}, "Layers": []string{}}}))(tb)
	file := filepath.Join(tb.TempDir(), "image.tar")
	must.Succeed(tb, os.WriteFile(file, []byte(tarOf(tb, content(config, "{}"), content("manifest.json", string(manifest)))), 0o600))
	return file
}
