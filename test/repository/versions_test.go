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

package repository

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// The guide names the versions there are images for, each with how.
func TestKnownVersionsAreDocumented(t *testing.T) {
	t.Parallel()
	guide := readFile(t, "docs/explanation/versions.md")
	for marker, isSo := range map[string]func(image string) bool{
		"by digest":  func(image string) bool { return strings.Contains(image, "@sha256:") },
		"as its tag": func(image string) bool { return strings.HasPrefix(image, "localhost/capcon/node:v") },
	} {
		var want []string
		for _, version := range node.KnownVersions() {
			if image, err := node.Image(version); err == nil && isSo(image) {
				want = append(want, version)
			}
		}
		rows := slices.DeleteFunc(strings.Split(guide, "\n"), func(line string) bool {
			return !strings.HasPrefix(line, "| v") || !strings.Contains(line, marker)
		})
		if len(rows) != 1 {
			t.Fatalf("%d rows say %q", len(rows), marker)
		}
		got := strings.Split(strings.TrimSpace(strings.Split(rows[0], "|")[1]), ", ")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Versions %s (-known +documented):\n%s", marker, diff)
		}
	}
}
