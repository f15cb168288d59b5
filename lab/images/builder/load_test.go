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

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/internal/must"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/recipes"
)

// TestPublish follows an image from its artifact to the engine, and a second version of it.
func TestPublish(t *testing.T) {
	t.Parallel()
	b := must.Value(build.New(t.Context(), build.Options{Cache: t.TempDir()}))(t)
	t.Cleanup(b.Close)
	engine := filepath.Join(t.TempDir(), "engine")
	must.WriteFile(t, engine, fakeEngine)
	must.WriteFile(t, engine+".id", "\n")
	for _, id := range []string{"sha256:1", "sha256:2"} {
		image := &build.Artifact{Name: "haproxy", Values: []string{id}, Build: func(_ context.Context, w *build.Workspace) error {
			must.WriteFile(t, filepath.Join(w.Dir, build.ArchiveFile), id)
			text, err := json.Marshal(build.Publication{Reference: recipes.HaproxyReference, ID: id})
			must.WriteFile(t, filepath.Join(w.Dir, build.PublicationFile), string(text))
			return err
		}}
		must.Succeed(t, b.Publish(t.Context(), []string{"haproxy"}, map[string]*build.Artifact{"haproxy": image}))
		archive := filepath.Join(b.Cache, "haproxy.tar")
		if text, err := os.ReadFile(archive); err != nil || string(text) != id {
			t.Errorf("the archive is %q, %v, want that of %s", text, err, id)
		}
		got := must.Value(build.ReadPublication("haproxy", filepath.Join(b.Cache, "haproxy.json")))(t)
		if diff := cmp.Diff(build.Publication{Reference: recipes.HaproxyReference, ID: id, Archive: archive}, got); diff != "" {
			t.Errorf("what those who load it read (-want, +got):\n%s", diff)
		}
		must.Succeed(t, (loader{Builder: b, engine: []string{"sh", engine}}).loadImages(t.Context(), []string{"haproxy"}))
	}
	calls, err := os.ReadFile(engine + ".calls")
	if err != nil || strings.Count(string(calls), "image load") != 2 {
		t.Errorf("both versions are loaded: %v\n%s", err, calls)
	}
	if err := (loader{Builder: b}).loadImages(t.Context(), []string{"absent"}); err == nil {
		t.Error("an image that was not built cannot be loaded")
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
			must.WriteFile(t, path, fakeEngine)
			must.WriteFile(t, path+".id", c.has+"\n")
			// By the shell: the kernel refuses to run a file that is open for
			// writing, which a process that another test starts meanwhile may have
			// inherited.
			l := loader{Builder: &build.Builder{}, engine: []string{"sh", path, "--remote"}}
			err := l.loadImage(t.Context(), "haproxy", build.Publication{
				Reference: "localhost/capcon/haproxy:2.6", ID: "sha256:11", Archive: "haproxy.tar",
			})
			if err != nil {
				t.Fatal(err)
			}
			calls := must.Value(os.ReadFile(path + ".calls"))(t)
			if diff := cmp.Diff(c.want, strings.Split(strings.TrimSpace(string(calls)), "\n")); diff != "" {
				t.Errorf("%s; calls (-want, +got):\n%s", c.reason, diff)
			}
		})
	}
}
