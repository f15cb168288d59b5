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

package contract

import (
	"fmt"
	"strings"
)

// introduction of the document.
const introduction = `<!-- Written by "make generate" from test/contract. Change it there. -->

# The contract, rule by rule

What Cluster API asks of an infrastructure provider (contract v1beta2, as of 1.14), the
test that proves that this provider keeps it, and a change of one line that makes the
test fail. That each change is seen is shown by ` + "`make test-contract`" + `; ` + "`PICK=10`" + ` takes
ten of them at random.
`

// Markdown returns the table for people.
func Markdown() string {
	var out strings.Builder
	out.WriteString(introduction)
	for _, section := range Sections() {
		fmt.Fprintf(&out, "\n## %s\n\n| Rule | What it asks for | Test | Change that the test sees |\n|---|---|---|---|\n", section.Title)
		for _, rule := range section.Rules {
			if rule.Unproved != "" {
				fmt.Fprintf(&out, "| %s | %s | – | %s |\n", rule.ID, rule.Says, rule.Unproved)
				continue
			}
			fmt.Fprintf(&out, "| %s | %s | `%s` in `%s` | `%s`: %s |\n", rule.ID, rule.Says, rule.Test, rule.Package, rule.File, change(rule.Proof))
		}
	}
	return out.String()
}

func change(p Proof) string {
	if strings.TrimSpace(p.New) == "" {
		return "without " + code(p.Old)
	}
	return code(p.Old) + " becomes " + code(p.New)
}

// code shows a piece of a file on one line of a table.
func code(text string) string {
	lines := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	text = strings.ReplaceAll(strings.Join(lines, " ⏎ "), "|", `\|`)
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}
