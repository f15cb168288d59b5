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

// Command benchpicture draws what bench-capd measured.
//
//	go run ./lab/bench/picture docs/results/bench-capd.json >docs/results/bench-capd.svg
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/hack/resultfile"
	"github.com/capi-samples/cluster-api-provider-container/lab/bench/barchart"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchpicture:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("got %d arguments, want the path of the results", len(arguments))
	}
	var record struct {
		// Results are the figures by row and column, one for each round.
		Results                                 map[string]map[string][]json.RawMessage
		Troubles, Loads, Breakdowns, MeasuredAt []string
	}
	if err := resultfile.Read(arguments[0], &record); err != nil {
		return err
	}
	fmt.Print(barchart.SVG(bars(record.Results)))
	return nil
}

// bars of the rows of seconds.
func bars(results map[string]map[string][]json.RawMessage) []barchart.Bar {
	var all []barchart.Bar
	for _, row := range slices.Sorted(maps.Keys(results)) {
		if strings.Contains(row, " per ") || strings.Contains(row, "of the manager") {
			continue
		}
		for _, column := range slices.Sorted(maps.Keys(results[row])) {
			if seconds := numbers(results[row][column]); len(seconds) > 0 {
				all = append(all, barchart.Bar{
					Label: row + ", " + column, Lowest: seconds[0], Median: seconds[len(seconds)/2], Highest: seconds[len(seconds)-1],
					Ours: column != "CAPD",
				})
			}
		}
	}
	return all
}

// numbers in ascending order, without what never came, which is text.
func numbers(values []json.RawMessage) []float64 {
	var found []float64
	for _, value := range values {
		var number float64
		if json.Unmarshal(value, &number) == nil {
			found = append(found, number)
		}
	}
	slices.Sort(found)
	return found
}
