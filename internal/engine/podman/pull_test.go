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

package podman

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func TestFollowPull(t *testing.T) {
	t.Parallel()
	const begin = `{"stream":"Trying to pull r.example/a:1...\n"}`
	cases := map[string]struct {
		reason, stream string
		want           []engine.PullProgress
		kind           error
	}{
		"two layers": {
			reason: "each layer is reported once; they are done when the configuration comes",
			stream: begin + `{"stream":"Getting image source signatures\n"}{"stream":"Copying blob sha256:a\n"}` +
				`{"stream":"Copying blob sha256:a skipped: already exists\nCopying blob sha256:b\n"}` +
				`{"stream":"Copying config sha256:c\n"}{"images":["c"],"id":"c"}`,
			want: []engine.PullProgress{
				{LayersTotal: 1, WithoutBytes: true}, {LayersTotal: 1, WithoutBytes: true}, {LayersTotal: 2, WithoutBytes: true},
				{LayersTotal: 2, LayersDone: 2, WithoutBytes: true},
			},
		},
		"refused": {
			reason: "the status is 200, the error is in the text",
			stream: begin + `{"error":"initializing source docker://r.example/a:1: unable to retrieve auth token: invalid username/password: unauthorized"}`,
			kind:   engine.ErrUnauthorized,
		},
		"absent": {
			reason: "a code of the registry protocol",
			stream: begin + `{"error":"initializing source docker://r.example/a:1: reading manifest 1 in r.example/a: manifest unknown"}`,
			kind:   engine.ErrNotFound,
		},
		"unreachable": {
			reason: "it did not get as far as the registry's answer",
			stream: begin + `{"error":"initializing source docker://127.0.0.1:1/a:1: pinging container registry 127.0.0.1:1: Get \"https://127.0.0.1:1/v2/\": dial tcp 127.0.0.1:1: connect: connection refused"}`,
			kind:   engine.ErrUnavailable,
		},
		"broken off": {
			reason: "the service went away",
			stream: begin + `{"stream":"Copying`,
			kind:   engine.ErrUnavailable,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []engine.PullProgress
			err := follow(strings.NewReader(c.stream), func(p engine.PullProgress) { got = append(got, p) })
			if !errors.Is(err, c.kind) {
				t.Fatalf("%s: %v, want %v", c.reason, err, c.kind)
			}
			if diff := cmp.Diff(c.want, got, comparers()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
