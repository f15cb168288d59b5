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

// Package junit reads the reports that ginkgo writes.
package junit

import (
	"encoding/xml"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
)

// Report is what is read of a report.
type Report struct {
	Suites []Suite `xml:"testsuite"`
}

// Suite is one run of a suite.
type Suite struct {
	// Timestamp as 2006-01-02T15:04:05.
	Timestamp string `xml:"timestamp,attr"`
	// Seconds of the whole run.
	Seconds    float64 `xml:"time,attr"`
	Properties []struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	} `xml:"properties>property"`
	Cases []Case `xml:"testcase"`
}

// Case is one spec or one node of the suite's setup.
type Case struct {
	Name    string  `xml:"name,attr"`
	Status  string  `xml:"status,attr"`
	Seconds float64 `xml:"time,attr"`
}

const passed = "passed"

// failed are ginkgo's states of what was executed and did not pass. What was skipped, is
// pending, or was interrupted by its user has no result.
var failed = []string{"failed", "panicked", "timedout"}

// Read a report.
func Read(path string) (Report, error) {
	var report Report
	content, err := os.ReadFile(path)
	if err == nil {
		err = xml.Unmarshal(content, &report)
	}
	if err != nil {
		return Report{}, fmt.Errorf("read JUnit report %s: %w", path, err)
	}
	return report, nil
}

// Date of the run as 2006-01-02.
func (s Suite) Date() string {
	date, _, _ := strings.Cut(s.Timestamp, "T")
	return date
}

// Executed are the specs that have a result, by their titles.
func (s Suite) Executed() iter.Seq2[string, Case] {
	return func(yield func(string, Case) bool) {
		for _, each := range s.Cases {
			title, isSpec := strings.CutPrefix(each.Name, "[It] ")
			hasResult := each.Passed() || slices.Contains(failed, each.Status)
			if isSpec && hasResult && !yield(title, each) {
				return
			}
		}
	}
}

// Passed reports whether the spec did.
func (c Case) Passed() bool { return c.Status == passed }
