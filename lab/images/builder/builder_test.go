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
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPublish follows an image from its artifact to the engine, and a second version of it.
func TestPublish(t *testing.T) {
	t.Parallel()
	b := newTestBuilder(t)
	engine := filepath.Join(t.TempDir(), "engine")
	writeFile(t, engine, fakeEngine)
	writeFile(t, engine+".id", "\n")
	for _, id := range []string{"sha256:1", "sha256:2"} {
		image := &artifact{name: "haproxy", values: []string{id}, build: func(_ context.Context, w *workspace) error {
			writeFile(t, filepath.Join(w.dir, archiveFile), id)
			text, err := json.Marshal(publication{Reference: haproxyReference, ID: id})
			writeFile(t, filepath.Join(w.dir, publicationFile), string(text))
			return err
		}}
		succeed(t, b.publish(t.Context(), "haproxy", image))
		archive := filepath.Join(b.cache, "haproxy.tar")
		if text, err := os.ReadFile(archive); err != nil || string(text) != id {
			t.Errorf("the archive is %q, %v, want that of %s", text, err, id)
		}
		got := get(readPublication("haproxy", filepath.Join(b.cache, "haproxy.json")))(t)
		if diff := cmp.Diff(publication{Reference: haproxyReference, ID: id, Archive: archive}, got); diff != "" {
			t.Errorf("what those who load it read (-want, +got):\n%s", diff)
		}
		succeed(t, (loader{builder: b, engine: []string{"sh", engine}}).loadImages(t.Context(), []string{"haproxy"}))
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
	got := get(b.repositoryFiles(t.Context(), program{packages: []string{"."}}))(t)
	var want []string
	for _, name := range []string{"used/used.go", "used/text", "main.go", "go.mod", "go.sum"} {
		want = append(want, filepath.Join(b.root, name))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want, +got):\n%s", diff)
	}
}

// fakeEngine stands for an engine's command. It notes how it is called, and has
// one image.
const fakeEngine = `echo "$*" >>"$0.calls"
case "$*" in
*"RepoTags"*) echo 0 ;;
*inspect*) cat "$0.id" ;;
esac
`

func TestLoadImage(t *testing.T) {
	t.Parallel()
	const inspect = "--remote image inspect --format {{.Id}} localhost/capcon/haproxy:2.6"
	cases := map[string]struct {
		reason string
		has    string
		want   []string
	}{
		"the same": {
			reason: "an engine that has the image is left alone",
			has:    "sha256:11", want: []string{inspect},
		},
		"the same, without its algorithm": {
			reason: "Podman prints ids this way",
			has:    "11", want: []string{inspect},
		},
		"an older one": {
			reason: "what lost its name to the new one would never be found again",
			has:    "22", want: []string{
				inspect,
				"--remote image load --quiet --input haproxy.tar",
				"--remote image inspect --format {{len .RepoTags}} 22",
				"--remote image rm 22",
			},
		},
		"none": {
			reason: "there is nothing to remove",
			want:   []string{inspect, "--remote image load --quiet --input haproxy.tar"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "engine")
			writeFile(t, path, fakeEngine)
			writeFile(t, path+".id", c.has+"\n")
			// By the shell: the kernel refuses to run a file that is open for
			// writing, which a process that another test starts meanwhile may have
			// inherited.
			l := loader{builder: &builder{}, engine: []string{"sh", path, "--remote"}}
			err := l.loadImage(t.Context(), "haproxy", publication{
				Reference: "localhost/capcon/haproxy:2.6", ID: "sha256:11", Archive: "haproxy.tar",
			})
			if err != nil {
				t.Fatal(err)
			}
			calls := get(os.ReadFile(path + ".calls"))(t)
			if diff := cmp.Diff(c.want, strings.Split(strings.TrimSpace(string(calls)), "\n")); diff != "" {
				t.Errorf("%s; calls (-want, +got):\n%s", c.reason, diff)
			}
		})
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
