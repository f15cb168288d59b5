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
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strconv"
	"strings"
)

// declaration returns the source of a declaration, with its comment. Methods are named Type.Method.
func declaration(path, source, name string) (string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("parse: %w", err)
	}
	for _, found := range file.Decls {
		var node ast.Node
		var comment *ast.CommentGroup
		switch found := found.(type) {
		case *ast.FuncDecl:
			if nameOf(found) == name {
				node, comment = found, found.Doc
			}
		case *ast.GenDecl:
			if declares(found, name) {
				node, comment = found, found.Doc
			}
		}
		if node != nil {
			start := node.Pos()
			if comment != nil {
				start = comment.Pos()
			}
			return source[files.Position(start).Offset:files.Position(node.End()).Offset], nil
		}
	}
	return "", fmt.Errorf("%s is not declared", name)
}

func nameOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	if identifier, ok := receiver.(*ast.Ident); ok {
		return identifier.Name + "." + function.Name.Name
	}
	return function.Name.Name
}

func declares(group *ast.GenDecl, name string) bool {
	for _, spec := range group.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.Name == name {
				return true
			}
		case *ast.ValueSpec:
			for _, identifier := range spec.Names {
				if identifier.Name == name {
					return true
				}
			}
		}
	}
	return false
}

// rulesFile declares the rules of the contract kit.
const rulesFile = "contract/rule.go"

type rule struct{ id, level, title string }

// rules reads those of the contract kit, which is another module.
func rules(repository fs.FS) ([]rule, error) {
	content, err := fs.ReadFile(repository, rulesFile)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), rulesFile, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse rules: %w", err)
	}
	var found []rule
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.CompositeLit); ok && literal.Type == nil && len(literal.Elts) > 3 {
			level, _ := literal.Elts[1].(*ast.Ident)
			if id := unquote(literal.Elts[0]); id != "" && level != nil {
				found = append(found, rule{id, strings.ToUpper(level.Name), unquote(literal.Elts[len(literal.Elts)-1])})
			}
		}
		return true
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no rules", rulesFile)
	}
	return found, nil
}

func unquote(expression ast.Expr) string {
	literal, ok := expression.(*ast.BasicLit)
	if !ok {
		return ""
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return text
}

// table lists rules by their IDs.
func table(repository fs.FS, ids []string) (string, error) {
	all, err := rules(repository)
	if err != nil {
		return "", err
	}
	byID := make(map[string]rule, len(all))
	for _, rule := range all {
		byID[rule.id] = rule
	}
	var out strings.Builder
	out.WriteString("| Rule | Level | |\n|---|---|---|\n")
	for _, id := range ids {
		rule, found := byID[id]
		if !found {
			return "", fmt.Errorf("the contract kit has no rule %s", id)
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", rule.id, rule.level, rule.title)
	}
	return out.String(), nil
}
