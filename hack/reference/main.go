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

// Reference prints the conditions and reasons of this provider's objects, or its
// limits, as they are documented where they are declared, for docs/reference. It also writes
// the figures of benchmarks where pages have markers for them.
//
//	go run ./hack/reference api/v1beta2/conditions.go
//	go run ./hack/reference limits DIRECTORY...
//	go run ./hack/reference results DIRECTORY PAGE...
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	var page string
	var err error
	switch {
	case len(os.Args) > 2 && os.Args[1] == "limits":
		page, err = limits(os.Args[2:]...)
	case len(os.Args) > 3 && os.Args[1] == "results":
		err = writeResults(os.Args[2], os.Args[3:]...)
	case len(os.Args) == 2:
		page, err = conditions(os.Args[1])
	default:
		fmt.Fprintln(os.Stderr, "usage: reference FILE | reference limits DIRECTORY... | reference results DIRECTORY PAGE...")
		os.Exit(2)
	}
	if err == nil {
		_, err = os.Stdout.WriteString(page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// owners are the kinds that have the conditions of a block.
var owners = regexp.MustCompile(`^Conditions and reasons of a ([A-Za-z]+)`)

// conditions returns each block of constants as a section: conditions, each with the
// reasons that stand behind it.
func conditions(path string) (string, error) {
	var out strings.Builder
	var last *ast.GenDecl
	owner := ""
	err := constants(path, func(block *ast.GenDecl, constant *ast.ValueSpec) error {
		if block != last {
			fmt.Fprintf(&out, "\n%s\n", text(block.Doc))
			last = block
			found := owners.FindStringSubmatch(text(block.Doc))
			if found == nil {
				return errors.New("the comment of the block does not say whose conditions they are")
			}
			owner = found[1]
		}
		return writeConstant(&out, owner, constant)
	})
	return out.String(), err
}

// constants visits those that a file declares, each by itself.
func constants(path string, visit func(block *ast.GenDecl, constant *ast.ValueSpec) error) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("read constants: %w", err)
	}
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, spec := range block.Specs {
			constant, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			if err := visit(block, constant); err != nil {
				return fmt.Errorf("read %s in %s: %w", constant.Names[0], path, err)
			}
		}
	}
	return nil
}

func writeConstant(out *strings.Builder, owner string, constant *ast.ValueSpec) error {
	if len(constant.Names) != 1 || len(constant.Values) != 1 {
		return errors.New("a constant is not declared by itself")
	}
	name := constant.Names[0].Name
	said := strings.TrimPrefix(text(constant.Doc), name)
	switch {
	case strings.HasSuffix(name, "Condition"):
		fmt.Fprintf(out, "\n## %s of a %s\n\nIt%s\n\n", value(constant.Values[0], "Condition"), owner, said)
	case strings.HasSuffix(name, "Reason"):
		fmt.Fprintf(out, "- `%s`%s\n", value(constant.Values[0], "Reason"), strings.ReplaceAll(said, "\n", "\n  "))
	default:
		return fmt.Errorf("%s is neither a condition nor a reason", name)
	}
	return nil
}

// value of a constant: a text, or one of Cluster API's constants, which is
// called as its value is, with the suffix behind.
func value(expression ast.Expr, suffix string) string {
	switch expression := expression.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(expression.Value); err == nil {
			return text
		}
	case *ast.SelectorExpr:
		return strings.TrimSuffix(expression.Sel.Name, suffix)
	}
	return ""
}

// text of a comment, without the line's end behind it.
func text(comment *ast.CommentGroup) string { return strings.TrimSpace(comment.Text()) }
