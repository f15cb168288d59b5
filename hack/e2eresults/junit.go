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
	"maps"
	"math"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/hack/junit"
)

// counts are the properties with which a run counts: everything was executed, and once.
var counts = map[string]string{"DryRun": "false", "FlakeAttempts": "0"}

// readReport returns the specs that a report says were executed, without their commit.
func readReport(path string, specs []string) (map[string]attempt, error) {
	report, err := junit.Read(path)
	if err != nil {
		return nil, err
	}
	executed := map[string]attempt{}
	for _, suite := range report.Suites {
		attempts, err := attemptsOf(suite, specs)
		if err != nil {
			return nil, fmt.Errorf("read JUnit report %s: %w", path, err)
		}
		maps.Copy(executed, attempts)
	}
	return executed, nil
}

// attemptsOf are the specs of a suite that were executed.
func attemptsOf(suite junit.Suite, specs []string) (map[string]attempt, error) {
	for _, property := range suite.Properties {
		if want, matters := counts[property.Name]; matters && property.Value != want {
			return nil, fmt.Errorf("%s is %s, and only runs where it is %s count", property.Name, property.Value, want)
		}
	}
	executed := map[string]attempt{}
	for title, each := range suite.Executed() {
		spec := specOf(title, specs)
		if spec == "" {
			return nil, fmt.Errorf("%q is of no spec in specs.yaml; add it there", title)
		}
		executed[spec] = attempt{Date: suite.Date(), Seconds: int(math.Round(each.Seconds)), Passed: each.Passed()}
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
