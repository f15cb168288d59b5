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

package connect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
)

func TestHome(t *testing.T) {
	t.Parallel()
	// Git's shell for Windows sets HOME too, and need not be used.
	environment := map[string]string{"HOME": "/h", "USERPROFILE": `C:\Users\u`}
	getenv := func(key string) string { return environment[key] }
	for system, want := range map[string]string{"linux": "/h", "darwin": "/h", "windows": `C:\Users\u`} {
		if got := home(system, getenv); got != want {
			t.Errorf("%s: want %s, got %s", system, want, got)
		}
	}
}

func TestDefaultHosts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		runtime string
		sockets []string
		want    []string
	}{
		"System":   {"That of the client's system, a named pipe on Windows.", "", nil, []string{docker.DefaultHost}},
		"Rootless": {"A user may have an engine too.", "/run/user/1", nil, []string{docker.DefaultHost, "unix:///run/user/1/docker.sock"}},
		"Given":    {"Nothing else is looked at.", "/run/user/1", []string{"/a.sock"}, []string{"unix:///a.sock"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, candidate := range defaults(Options{Sockets: tc.sockets, Getenv: func(string) string { return tc.runtime }}) {
				got = append(got, candidate.host())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}
