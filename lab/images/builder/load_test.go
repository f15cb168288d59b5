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
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
			write(t, path, fakeEngine)
			write(t, path+".id", c.has+"\n")
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
			calls, err := os.ReadFile(path + ".calls")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, strings.Split(strings.TrimSpace(string(calls)), "\n")); diff != "" {
				t.Errorf("%s; calls (-want, +got):\n%s", c.reason, diff)
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
