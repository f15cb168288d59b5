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

package target

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Other projects cannot import internal packages: no exported declaration names a type
// of one.
func TestAPIHasNoInternalType(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	must.Succeed(t, err)
	for _, name := range paths {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		must.Succeed(t, err)
		internal := internalImports(t, file)
		for _, part := range exported(file) {
			ast.Inspect(part, func(node ast.Node) bool {
				if selector, isSelector := node.(*ast.SelectorExpr); isSelector {
					if of, isName := selector.X.(*ast.Ident); isName && internal[of.Name] {
						t.Errorf("%s: the API has the internal type %s.%s", name, of.Name, selector.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

func internalImports(t *testing.T, file *ast.File) map[string]bool {
	t.Helper()
	internal := map[string]bool{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		must.Succeed(t, err)
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		internal[name] = strings.Contains(imported, "/internal/")
	}
	return internal
}

// exported are the signatures of exported functions and methods, and the types of
// exported fields.
func exported(file *ast.File) []ast.Node {
	var found []ast.Node
	for _, declaration := range file.Decls {
		switch declaration := declaration.(type) {
		case *ast.FuncDecl:
			if declaration.Name.IsExported() {
				found = append(found, declaration.Type)
			}
		case *ast.GenDecl:
			ast.Inspect(declaration, func(node ast.Node) bool {
				if field, isField := node.(*ast.Field); isField && len(field.Names) > 0 && field.Names[0].IsExported() {
					found = append(found, field.Type)
				}
				return true
			})
		}
	}
	return found
}
