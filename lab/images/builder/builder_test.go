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
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPublish follows an image from its artifact to the engine, and a second version of it.
func TestPublish(t *testing.T) {
	t.Parallel()
	b := newTestBuilder(t)
	engine := filepath.Join(t.TempDir(), "engine")
	write(t, engine, fakeEngine)
	write(t, engine+".id", "\n")
	for _, id := range []string{"sha256:1", "sha256:2"} {
		image := &artifact{name: "haproxy", values: []string{id}, build: func(_ context.Context, w *workspace) error {
			write(t, filepath.Join(w.dir, archiveFile), id)
			text, err := json.Marshal(publication{Reference: haproxyReference, ID: id})
			write(t, filepath.Join(w.dir, publicationFile), string(text))
			return err
		}}
		if err := b.publish(t.Context(), "haproxy", image); err != nil {
			t.Fatal(err)
		}
		archive := filepath.Join(b.cache, "haproxy.tar")
		if text, err := os.ReadFile(archive); err != nil || string(text) != id {
			t.Errorf("the archive is %q, %v, want that of %s", text, err, id)
		}
		got, err := readPublication("haproxy", filepath.Join(b.cache, "haproxy.json"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(publication{Reference: haproxyReference, ID: id, Archive: archive}, got); diff != "" {
			t.Errorf("what those who load it read (-want, +got):\n%s", diff)
		}
		if err := (loader{builder: b, engine: []string{"sh", engine}}).loadImages(t.Context(), []string{"haproxy"}); err != nil {
			t.Fatal(err)
		}
	}
	calls, err := os.ReadFile(engine + ".calls")
	if err != nil || strings.Count(string(calls), "image load") != 2 {
		t.Errorf("both versions are loaded: %v\n%s", err, calls)
	}
	if err := (loader{builder: b}).loadImages(t.Context(), []string{"absent"}); err == nil {
		t.Error("an image that was not built cannot be loaded")
	}
}

// TestRepositoryFiles: the image is recompiled when one of its program's files changes.
func TestRepositoryFiles(t *testing.T) {
	t.Parallel()
	b := newTestBuilder(t)
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "go.sum": "",
		"main.go":          "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/m/used\"\n)\n\nfunc main() { fmt.Print(used.Text) }\n",
		"used/used.go":     "package used\n\nimport _ \"embed\"\n\n//go:embed text\nvar Text string\n",
		"used/text":        "text",
		"used/of_test.go":  "package used\n",
		"unused/unused.go": "package unused\n",
	} {
		writeFile(t, filepath.Join(b.root, name), text)
	}
	got, err := b.repositoryFiles(t.Context(), program{packages: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range []string{"used/used.go", "used/text", "main.go", "go.mod", "go.sum"} {
		want = append(want, filepath.Join(b.root, name))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want, +got):\n%s", diff)
	}
}
