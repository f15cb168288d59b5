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

package upstream

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// replaced are upstream's assertions for its Dev kinds, and what ours are called.
var replaced = map[string]string{
	"framework.DevInfraOwnerReferenceAssertions": "target.OwnerReferenceAssertions",
	"framework.DevInfraFinalizersAssertion":      "target.FinalizersAssertion",
}

// ofTopology are the assertions that depend on whether there is a topology, which ours
// keeps in a variable.
var ofTopology = []string{
	"framework.CoreFinalizersAssertionWithLegacyClusters",
	"framework.CoreFinalizersAssertionWithClassyClusters",
}

// Our quick start validates what upstream's does, with the same assertions but for the
// kinds of the infrastructure.
func TestValidationsAreUpstreams(t *testing.T) {
	t.Parallel()
	upstream := parse(t, filepath.Join(moduleDirectory(t, "sigs.k8s.io/cluster-api/test"), "e2e", "quick_start_test.go"))
	ours := parse(t, "quick_start_test.go")
	want := validations(upstream)
	if len(want) < 4 {
		t.Fatalf("upstream's quick start has only the validations %q: is it another file now?", want)
	}
	if diff := cmp.Diff(want, validations(ours)); diff != "" {
		t.Errorf("Validations (-upstream +ours):\n%s", diff)
	}
	for _, assertion := range ofTopology {
		if !slices.Contains(selectors(ours), assertion) {
			t.Errorf("our quick start does not use %s", assertion)
		}
	}
}

// moduleDirectory is where Go's module cache has the sources of a module.
func moduleDirectory(t *testing.T, module string) string {
	t.Helper()
	directory, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find %s: %v", module, err)
	}
	return strings.TrimSpace(string(directory))
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	must.Succeed(t, err)
	return file
}

// validations are the calls framework.Validate…, each with its assertions, sorted.
func validations(file *ast.File) []string {
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		call, isCall := node.(*ast.CallExpr)
		if !isCall || !strings.HasPrefix(selector(call.Fun), "framework.Validate") {
			return true
		}
		text := selector(call.Fun)
		for _, argument := range call.Args {
			if name := assertion(argument); name != "" {
				text += " " + name
			}
		}
		found = append(found, text)
		return true
	})
	slices.Sort(found)
	return slices.Compact(found)
}

// assertion that an argument is, called or not; empty = none.
func assertion(argument ast.Expr) string {
	if call, isCall := argument.(*ast.CallExpr); isCall {
		argument = call.Fun
	}
	name := selector(argument)
	if variable, isVariable := argument.(*ast.Ident); isVariable && variable.Name == "core" || slices.Contains(ofTopology, name) {
		return "core"
	}
	if ours, isReplaced := replaced[name]; isReplaced {
		return ours
	}
	if strings.Contains(name, "Assertion") {
		return name
	}
	return ""
}

func selectors(file *ast.File) []string {
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		if expression, isExpression := node.(ast.Expr); isExpression {
			found = append(found, selector(expression))
		}
		return true
	})
	return found
}

// selector as package.Name; empty where it is none.
func selector(expression ast.Expr) string {
	if selector, isSelector := expression.(*ast.SelectorExpr); isSelector {
		if of, isName := selector.X.(*ast.Ident); isName {
			return of.Name + "." + selector.Sel.Name
		}
	}
	return ""
}
