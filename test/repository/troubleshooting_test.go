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
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Users who read a reason in a condition find what to do about it, and read of
// no reason that does not exist.
func TestTroubleshootingHasEachReason(t *testing.T) {
	t.Parallel()
	reasons := func(path, expression string) []string {
		var found []string
		for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(readFile(t, path), -1) {
			found = append(found, match[1])
		}
		slices.Sort(found)
		return slices.Compact(found) // Two conditions may have a reason of one value.
	}
	// The first is generated from api/v1beta2/conditions.go.
	declared, documented := reasons("docs/reference/conditions.md", "(?m)^- `(\\w+)`"), reasons("docs/troubleshooting.md", "(?m)^### `(\\w+)`$")
	if diff := cmp.Diff(declared, documented); diff != "" {
		t.Errorf("Reasons in api/v1beta2/conditions.go (-) and in docs/troubleshooting.md (+):\n%s", diff)
	}
}

// Each documented reason is set by a controller.
func TestEachReasonIsUsed(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	must.Succeed(t, filepath.WalkDir(filepath.Join(root, "controllers"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		source.Write(content)
		return err
	}))
	content := readFile(t, "api/v1beta2/conditions.go")
	for _, match := range regexp.MustCompile(`(?m)^\t(\w+Reason) += `).FindAllStringSubmatch(content, -1) {
		if !strings.Contains(source.String(), "infrav1."+match[1]) {
			t.Errorf("%s is set by no controller", match[1])
		}
	}
}
