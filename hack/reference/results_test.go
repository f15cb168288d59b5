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
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPagesHaveTheFiguresOfResults(t *testing.T) {
	t.Parallel()
	const root = "../.."
	all, err := readResults(filepath.Join(root, "lab", "bench", "results"))
	if err != nil {
		t.Fatal(err)
	}
	byHand := regexp.MustCompile(`\d (s|MB|GB)\b`)
	for page, pageIsDerived := range map[string]bool{"README.md": true, "docs/explanation/comparison.md": true, "docs/results.md": false} {
		content, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		want, err := all.write(string(content))
		if diff := cmp.Diff(want, string(content)); err != nil || diff != "" {
			t.Errorf("%s differs from lab/bench/results, run \"make generate\": %v (-want +got):\n%s", page, err, diff)
		}
		if found := byHand.FindAllString(marker.ReplaceAllString(string(content), ""), -1); pageIsDerived && len(found) > 0 {
			t.Errorf("%s has figures without a marker: %q", page, found)
		}
	}
}

func TestWriteResults(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	page := filepath.Join(directory, "page.md")
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(directory, "up-docker.json"), `{"date": "2026-01-02", "commit": "abc", "machine": "2 cores", "rounds": 3, "tables": [
		{"title": "Seconds", "unit": "s", "rows": [{"what": "floor", "rounds": [18.25, 120, 7]}, {"what": "kind", "rounds": [3]}]},
		{"title": "Ratio", "rows": [{"what": "floor ÷ kind", "rounds": [0.5, 1]}]}]}`)
	write(filepath.Join(directory, "up-podman.json"), `{"date": "2026-01-03", "commit": "def", "machine": "4 cores", "rounds": 1, "tables": [
		{"title": "Seconds", "unit": "s", "rows": [{"what": "floor", "rounds": [20]}]}]}`)
	cases := map[string]struct {
		reason, page, want string
	}{
		"Median": {"An old figure is replaced.", "a <!-- median: up-docker / Seconds / floor -->1 s<!-- end -->, b", "a <!-- median: up-docker / Seconds / floor -->18.2 s<!-- end -->, b"},
		"Spread": {"Ratios have no unit.", "<!-- spread: up-docker / Ratio / floor ÷ kind --><!-- end -->", "<!-- spread: up-docker / Ratio / floor ÷ kind -->0.75 (0.50 to 1.00)<!-- end -->"},
		"Absent": {"A run may lack a row.", "<!-- median: x / y / z -->1 s<!-- end -->", "<!-- median: x / y / z -->not measured<!-- end -->"},
		"Tables": {"One column for each engine.", "<!-- tables: up -->\nold\n<!-- end -->\n", `<!-- tables: up -->

- 2026-01-02, commit abc, rounds: 3; 2 cores
- 2026-01-03, commit def, rounds: 1; 4 cores

| Seconds | Docker | Podman |
|---|---|---|
| floor | 18.2 s (7.0 to 120) | 20.0 s |
| kind | 3.0 s | not measured |

| Ratio | Docker | Podman |
|---|---|---|
| floor ÷ kind | 0.75 (0.50 to 1.00) | not measured |

<!-- end -->
`},
	}
	for name, tc := range cases {
		write(page, tc.page)
		err := writeResults(directory, page)
		got, readErr := os.ReadFile(page)
		if diff := cmp.Diff(tc.want, string(got)); err != nil || readErr != nil || diff != "" {
			t.Errorf("%s: %s: %v, %v (-want +got):\n%s", name, tc.reason, err, readErr, diff)
		}
	}
	write(page, "<!-- median: up-docker / Seconds --><!-- end -->")
	if err := writeResults(directory, page); err == nil {
		t.Error("a marker without a row: no error")
	}
}
