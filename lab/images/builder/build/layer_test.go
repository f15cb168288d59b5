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

package build

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/internal/must"
)

// writeTree makes the same files in a given order, at the time of the call.
func writeTree(t *testing.T, names []string) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "tree")
	files := &Tree{Directory: directory}
	files.Mkdir(".", 0o755)
	for _, name := range names {
		files.Write(name, name, 0o640)
	}
	files.Mkdir("tmp", os.ModeSticky|0o777)
	files.Link("b", "link")
	must.Succeed(t, files.Err)
	must.Succeed(t, os.Link(filepath.Join(directory, "a", "one"), filepath.Join(directory, "a", "two")))
	return directory
}

func packed(t *testing.T, directory string) string {
	t.Helper()
	layer := filepath.Join(t.TempDir(), LayerFile)
	must.Succeed(t, PackLayer(t.Context(), directory, layer))
	return layer
}

func TestPackLayerIsDeterministic(t *testing.T) {
	t.Parallel()
	first := writeTree(t, []string{"a/one", "b"})
	second := writeTree(t, []string{"b", "a/one"})
	later := time.Now().Add(time.Hour)
	must.Succeed(t, os.Chtimes(filepath.Join(second, "b"), later, later))
	var sums []string
	for _, directory := range []string{first, second} {
		sum := must.Value(sumFile(packed(t, directory)))(t)
		sums = append(sums, sum)
	}
	if sums[0] != sums[1] {
		t.Error("the same files written in another order and later give another layer")
	}
}

func TestPackLayer(t *testing.T) {
	t.Parallel()
	file := must.Value(os.Open(packed(t, writeTree(t, []string{"b", "a/one"}))))(t)
	defer func() { _ = file.Close() }()
	type entry struct {
		Name, Link string
		Type       byte
		Mode       int64
	}
	var got []entry
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.ModTime.Unix() != epoch {
			t.Errorf("%s has time %s", header.Name, header.ModTime)
		}
		got = append(got, entry{header.Name, header.Linkname, header.Typeflag, header.Mode})
	}
	want := []entry{
		{"./", "", tar.TypeDir, 0o755},
		{"./a/", "", tar.TypeDir, 0o755},
		{"./a/one", "", tar.TypeReg, 0o640},
		{"./a/two", "./a/one", tar.TypeLink, 0o640},
		{"./b", "", tar.TypeReg, 0o640},
		{"./link", "b", tar.TypeSymlink, 0o777},
		{"./tmp/", "", tar.TypeDir, 0o1777},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sorted, with links and modes (-want, +got):\n%s", diff)
	}
}

func TestWriteImage(t *testing.T) {
	t.Parallel()
	bottom := packed(t, writeTree(t, []string{"a/one", "bottom"}))
	top := packed(t, writeTree(t, []string{"a/one", "top"}))
	layers := []ImageLayer{{bottom, "bottom"}, {top, "top"}}
	var ids []string
	var image v1.Image
	for range 2 {
		directory := t.TempDir()
		must.Succeed(t, Platform("amd64").WriteImage(directory, "localhost/capcon/test:1", layers, v1.Config{User: "me"}))
		var err error
		if image, err = tarball.ImageFromPath(filepath.Join(directory, ArchiveFile), nil); err != nil {
			t.Fatal(err)
		}
		id := must.Value(image.ConfigName())(t)
		ids = append(ids, id.String())
	}
	if ids[0] != ids[1] {
		t.Errorf("the same layers give two images: %s and %s", ids[0], ids[1])
	}
	config := must.Value(image.ConfigFile())(t)
	var order []string
	for _, history := range config.History {
		order = append(order, history.CreatedBy)
	}
	if diff := cmp.Diff([]string{"bottom", "top"}, order); diff != "" {
		t.Errorf("order of layers (-want, +got):\n%s", diff)
	}
	if config.Config.User != "me" || len(config.RootFS.DiffIDs) != 2 {
		t.Errorf("configuration was lost: %+v", config)
	}
}
