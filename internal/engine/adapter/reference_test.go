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

package adapter_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestParseReference(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("ab", 32)
	cases := map[string]struct {
		reason, text string
		want         adapter.Reference
	}{
		"short":            {"Docker's reading, on every engine.", "haproxy:3.2", adapter.Reference{Name: "docker.io/library/haproxy:3.2", Registry: "docker.io", Short: true}},
		"no tag":           {"The tag is written out.", "kindest/node", adapter.Reference{Name: "docker.io/kindest/node:latest", Registry: "docker.io", Short: true}},
		"in full":          {"It stays as it is.", "docker.io/kindest/node:v1", adapter.Reference{Name: "docker.io/kindest/node:v1", Registry: "docker.io"}},
		"old host":         {"It is the same registry.", "index.docker.io/kindest/node:v1", adapter.Reference{Name: "docker.io/kindest/node:v1", Registry: "docker.io"}},
		"port":             {"The port belongs to the registry.", "127.0.0.1:5000/a:1", adapter.Reference{Name: "127.0.0.1:5000/a:1", Registry: "127.0.0.1:5000"}},
		"digest":           {"It always means the same image.", "r.example/a" + digest, adapter.Reference{Name: "r.example/a" + digest, Registry: "r.example", Pinned: true}},
		"tag and digest":   {"Podman refuses both immediately.", "r.example/a:1" + digest, adapter.Reference{Name: "r.example/a" + digest, Registry: "r.example", Pinned: true}},
		"built here":       {"No registry is meant.", "localhost/capcon/node:v1", adapter.Reference{Name: "localhost/capcon/node:v1", Registry: "localhost"}},
		"port of the host": {"This one is a registry.", "localhost:5000/a:1", adapter.Reference{Name: "localhost:5000/a:1", Registry: "localhost:5000"}},
	}
	for name, tc := range cases {
		got := must.Get(adapter.ParseReference(tc.text))(t)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
		if local := got.LocalOnly(); local != strings.HasPrefix(tc.text, "localhost/") {
			t.Errorf("%s: LocalOnly: %t", name, local)
		}
	}
}

func TestParseReferenceRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "A:1", "a:1:2", "sha256:" + strings.Repeat("ab", 32), strings.Repeat("ab", 32)} {
		if got, err := adapter.ParseReference(text); err == nil {
			t.Errorf("ParseReference(%q) is %+v, want an error", text, got)
		}
	}
}
