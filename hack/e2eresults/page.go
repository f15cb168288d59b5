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
	"slices"
	"strings"
)

const introduction = `# Cluster API's e2e specs

Written by "make e2e RUN=cluster-api" from docs/results/e2e.json; do not edit. The specs are those
that sigs.k8s.io/cluster-api/test exports, unchanged, and this project's own: Leader
failover and those that begin with Faults. A cell has the date and the commit of the
spec's last run (with "+" if there were further changes), and how long its runs took. Runs
that were added to earlier ones are listed below. No spec is repeated within a run; the
first result counts. A cell whose last run is older than %d commits is stale.

`

// render returns the page, and the cells that have neither a result nor a reason.
func render(catalogue catalogue, results results, stale func(commit string) bool) (page string, missing []string) {
	var out, repeated, reasons strings.Builder
	fmt.Fprintf(&out, introduction, staleAfter)
	out.WriteString("| Spec |")
	for _, column := range columns() {
		fmt.Fprintf(&out, " %s |", title(column))
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(columns())) + "\n")
	for _, spec := range catalogue.Specs {
		fmt.Fprintf(&out, "| %s |", spec)
		for _, column := range columns() {
			attempts := results.of(spec, column)
			reason := slices.IndexFunc(catalogue.Reasons, func(r reason) bool { return r.covers(spec, column) })
			switch {
			case len(attempts) > 0:
				fmt.Fprintf(&out, " %s |", cell(attempts, stale))
			case reason >= 0:
				fmt.Fprintf(&out, " none: reason %d |", reason+1)
			default:
				missing = append(missing, fmt.Sprintf("%s (%s)", spec, column))
				out.WriteString(" not run |")
			}
			if len(attempts) > 1 {
				fmt.Fprintf(&repeated, "- %s, %s: %s\n", spec, title(column), list(attempts))
			}
		}
		out.WriteString("\n")
	}
	for i, reason := range catalogue.Reasons {
		fmt.Fprintf(&reasons, "%d. %s: %s (%s)\n", i+1, reason.Spec, reason.Reason, reason.Source)
	}
	section(&out, "Reasons", reasons.String())
	section(&out, "Repeated runs", repeated.String())
	return out.String(), missing
}

func section(out *strings.Builder, title, content string) {
	if content != "" {
		fmt.Fprintf(out, "\n## %s\n\n%s", title, content)
	}
}

func title(c column) string {
	return strings.ToUpper(c.Engine[:1]) + c.Engine[1:] + ", " + c.Management
}

func cell(attempts []attempt, stale func(commit string) bool) string {
	last := attempts[len(attempts)-1]
	seconds := make([]int, len(attempts))
	successes := 0
	for i, attempt := range attempts {
		seconds[i] = attempt.Seconds
		if attempt.Passed {
			successes++
		}
	}
	took := fmt.Sprintf("%d s", seconds[0])
	if least, most := slices.Min(seconds), slices.Max(seconds); least != most {
		took = fmt.Sprintf("%d–%d s", least, most)
	}
	outcome := "passed"
	switch {
	case len(attempts) > 1 && successes < len(attempts):
		outcome = fmt.Sprintf("**%d of %d passed**", successes, len(attempts))
	case len(attempts) > 1:
		outcome = fmt.Sprintf("%d of %d passed", successes, len(attempts))
	case successes == 0:
		outcome = "**failed**"
	}
	text := fmt.Sprintf("%s, %s, %s, %s", outcome, last.Date, last.Commit, took)
	if stale(last.Commit) {
		text += ", stale"
	}
	return text
}

// list all attempts in their order, those of one commit and day together.
func list(attempts []attempt) string {
	var out strings.Builder
	run := ""
	for i, attempt := range attempts {
		separator := ", "
		if of := attempt.Date + ", " + attempt.Commit; of != run {
			run, separator = of, "; "+of+": "
		}
		if i == 0 {
			separator = run + ": "
		}
		out.WriteString(separator)
		if !attempt.Passed {
			out.WriteString("**failed** after ")
		}
		fmt.Fprintf(&out, "%d s", attempt.Seconds)
	}
	return out.String()
}
