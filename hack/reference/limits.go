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
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"
)

// limitMark is the line of a constant's comment that makes it part of the table.
const limitMark = "+limit"

// limits returns a table of the constants below the directories that are
// marked as limits, each with its value and what is said of it where it is declared.
func limits(directories ...string) (string, error) {
	var rows []string
	for _, directory := range directories {
		err := filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			found, err := limitsOf(path)
			rows = append(rows, found...)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("read constants below %s: %w", directory, err)
		}
	}
	if len(rows) == 0 {
		return "", errors.New("no constant is marked with " + limitMark)
	}
	return "| Limit | Value | Of what, and why |\n|---|---|---|\n" + strings.Join(rows, ""), nil
}

func limitsOf(path string) (rows []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, spec := range block.Specs {
			row, err := limitRow(filepath.ToSlash(filepath.Dir(path)), block, spec)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", path, err)
			}
			rows = append(rows, row...)
		}
	}
	return rows, nil
}

// limitRow has the name, the value and the comment of a constant; none where it is not a limit.
func limitRow(directory string, block *ast.GenDecl, spec ast.Spec) ([]string, error) {
	limit, ok := spec.(*ast.ValueSpec)
	if !ok {
		return nil, nil
	}
	doc := limit.Doc
	if doc == nil && !block.Lparen.IsValid() {
		doc = block.Doc
	}
	said, marked := strings.CutSuffix(text(doc), limitMark)
	if !marked {
		return nil, nil
	}
	name := limit.Names[0].Name
	value, err := limitValue(limit)
	said = strings.TrimPrefix(strings.Join(strings.Fields(said), " "), name+" is the limit of ")
	return []string{fmt.Sprintf("| `%s` in `%s` | %s | %s |\n", name, directory, value, said)}, err
}

// limitValue of a constant expression; one whose name says bytes is in units of them.
func limitValue(limit *ast.ValueSpec) (string, error) {
	name := limit.Names[0].Name
	if len(limit.Values) != 1 {
		return "", fmt.Errorf("%s is not declared by itself", name)
	}
	evaluated, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(limit.Values[0]))
	if err != nil {
		return "", fmt.Errorf("evaluate %s: %w", name, err)
	}
	number, exact := constant.Int64Val(constant.ToInt(evaluated.Value))
	switch {
	case !exact:
		return "", fmt.Errorf("%s is not a whole number", name)
	case strings.HasSuffix(name, "Bytes") && number%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", number>>20), nil
	case strings.HasSuffix(name, "Bytes") && number%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", number>>10), nil
	}
	return fmt.Sprint(number), nil
}
