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
	"os"
	"path/filepath"
	"regexp"
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

// TestDocument: the table for users is the one of now.
func TestDocument(t *testing.T) {
	t.Parallel()
	content := must.Get(os.ReadFile(filepath.Join(root, "docs", "contract.md")))(t)
	if string(content) != contract.Markdown() {
		t.Error(`docs/contract.md is another: run "make generate"`)
	}
	if row := regexp.MustCompile(`(?m)^\|[^|]*\|$`).FindString(contract.Markdown()); row != "" {
		t.Errorf("a row has one cell: %s", row)
	}
}
