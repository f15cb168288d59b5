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

# Cluster API contract

The rules of Cluster API for infrastructure providers (contract v1beta2, as of 1.14), and the
test that proves that this provider follows each of them. ` + "`make e2e RUN=mutation`" + ` mutates the packages that
implement the rules, and reports which mutants no test of their own package kills.
`

// Markdown returns the table for users.
func Markdown() string {
	var out strings.Builder
	out.WriteString(introduction)
	for _, section := range Sections() {
		fmt.Fprintf(&out, "\n## %s\n\n| Rule | Requirement | Test |\n|---|---|---|\n", section.Title)
		for _, rule := range section.Rules {
			if rule.Unproved != "" {
				fmt.Fprintf(&out, "| %s | %s | none: %s |\n", rule.ID, rule.Says, rule.Unproved)
				continue
			}
			fmt.Fprintf(&out, "| %s | %s | `%s` in `%s` |\n", rule.ID, rule.Says, rule.Test, rule.Package)
		}
	}
	return out.String()
}
