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
	var rows strings.Builder
	for _, directory := range directories {
		err := filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			return constants(path, func(block *ast.GenDecl, constant *ast.ValueSpec) error {
				return writeLimit(&rows, filepath.ToSlash(filepath.Dir(path)), block, constant)
			})
		})
		if err != nil {
			return "", fmt.Errorf("read limits below %s: %w", directory, err)
		}
	}
	if rows.Len() == 0 {
		return "", errors.New("no constant is marked with " + limitMark)
	}
	return "| Limit | Value | Of what, and why |\n|---|---|---|\n" + rows.String(), nil
}

// writeLimit writes the name, the value and the comment of a constant if it is a limit.
func writeLimit(rows *strings.Builder, directory string, block *ast.GenDecl, limit *ast.ValueSpec) error {
	doc := limit.Doc
	if doc == nil && !block.Lparen.IsValid() {
		doc = block.Doc
	}
	said, marked := strings.CutSuffix(text(doc), limitMark)
	if !marked {
		return nil
	}
	name := limit.Names[0].Name
	value, err := limitValue(limit)
	said = strings.TrimPrefix(strings.Join(strings.Fields(said), " "), name+" is the limit of ")
	fmt.Fprintf(rows, "| `%s` in `%s` | %s | %s |\n", name, directory, value, said)
	return err
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
