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
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/internal/must"
)

// repository is the builder of this checkout; nothing is built with it.
func repository(t *testing.T) *build.Builder {
	t.Helper()
	root := must.Value(filepath.Abs(filepath.Join("..", "..", "..", "..")))(t)
	return &build.Builder{Options: build.Options{Root: root}, Images: build.ImagesDirectory(root)}
}

func kindBaseForTest(t *testing.T) string {
	t.Helper()
	base := must.Value(kindBase(t.Context(), repository(t)))(t)
	return base
}

// TestPackagesAreKinds fails when kind's Dockerfile installs something else
// than we do and differences.go say.
func TestPackagesAreKinds(t *testing.T) {
	t.Parallel()
	text := must.Value(os.ReadFile(filepath.Join(kindBaseForTest(t), "Dockerfile")))(t)
	match := regexp.MustCompile(`(?s)noninteractive clean-install (.*?)&&`).FindSubmatch(text)
	if match == nil {
		t.Fatal("kind's Dockerfile installs its packages in another way")
	}
	want := slices.Sorted(slices.Values(strings.Fields(strings.ReplaceAll(string(match[1]), "\\", ""))))
	got := slices.Sorted(slices.Values(append(nodePackages(), omittedPackages()...)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages (-kind, +ours with the omitted ones):\n%s", diff)
	}
}

func TestFilesAreKinds(t *testing.T) {
	t.Parallel()
	base := kindBaseForTest(t)
	files := &build.Tree{Directory: t.TempDir()}
	must.Succeed(t, addKindFiles(base, files))
	var missing []string
	err := filepath.WalkDir(filepath.Join(base, "files"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(filepath.Join(base, "files"), path)
		if err != nil {
			return err
		}
		info, err := os.Stat(filepath.Join(files.Directory, relative))
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, relative)
			return nil
		}
		if err != nil {
			return err
		}
		if executable := strings.Contains(relative, "bin/"); executable != (info.Mode().Perm() == 0o755) {
			t.Errorf("%s has mode %s", relative, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(omittedFiles(), missing); diff != "" {
		t.Errorf("files that are not in our image (-differences, +found):\n%s", diff)
	}
}

func TestContainerdConfiguration(t *testing.T) {
	t.Parallel()
	text := must.Value(os.ReadFile(filepath.Join(kindBaseForTest(t), filepath.FromSlash(containerdConfig))))(t)
	got := must.Value(addImports(string(text)))(t)
	without := strings.Replace(got, importsLine+"\n", "", 1)
	if diff := cmp.Diff(string(text), without); diff != "" {
		t.Errorf("more than the imports was changed (-kind, +ours):\n%s", diff)
	}
	if line, table := strings.Index(got, importsLine), strings.Index(got, "\n["); line < 0 || line > table {
		t.Error("the imports must stand before the first table")
	}
	if image, err := sandboxImage(got); err != nil || !strings.Contains(image, "pause") {
		t.Errorf("sandbox image %q: %v", image, err)
	}
}

func TestRuntimeSpec(t *testing.T) {
	t.Parallel()
	got := must.Value(runtimeSpec(`{"process":{"rlimits":[{"type":"RLIMIT_NOFILE"}],"cwd":"/"}}`))(t)
	want := `{
  "hooks": {
    "createContainer": [
      {
        "path": "/kind/bin/mount-product-files.sh"
      }
    ]
  },
  "process": {
    "cwd": "/"
  }
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("base specification (-want, +got):\n%s", diff)
	}
	for _, bad := range []string{"", "{}", `{"process":1}`} {
		if _, err := runtimeSpec(bad); err == nil {
			t.Errorf("%q must be an error", bad)
		}
	}
}

func TestDifferencesAreDocumented(t *testing.T) {
	t.Parallel()
	text := must.Value(os.ReadFile(filepath.Join(repository(t).Images, "README.md")))(t)
	_, table, found := strings.Cut(string(text), "| Difference | Why |\n|---|---|\n")
	if !found {
		t.Fatal("images/README.md has no table of differences")
	}
	var documented []string
	for _, line := range strings.Split(table, "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.HasPrefix(line, "| ") {
			documented = append(documented, strings.TrimSpace(cells[1])+": "+strings.TrimSpace(cells[2]))
		}
	}
	var want []string
	for _, d := range differences() {
		want = append(want, d.what+": "+d.why)
	}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("the table of differences in images/README.md (-differences.go, +README):\n%s", diff)
	}
}
