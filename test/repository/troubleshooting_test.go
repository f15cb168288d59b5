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

// The guide of remediation names reasons of the condition, and capcon has a remedy for each that
// the provider does not repair by itself.
func TestRemediationHasReasonsOfTheAPI(t *testing.T) {
	t.Parallel()
	sections := map[string]string{}
	for section := range strings.SplitSeq(readFile(t, "docs/reference/conditions.md"), "\n## ") {
		condition, text, _ := strings.Cut(section, " of a ")
		sections[condition] += text
	}
	constants, remedies := readFile(t, "api/v1beta2/conditions.go"), readFile(t, "cmd/capcon/internal/management/troubles.go")
	rows := regexp.MustCompile("(?m)^\\|[^|]*\\| `(\\w+)`: ([^|]*) \\| ([^|]*) \\|").FindAllStringSubmatch(readFile(t, "docs/how-to/remediation.md"), -1)
	if len(rows) == 0 {
		t.Error("docs/how-to/remediation.md has no table of failures")
	}
	for _, row := range rows {
		condition, remediation := row[1], row[3]
		for _, reason := range regexp.MustCompile(`\w+`).FindAllString(row[2], -1) {
			if !strings.Contains(sections[condition], "- `"+reason+"`") {
				t.Errorf("docs/how-to/remediation.md: %s is no reason of condition %s", reason, condition)
			}
			constant := regexp.MustCompile(`(\w+) += "` + reason + `"`).FindStringSubmatch(constants)
			entry := "infrav1." + condition + "Condition, infrav1." + strings.Join(constant[min(1, len(constant)):], "") + ","
			if !strings.HasPrefix(remediation, "by the provider") && !strings.Contains(remedies, entry) {
				t.Errorf("fatal in troubles.go has no {%s", entry)
			}
		}
	}
}
