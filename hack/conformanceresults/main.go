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

// Command conformanceresults enters the reports of "make e2e RUN=conformance" into
// docs/results/conformance.json, and writes docs/results/conformance.md from it: how many
// of Kubernetes' conformance tests passed on each engine, and why the others did not.
//
//	go run ./hack/conformanceresults -engine docker -commit 0123abc JUNIT...
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/hack/junit"
	"github.com/capi-samples/cluster-api-provider-container/hack/resultfile"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conformanceresults:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	flags := flag.NewFlagSet("conformanceresults", flag.ContinueOnError)
	engine := flags.String("engine", "", "engine of the run: docker or podman")
	commit := flags.String("commit", "", "commit that was run")
	data := flags.String("data", "docs/results/conformance.json", "file of all results")
	page := flags.String("page", "docs/results/conformance.md", "page to write")
	causes := flags.String("causes", "hack/conformanceresults/causes.yaml", "file with the cause of each failure")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	known := map[string]cause{}
	if err := resultfile.Read(*causes, &known); err != nil {
		return err
	}
	results := map[string]result{}
	if err := resultfile.Read(*data, &results); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if flags.NArg() > 0 {
		if *engine == "" || *commit == "" {
			return errors.New("the reports have no engine or no commit: give -engine and -commit")
		}
		found, err := readReports(flags.Args())
		if err != nil {
			return err
		}
		found.Commit = *commit
		results[*engine] = found
		if err := resultfile.Write(*data, results); err != nil {
			return err
		}
	}
	text, unexplained := render(results, known)
	if err := os.WriteFile(*page, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if len(unexplained) > 0 {
		return fmt.Errorf("failures without a cause in %s: %s", *causes, strings.Join(unexplained, "; "))
	}
	return enough(results, *engine)
}

// leastPercent of the tests that must pass, whatever the causes of failures are.
const leastPercent = 95

// enough is an error if fewer tests passed on an engine that was run.
func enough(results map[string]result, engine string) error {
	if last, ran := results[engine]; ran && last.percent() < leastPercent {
		return fmt.Errorf("%.1f %% of the tests passed on %s, want %d %% at least", last.percent(), engine, leastPercent)
	}
	return nil
}

// cause of a failure, by the test's name.
type cause struct {
	Cause string `json:"cause"`
	// Owner is who has to change something: this project, Kubernetes, the rebuilt images …
	Owner string `json:"owner"`
}

// result of the tests on one engine.
type result struct {
	Commit string `json:"commit"`
	// Date of the last part, as 2006-01-02.
	Date   string `json:"date"`
	Passed int    `json:"passed"`
	// Failed tests by their names.
	Failed  []string `json:"failed"`
	Seconds int      `json:"seconds"`
}

func (r result) ran() int { return r.Passed + len(r.Failed) }

func (r result) percent() float64 { return 100 * float64(r.Passed) / float64(max(r.ran(), 1)) }

// readReports adds up the parts of a run.
func readReports(paths []string) (result, error) {
	var total result
	var seconds float64
	for _, path := range paths {
		report, err := junit.Read(path)
		if err != nil {
			return result{}, err
		}
		for _, suite := range report.Suites {
			total.Date = max(total.Date, suite.Date())
			seconds += suite.Seconds
			for title, test := range suite.Executed() {
				if test.Passed() {
					total.Passed++
				} else {
					total.Failed = append(total.Failed, title)
				}
			}
		}
	}
	slices.Sort(total.Failed)
	total.Seconds = int(seconds)
	return total, nil
}

const introduction = `# Kubernetes' conformance tests

Written by "make e2e RUN=conformance"; do not edit. The tests are those of Kubernetes' module
with the tag [Conformance], run on one control plane and two workers. Images rebuilt, not a
certified result: the tests' images are built from Kubernetes' sources on Debian.

| Engine | Date | Commit | Run | Passed | Failed | Took |
|---|---|---|---|---|---|---|
`

// render returns the page, and the failures without a cause.
func render(results map[string]result, known map[string]cause) (page string, unexplained []string) {
	var out strings.Builder
	out.WriteString(introduction)
	for _, engine := range slices.Sorted(maps.Keys(results)) {
		r := results[engine]
		fmt.Fprintf(&out, "| %s | %s | %s | %d | %d (%.1f %%) | %d | %d min |\n", engine, r.Date, r.Commit, r.ran(),
			r.Passed, r.percent(), len(r.Failed), r.Seconds/60)
	}
	for _, engine := range slices.Sorted(maps.Keys(results)) {
		if len(results[engine].Failed) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\n## Failed on %s\n\n| Test | Cause | Owner |\n|---|---|---|\n", engine)
		for _, name := range results[engine].Failed {
			why := known[name]
			if why.Cause == "" {
				unexplained = append(unexplained, name)
			}
			fmt.Fprintf(&out, "| %s | %s | %s |\n", name, cmp.Or(why.Cause, "not known yet"), cmp.Or(why.Owner, "not known yet"))
		}
	}
	return out.String(), unexplained
}
