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

package contract_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/test/contract"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// root is the repository's root, seen from this package.
const root = "../.."

// TestTable: what the table names is there, once.
func TestTable(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, rule := range contract.Rules() {
		name := rule.ID + ": " + rule.Says
		if said[name] {
			t.Errorf("%s is there twice", name)
		}
		said[name] = true
		if rule.Unproved != "" {
			if rule.Proof != (contract.Proof{}) {
				t.Errorf("%s has a proof, and a reason why it has none", name)
			}
			continue
		}
		if !hasTest(t, rule.Proof) {
			t.Errorf("%s: %s has no test %s", name, rule.Package, rule.Test)
		}
	}
}

// hasTest looks for the function, and for the name of the subtest among the
// texts of the package's tests.
func hasTest(t *testing.T, proof contract.Proof) bool {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(root, proof.Package, "*_test.go")))(t)
	// Tables that several packages test.
	inputs := must.Get(filepath.Glob(filepath.Join(root, "test", "inputs", "*.go")))(t)
	files = append(files, inputs...)
	var all strings.Builder
	for _, file := range files {
		content := must.Get(os.ReadFile(file))(t)
		all.Write(content)
	}
	function, subtest, hasSubtest := strings.Cut(proof.Test, "/")
	if !strings.Contains(all.String(), "func "+function+"(t *testing.T)") {
		return false
	}
	// Templates are found by what there is.
	isFile := strings.HasSuffix(subtest, ".yaml")
	return !hasSubtest || isFile || strings.Contains(all.String(), `"`+subtest+`"`) || strings.HasPrefix(subtest, "Container")
}

// TestTableIsWhole: the numbers of the rules have no gaps, so that none was
// forgotten. How many there are of each is from the contract of 1.14.
func TestTableIsWhole(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	for _, rule := range contract.Rules() {
		there[rule.ID] = true
	}
	for letters, last := range map[string]int{"C": 24, "IC": 16, "ICT": 3, "IM": 20, "IMT": 8, "P": 20, "B": 7, "K": 20, "M": 11, "O": 8} {
		for number := range last {
			if id := letters + strconv.Itoa(number+1); !there[id] {
				t.Errorf("rule %s is missing", id)
			}
		}
	}
}

var update = flag.Bool("update", false, "write docs/contract.md")

// TestDocument: the table for users is the current one.
func TestDocument(t *testing.T) {
	t.Parallel()
	file := filepath.Join(root, "docs", "contract.md")
	if *update {
		must.Succeed(t, os.WriteFile(file, []byte(markdown()), 0o644)) //nolint:gosec // Documentation is for all to read.
	}
	content := must.Get(os.ReadFile(file))(t)
	if string(content) != markdown() {
		t.Error(`docs/contract.md is another: run "make generate"`)
	}
}

// introduction of the document.
const introduction = `<!-- Written by "make generate" from test/contract. Change it there. -->

# Cluster API contract

The rules of Cluster API for infrastructure providers (contract v1beta2, as of 1.14), and the
test that proves that this provider follows each of them. ` + "`make e2e RUN=mutation`" + ` mutates the packages that
implement the rules, and reports which mutants no test of their own package kills.
`

// markdown returns the table for users.
func markdown() string {
	var out strings.Builder
	out.WriteString(introduction)
	for _, section := range contract.Sections() {
		fmt.Fprintf(&out, "\n## %s\n\n| Rule | Requirement | Test |\n|---|---|---|\n", section.Title)
		for _, rule := range section.Rules {
			if rule.Unproved != "" {
				fmt.Fprintf(&out, "| %s | %s | none: %s |\n", rule.ID, rule.Says, rule.Unproved)
				continue
			}
			fmt.Fprintf(&out, "| %s | %s | `%s` in `%s` |\n", rule.ID, rule.Says, rule.Test, rule.Package)
		}
	}
	return out.String()
}
