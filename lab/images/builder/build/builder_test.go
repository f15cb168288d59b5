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
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/internal/must"
)

// TestRepositoryFiles: the image is recompiled when one of its program's files changes.
func TestRepositoryFiles(t *testing.T) {
	t.Parallel()
	b := NewTestBuilder(t)
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "go.sum": "",
		"main.go":          "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/m/used\"\n)\n\nfunc main() { fmt.Print(used.Text) }\n",
		"used/used.go":     "package used\n\nimport _ \"embed\"\n\n//go:embed text\nvar Text string\n",
		"used/text":        "text",
		"used/of_test.go":  "package used\n",
		"unused/unused.go": "package unused\n",
	} {
		must.WriteFile(t, filepath.Join(b.Root, name), text)
	}
	got := must.Value(b.repositoryFiles(t.Context(), Program{Packages: []string{"."}}))(t)
	var want []string
	for _, name := range []string{"used/used.go", "used/text", "main.go", "go.mod", "go.sum"} {
		want = append(want, filepath.Join(b.Root, name))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want, +got):\n%s", diff)
	}

	for name, text := range map[string]string{
		"other/go.mod":  "module example.com/m/other\n\ngo 1.26\n\nrequire example.com/m v0.0.0\n\nreplace example.com/m => ../\n",
		"other/go.sum":  "",
		"other/main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/m/used\"\n)\n\nfunc main() { fmt.Print(used.Text) }\n",
	} {
		must.WriteFile(t, filepath.Join(b.Root, name), text)
	}
	got = must.Value(b.repositoryFiles(t.Context(), Program{Module: "other", Packages: []string{"."}}))(t)
	want = nil
	for _, name := range []string{"used/used.go", "used/text", "other/main.go", "go.mod", "go.sum", "other/go.mod", "other/go.sum"} {
		want = append(want, filepath.Join(b.Root, name))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of another module (-want, +got):\n%s", diff)
	}
}

func TestUnderway(t *testing.T) {
	t.Parallel()
	var work underway
	if got := work.describe(time.Now()); got != "" {
		t.Errorf("%q is under way before anything began", got)
	}
	work.plan(4)
	work.begin("first")
	work.begin("ended")
	work.begin("second")
	work.end("ended")
	work.finish()
	work.since["first"] = work.since["first"].Add(-time.Minute)
	const want = "first for 65s, second for 5s; 3 of 4 parts remain"
	if got := work.describe(work.since["second"].Add(5 * time.Second)); got != want {
		t.Errorf("under way: %q, want %q", got, want)
	}
}

func TestMountsBelow(t *testing.T) {
	t.Parallel()
	const table = `22 1 254:0 / / rw - ext4 /dev/vda rw
30 22 0:5 / /cache/scratch/a\040b/root/proc rw - proc proc rw
31 30 0:6 / /cache/scratch/a\040b/root/proc/sys rw - sysfs sysfs rw
32 22 0:7 / /cache/scratch-other/proc rw - proc proc rw
broken
`
	want := []string{"/cache/scratch/a b/root/proc/sys", "/cache/scratch/a b/root/proc"}
	if diff := cmp.Diff(want, mountsBelow(table, "/cache/scratch")); diff != "" {
		t.Errorf("innermost first, nothing next to the directory (-want, +got):\n%s", diff)
	}
}
