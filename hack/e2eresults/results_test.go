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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/hack/resultfile"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var kindOnDocker = column{"docker", "kind"}

// report is one as ginkgo writes it; each case is "status seconds name", or
// "property name value".
func report(t *testing.T, cases ...string) string {
	t.Helper()
	var out strings.Builder
	out.WriteString(`<testsuites tests="9"><testsuite name="cluster-api-provider-container" timestamp="2026-11-24T10:20:30">`)
	for _, each := range cases {
		part := strings.SplitN(each, " ", 3)
		if part[0] == "property" {
			fmt.Fprintf(&out, `<properties><property name="%s" value="%s"></property></properties>`, part[1], part[2])
			continue
		}
		fmt.Fprintf(&out, `<testcase name="%s" classname="c" status="%s" time="%s"></testcase>`, part[2], part[0], part[1])
	}
	out.WriteString(`</testsuite></testsuites>`)
	path := filepath.Join(t.TempDir(), "junit.xml")
	must.Succeed(t, os.WriteFile(path, []byte(out.String()), 0o600))
	return path
}

func TestEnterReplacesOnlyCellsOfTheRun(t *testing.T) {
	t.Parallel()
	specs := catalogue{Specs: []string{"QuickStart", "QuickStart topology", "MachinePool"}}
	before := attempt{Date: "2026-01-01", Commit: "old", Seconds: 9, Passed: true}
	got := results{
		"QuickStart":  {"docker, kind": {before}, "podman, kind": {before}},
		"MachinePool": {"docker, kind": {before}},
	}
	err := enter(got, specs, entry{column: kindOnDocker, commit: "new", reports: []string{
		report(t,
			"passed 1.0 [BeforeSuite]",
			"passed 100.4 [It] QuickStart Should create a workload cluster",
			"skipped 0 [It] MachinePool Should create",
			"interrupted 7 [It] MachinePool Should scale",
			"failed 50.6 [It] QuickStart topology Should create a workload cluster"),
		report(t, "timedout 300 [It] QuickStart Should create a workload cluster"),
	}})
	must.Succeed(t, err)
	want := results{
		"QuickStart": {
			"docker, kind": {
				{Date: "2026-11-24", Commit: "new", Seconds: 100, Passed: true},
				{Date: "2026-11-24", Commit: "new", Seconds: 300},
			},
			"podman, kind": {before},
		},
		"QuickStart topology": {"docker, kind": {{Date: "2026-11-24", Commit: "new", Seconds: 51}}},
		"MachinePool":         {"docker, kind": {before}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Results (-want +got):\n%s", diff)
	}
}

func TestEnterAdds(t *testing.T) {
	t.Parallel()
	before := attempt{Date: "2026-01-01", Commit: "old", Seconds: 9}
	got := results{"QuickStart": {"docker, kind": {before}}}
	run := entry{column: kindOnDocker, commit: "new", adds: true, reports: []string{report(t, "passed 7 [It] QuickStart Should")}}
	must.Succeed(t, enter(got, catalogue{Specs: []string{"QuickStart"}}, run))
	want := results{"QuickStart": {"docker, kind": {before, {Date: "2026-11-24", Commit: "new", Seconds: 7, Passed: true}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Results (-want +got):\n%s", diff)
	}
}

func TestEnterRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		run entry
		err string
	}{
		"UnknownColumn": {entry{column: column{"docker", "minikube"}, commit: "c"}, "docker, minikube"},
		"NoCommit":      {entry{column: kindOnDocker}, "-commit"},
		"UnknownSpec":   {entry{column: kindOnDocker, commit: "c", reports: []string{report(t, "passed 1 [It] Other Should work")}}, "Other"},
		"DryRun":        {entry{column: kindOnDocker, commit: "c", reports: []string{report(t, "property DryRun true", "passed 0 [It] QuickStart Should")}}, "DryRun is true"},
		"Repeated":      {entry{column: kindOnDocker, commit: "c", reports: []string{report(t, "property FlakeAttempts 3")}}, "FlakeAttempts is 3"},
		"NoReport":      {entry{column: kindOnDocker, commit: "c", reports: []string{"absent.xml"}}, "absent.xml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := results{}
			err := enter(got, catalogue{Specs: []string{"QuickStart"}}, tc.run)
			if err == nil || !strings.Contains(err.Error(), tc.err) || len(got) != 0 {
				t.Errorf("Got %v and %v, want an error with %q and no result", err, got, tc.err)
			}
		})
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	run := func(commit string, seconds int, passed bool) attempt {
		return attempt{Date: "2026-11-24", Commit: commit, Seconds: seconds, Passed: passed}
	}
	specs := catalogue{
		Specs: []string{"QuickStart", "MachinePool"},
		Reasons: []reason{{
			Spec: "MachinePool", column: column{Management: "plane"}, Reason: "it needs Pods", Source: "machine_pool.go:1",
		}},
	}
	page, missing := render(specs, results{
		"QuickStart": {
			"docker, kind":  {run("new", 100, true)},
			"docker, plane": {run("old", 90, false)},
			"podman, kind":  {run("old", 100, true), run("new", 120, true)},
			"podman, plane": {run("new+", 100, true), run("new+", 30, false), run("new+", 100, true)},
		},
		"MachinePool": {"podman, plane": {run("new", 1, true)}},
	}, func(commit string) bool { return commit == "old" })
	want := `| Spec | Docker, kind | Docker, plane | Podman, kind | Podman, plane |
|---|---|---|---|---|
| QuickStart | passed, 2026-11-24, new, 100 s | **failed**, 2026-11-24, old, 90 s, stale | 2 of 2 passed, 2026-11-24, new, 100–120 s | **2 of 3 passed**, 2026-11-24, new+, 30–100 s |
| MachinePool | not run | none: reason 1 | not run | passed, 2026-11-24, new, 1 s |

## Reasons

1. MachinePool: it needs Pods (machine_pool.go:1)

## Repeated runs

- QuickStart, Podman, kind: 2026-11-24, old: 100 s; 2026-11-24, new: 120 s
- QuickStart, Podman, plane: 2026-11-24, new+: 100 s, **failed** after 30 s, 100 s
`
	_, table, _ := strings.Cut(page, "stale.\n\n")
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("Page (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"MachinePool (docker, kind)", "MachinePool (podman, kind)"}, missing); diff != "" {
		t.Errorf("Cells without anything (-want +got):\n%s", diff)
	}
}

func TestResultsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "e2e.json")
	none, err := readResults(path)
	if err != nil || len(none) != 0 {
		t.Fatalf("Got %v, %v of a file that is not there", none, err)
	}
	want := results{"QuickStart": {"docker, kind": {{Date: "2026-11-24", Commit: "c", Seconds: 1, Passed: true}}}}
	must.Succeed(t, resultfile.Write(path, want))
	got := must.Get(readResults(path))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Results (-want +got):\n%s", diff)
	}
}

func TestRunEntersAReport(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := func(name string) string { return filepath.Join(directory, name) }
	must.Succeed(t, resultfile.Write(file("specs.yaml"), catalogue{Specs: []string{"QuickStart"}}))
	arguments := []string{
		"-engine=docker", "-management=kind", "-commit=c", "-data=" + file("e2e.json"), "-page=" + file("e2e.md"), "-specs=" + file("specs.yaml"),
	}
	must.Succeed(t, run(t.Context(), append(arguments, report(t, "passed 7 [It] QuickStart Should"))))
	page, err := os.ReadFile(file("e2e.md"))
	if want := "| QuickStart | passed, 2026-11-24, c, 7 s, stale | not run | not run | not run |"; err != nil || !strings.Contains(string(page), want) {
		t.Errorf("Got %v and a page without %q:\n%s", err, want, page)
	}
	if err := run(t.Context(), append(arguments, "-complete")); err == nil || !strings.Contains(err.Error(), "QuickStart (podman, kind)") {
		t.Errorf("Cells without anything are reported with -complete, got: %v", err)
	}
}

// Every spec of the suite has a row, and every row a spec.
func TestCatalogueHasTheSpecsOfTheSuite(t *testing.T) {
	t.Parallel()
	catalogue := must.Get(readCatalogue("specs.yaml"))(t)
	described := map[string]bool{}
	paths := must.Get(filepath.Glob(filepath.Join("..", "..", "e2e", "upstream", "*_test.go")))(t)
	for _, path := range paths {
		file := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(file, func(node ast.Node) bool {
			if call, isCall := node.(*ast.CallExpr); isCall {
				if text, isDescribe := describes(call); isDescribe {
					described[text] = true
				}
			}
			return true
		})
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(described)), slices.Sorted(slices.Values(catalogue.Specs))); diff != "" {
		t.Errorf("Specs (-suite +catalogue):\n%s", diff)
	}
}

func describes(call *ast.CallExpr) (text string, is bool) {
	function, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector || function.Sel.Name != "Describe" || len(call.Args) == 0 {
		return "", false
	}
	literal, isLiteral := call.Args[0].(*ast.BasicLit)
	if !isLiteral {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
