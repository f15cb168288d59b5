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

package identity

import (
	"errors"
	"testing"
)

func TestParseProviderID(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, providerID, want string
	}{
		"Ours":       {"A container's name.", "container:///demo-0-1234abcd", "demo-0-1234abcd"},
		"Adopted":    {"Names that engines accept and we do not make.", "container:///My_node.1", "My_node.1"},
		"Docker":     {"Another provider's.", "docker:////demo-0", ""},
		"Kind":       {"Another provider's.", "kind://docker/demo/demo-0", ""},
		"Empty":      {"No name.", "container:///", ""},
		"Nothing":    {"Not set.", "", ""},
		"Path":       {"A name is no path.", "container:///a/b", ""},
		"Option":     {"A name does not begin like an option.", "container:///-rm", ""},
		"LineBreak":  {"A name is one line.", "container:///demo\n", ""},
		"TwoSlashes": {"The prefix is exact.", "container://demo", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseProviderID(tc.providerID)
			if got != tc.want || (tc.want == "") != errors.Is(err, ErrProviderID) {
				t.Errorf("%s\nParseProviderID(%q) = %q, %v", tc.reason, tc.providerID, got, err)
			}
		})
	}
}
