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
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Users who read a reason in a condition find what to do about it, and read of
// no reason that does not exist.
func TestTroubleshootingHasEachReason(t *testing.T) {
	t.Parallel()
	documented := headings(readFile(t, "docs/troubleshooting.md"))
	if diff := cmp.Diff(reasons(t), documented); diff != "" {
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

// headings lists the reasons that have an entry, sorted.
func headings(document string) []string {
	var found []string
	for _, match := range regexp.MustCompile("(?m)^### `(\\w+)`$").FindAllStringSubmatch(document, -1) {
		found = append(found, match[1])
	}
	slices.Sort(found)
	return found
}

// reasons lists the values of all constants whose name ends in Reason, sorted
// and each once: two conditions may have a reason of one value.
func reasons(t *testing.T) []string {
	t.Helper()
	file := must.Get(parser.ParseFile(token.NewFileSet(), filepath.Join(root, "api", "v1beta2", "conditions.go"), nil, 0))(t)
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if strings.HasSuffix(name.Name, "Reason") {
				found = append(found, value(t, spec.Values[i]))
			}
		}
		return true
	})
	slices.Sort(found)
	return slices.Compact(found)
}

// value of a constant: a string, or one of Cluster API's constants, whose values
// are their names without the end.
func value(t *testing.T, expression ast.Expr) string {
	t.Helper()
	switch expression := expression.(type) {
	case *ast.BasicLit:
		text := must.Get(strconv.Unquote(expression.Value))(t)
		return text
	case *ast.SelectorExpr:
		return strings.TrimSuffix(expression.Sel.Name, "Reason")
	default:
		t.Fatalf("A reason is a %T, which this test does not understand", expression)
		return ""
	}
}
