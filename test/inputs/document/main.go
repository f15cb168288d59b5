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

// Program document writes the tables of bad input as a page for users.
//
//	go run ./test/inputs/document docs/reference/bad-input.md
package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/test/inputs"
)

const introduction = `# Validation errors

The API server rejects each of these objects with the field, the value and the remedy;
several errors are reported together. ` + "`make generate`" + ` writes this page from the tables
that the tests of the webhooks read, ` + "`test/inputs/bad.go`" + `. For changes of existing
objects, see [Mutable and immutable fields, and validation](../how-to/change.md).
`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: document FILE")
		os.Exit(2)
	}
	const readable = 0o644
	if err := os.WriteFile(os.Args[1], []byte(page(inputs.Bad())), readable); err != nil { //nolint:gosec // documentation
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// page has a section for each kind, a part for each field, and below each
// error the input that causes it.
func page(bad map[string]inputs.Input) string {
	all := make([]inputs.Input, 0, len(bad))
	for _, input := range bad {
		all = append(all, input)
	}
	slices.SortFunc(all, func(a, b inputs.Input) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message),
			cmp.Compare(a.Object, b.Object),
		)
	})
	var out strings.Builder
	out.WriteString(introduction)
	var last inputs.Input
	for _, input := range all {
		if input.Kind != last.Kind {
			fmt.Fprintf(&out, "\n## %s\n", input.Kind)
		}
		if input.Kind != last.Kind || input.Field != last.Field {
			fmt.Fprintf(&out, "\n### `%s`\n", input.Field)
			last.Message = ""
		}
		if input.Message != last.Message {
			fmt.Fprintf(&out, "\n    %s\n\n| Input | Why |\n|---|---|\n", input.Message)
		}
		fmt.Fprintf(&out, "| `%s` | %s |\n", cell(input.Object), cell(input.Reason))
		last = input
	}
	return out.String()
}

// cell is a text that ends no cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}
