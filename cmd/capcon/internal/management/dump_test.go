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

package management

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason      string
		value, want any
	}{
		"Given": {
			reason: "A given secret is found in what a document would quote, fold or break.",
			value:  map[string]any{"message": "it says:\n\"correct horse\"", "lines": []any{"no correct horse"}},
			want:   map[string]any{"message": "it says:\n\"[redacted]\"", "lines": []any{"no [redacted]"}},
		},
		"Named": {
			reason: "A field is a secret by its name; a reference to a Secret is none.",
			value:  map[string]any{"token": "short\nword", "secret": map[string]any{"name": "x"}, "dataSecretName": "x", "count": int64(1)},
			want:   map[string]any{"token": "[redacted]", "secret": map[string]any{"name": "x"}, "dataSecretName": "x", "count": int64(1)},
		},
		"Variable": {
			reason: "The name of a variable is next to its value, which may be an object.",
			value: []any{
				map[string]any{"name": "registryPassword", "value": map[string]any{"a": "b"}}, map[string]any{"name": "network", "value": "b"},
			},
			want: []any{map[string]any{"name": "registryPassword", "value": "[redacted]"}, map[string]any{"name": "network", "value": "b"}},
		},
		"Files": {
			reason: "Only the content of a file that every user may read is shown.",
			value: []any{
				map[string]any{"content": "a", "permissions": "0640"}, map[string]any{"content": "a", "permissions": "0644"},
				map[string]any{"content": "a"}, map[string]any{"content": "YQ==", "encoding": "base64"},
			},
			want: []any{
				map[string]any{"content": "[redacted]", "permissions": "0640"}, map[string]any{"content": "a", "permissions": "0644"},
				map[string]any{"content": "a"}, map[string]any{"content": "[redacted]", "encoding": "base64"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, Redact(tc.value, []string{"correct horse"})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
