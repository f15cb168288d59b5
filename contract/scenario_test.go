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

package contract

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/contract/internal/core"
)

func TestScenario(t *testing.T) {
	t.Parallel()
	pass := func(context.Context) error { return nil }
	fail := func(context.Context) error { return errors.New("seen") }
	skip := func(context.Context) error { return notApplicableError("no such thing") }
	for name, c := range map[string]struct {
		reason string
		steps  []step
		want   map[string]string
	}{
		"AllPass": {
			"Each rule has its own result.",
			[]step{{run: pass}, {rule: "A", run: pass}, {rule: "B", run: skip}},
			map[string]string{"A": "pass ", "B": "not applicable no such thing"},
		},
		"TwoSteps": {
			"A rule fails if one of its steps does.",
			[]step{{rule: "A", run: skip}, {rule: "A", run: pass}, {rule: "B", run: fail}, {rule: "B", run: pass}, {rule: "B", run: fail}},
			map[string]string{"A": "pass ", "B": "fail seen; seen"},
		},
		"Essential": {
			"What cannot be reached is not blamed.",
			[]step{{rule: "A", essential: true, run: fail}, {rule: "B", run: fail}, {run: fail}, {rule: "C", run: fail}},
			map[string]string{"A": "fail seen", "B": "not applicable not reached, because A fails", "C": "not applicable not reached, because A fails"},
		},
		"NotEssential": {
			"The scenario continues.",
			[]step{{rule: "A", run: fail}, {rule: "B", run: pass}},
			map[string]string{"A": "fail seen", "B": "pass "},
		},
		"Unprepared": {
			"A step without a rule fails the rule that it prepares.",
			[]step{{run: fail}, {run: pass}, {rule: "A", run: pass}, {rule: "B", run: pass}},
			map[string]string{"A": "fail seen", "B": "not applicable not reached, because A fails"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := &results{all: map[string]Result{}}
			scenario{steps: func(*world) []step { return c.steps }}.run(t.Context(), nil, found)
			got := map[string]string{}
			for id, result := range found.all {
				got[id] = string(result.Status) + " " + result.Reason
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestRules checks that each rule has a step and a section, and each step a rule.
func TestRules(t *testing.T) {
	t.Parallel()
	var tested []string
	for _, s := range scenarios() {
		w := &world{history: newHistory()}
		w.provider.Objects = examples()
		for _, step := range s.steps(w) {
			if step.rule != "" {
				tested = append(tested, step.rule)
			}
		}
	}
	slices.Sort(tested)
	listed := ids(Rules())
	slices.Sort(listed)
	if diff := cmp.Diff(listed, slices.Compact(tested)); diff != "" {
		t.Errorf("rules that are listed, and rules that scenarios test (-listed +tested):\n%s", diff)
	}
	if diff := cmp.Diff(listed, slices.Compact(slices.Clone(listed))); diff != "" {
		t.Errorf("IDs are not unique:\n%s", diff)
	}
}

// TestSections compares the sections with the headings of the book of this version of Cluster API.
func TestSections(t *testing.T) {
	t.Parallel()
	directory, err := core.Manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	book := filepath.Join(directory, "..", "..", "..", "docs", "book", "src", "developer", "providers", "contracts")
	pages := map[string]string{}
	for _, rule := range Rules() {
		if _, read := pages[rule.Page]; !read {
			content, err := os.ReadFile(filepath.Join(book, rule.Page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			pages[rule.Page] = strings.ReplaceAll(string(content), "`", "")
		}
		if !strings.Contains(pages[rule.Page], "# "+rule.Section+"\n") {
			t.Errorf("%s: %s.md has no section %q", rule.ID, rule.Page, rule.Section)
		}
	}
}
