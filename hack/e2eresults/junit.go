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
	"encoding/xml"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
)

// report is what is read of ginkgo's JUnit report.
type report struct {
	Suites []suite `xml:"testsuite"`
}

type suite struct {
	// Timestamp as 2006-01-02T15:04:05.
	Timestamp  string `xml:"timestamp,attr"`
	Properties []struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	} `xml:"properties>property"`
	Cases []struct {
		Name    string  `xml:"name,attr"`
		Status  string  `xml:"status,attr"`
		Seconds float64 `xml:"time,attr"`
	} `xml:"testcase"`
}

// passed and failed are ginkgo's states of what was executed. What was skipped, is
// pending, or was interrupted by its user has no result.
var (
	passed = []string{"passed"}
	failed = []string{"failed", "panicked", "timedout"}
)

// counts are the properties with which a run counts: everything was executed, and once.
var counts = map[string]string{"DryRun": "false", "FlakeAttempts": "0"}

// readReport returns the specs that a report says were executed, without their commit.
func readReport(path string, specs []string) (map[string]attempt, error) {
	var read report
	content, err := os.ReadFile(path)
	if err == nil {
		err = xml.Unmarshal(content, &read)
	}
	if err != nil {
		return nil, fmt.Errorf("read JUnit report %s: %w", path, err)
	}
	executed := map[string]attempt{}
	for _, suite := range read.Suites {
		attempts, err := suite.attempts(specs)
		if err != nil {
			return nil, fmt.Errorf("read JUnit report %s: %w", path, err)
		}
		maps.Copy(executed, attempts)
	}
	return executed, nil
}

// attempts are the specs of a suite that were executed.
func (s suite) attempts(specs []string) (map[string]attempt, error) {
	for _, property := range s.Properties {
		if want, matters := counts[property.Name]; matters && property.Value != want {
			return nil, fmt.Errorf("%s is %s, and only runs where it is %s count", property.Name, property.Value, want)
		}
	}
	executed := map[string]attempt{}
	date, _, _ := strings.Cut(s.Timestamp, "T")
	for _, each := range s.Cases {
		title, isSpec := strings.CutPrefix(each.Name, "[It] ")
		hasPassed := slices.Contains(passed, each.Status)
		if !isSpec || !hasPassed && !slices.Contains(failed, each.Status) {
			continue
		}
		spec := specOf(title, specs)
		if spec == "" {
			return nil, fmt.Errorf("%q is of no spec in specs.yaml; add it there", title)
		}
		executed[spec] = attempt{Date: date, Seconds: int(math.Round(each.Seconds)), Passed: hasPassed}
	}
	return executed, nil
}

// specOf a test's title, which begins with the text of the spec's Describe; empty =
// none.
func specOf(title string, specs []string) string {
	found := ""
	for _, spec := range specs {
		if strings.HasPrefix(title, spec+" ") && len(spec) > len(found) {
			found = spec
		}
	}
	return found
}
