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
	"io/fs"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/hack/resultfile"
)

// column of the table.
type column struct {
	Engine     string `json:"engine"`
	Management string `json:"management"`
}

// columns are all there are.
func columns() []column {
	return []column{{"docker", "kind"}, {"docker", "plane"}, {"podman", "kind"}, {"podman", "plane"}}
}

func (c column) String() string { return c.Engine + ", " + c.Management }

// catalogue is what specs.yaml holds.
type catalogue struct {
	// Specs in the order of the table, by the text of their Describe.
	Specs []string `json:"specs"`
	// Reasons why cells have no result.
	Reasons []reason `json:"reasons"`
}

// reason why cells cannot have a result: those of a spec in the columns that match. An
// engine or a management cluster that is empty matches all.
type reason struct {
	Spec string `json:"spec"`
	column
	// Reason for users, and the line of upstream's source that makes it so.
	Reason string `json:"reason"`
	Source string `json:"source"`
}

func (r reason) covers(spec string, c column) bool {
	return r.Spec == spec && (r.Engine == "" || r.Engine == c.Engine) && (r.Management == "" || r.Management == c.Management)
}

func readCatalogue(path string) (catalogue, error) {
	var read catalogue
	if err := resultfile.Read(path, &read); err != nil {
		return catalogue{}, err
	}
	for _, reason := range read.Reasons {
		if !slices.Contains(read.Specs, reason.Spec) {
			return catalogue{}, fmt.Errorf("read %s: a reason is for %q, which is no spec", path, reason.Spec)
		}
		if reason.Reason == "" || reason.Source == "" {
			return catalogue{}, fmt.Errorf("read %s: the reason for %q has no text or no source", path, reason.Spec)
		}
	}
	return read, nil
}

// attempt is one execution of a spec.
type attempt struct {
	// Date as 2006-01-02.
	Date    string `json:"date"`
	Commit  string `json:"commit"`
	Seconds int    `json:"seconds"`
	Passed  bool   `json:"passed"`
}

// changed ends a commit that was run with further changes.
const changed = "+"

// results by spec and column, each in the order of its repetitions.
type results map[string]map[string][]attempt

func readResults(path string) (results, error) {
	read := results{}
	if err := resultfile.Read(path, &read); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return read, nil
}

func (r results) of(spec string, c column) []attempt { return r[spec][c.String()] }

// entry is a run to enter.
type entry struct {
	column
	commit string
	// reports are JUnit files, one for each repetition.
	reports []string
	// adds the repetitions to those that the cells have.
	adds bool
}

// enter replaces the cells of the specs that a run has executed, or adds to them.
func enter(into results, catalogue catalogue, run entry) error {
	if !slices.Contains(columns(), run.column) {
		return fmt.Errorf("there is no column %q: give -engine docker or podman, -management kind or plane", run.column)
	}
	if run.commit == "" {
		return errors.New("the commit is missing: give -commit")
	}
	found := map[string][]attempt{}
	for _, path := range run.reports {
		executed, err := readReport(path, catalogue.Specs)
		if err != nil {
			return err
		}
		for spec, attempt := range executed {
			attempt.Commit = run.commit
			found[spec] = append(found[spec], attempt)
		}
	}
	for spec, attempts := range found {
		if run.adds {
			attempts = append(into.of(spec, run.column), attempts...)
		}
		if into[spec] == nil {
			into[spec] = map[string][]attempt{}
		}
		into[spec][run.column.String()] = attempts
	}
	return nil
}
