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
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// table of figures of one unit.
type table struct {
	Title string `json:"title"`
	Unit  string `json:"unit,omitempty"`
	Rows  []*row `json:"rows"`
}

// row has a figure for each round.
type row struct {
	What   string    `json:"what"`
	Rounds []float64 `json:"rounds"`
}

// The titles of tables.
const (
	seconds    = "Seconds"
	ratio      = "Ratio"
	processors = "Processor seconds"
	waited     = "Seconds waited for, in one more run"
	memory     = "Memory of the plane (PSS)"
)

// add a figure of a round.
func (s *setting) add(title, what string, figure float64) {
	in := slices.IndexFunc(s.Tables, func(t *table) bool { return t.Title == title })
	if in < 0 {
		in = len(s.Tables)
		units := map[string]string{seconds: "s", processors: "s", waited: "s", memory: "MB"}
		s.Tables = append(s.Tables, &table{Title: title, Unit: units[title]})
	}
	rows := &s.Tables[in].Rows
	at := slices.IndexFunc(*rows, func(r *row) bool { return r.What == what })
	if at < 0 {
		at = len(*rows)
		*rows = append(*rows, &row{What: what})
	}
	(*rows)[at].Rounds = append((*rows)[at].Rounds, figure)
}

// rounds of a row.
func (s *setting) rounds(title, what string) []float64 {
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			if t.Title == title && r.What == what {
				return r.Rounds
			}
		}
	}
	return nil
}

// text of the tables, with medians and spreads.
func (s *setting) text() string {
	var text strings.Builder
	for _, t := range s.Tables {
		fmt.Fprintf(&text, "| %s | Median | Lowest | Highest | Rounds |\n|---|---|---|---|---|\n", t.Title)
		for _, r := range t.Rows {
			lowest, median, highest := spread(r.Rounds)
			all := strings.Trim(fmt.Sprintf("%.2f", r.Rounds), "[]")
			fmt.Fprintf(&text, "| %s | %.2f | %.2f | %.2f | %s |\n", r.What, median, lowest, highest, all)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// owners are who may be waited for, in the order in which a trace counts them.
func owners() []string {
	return []string{
		"container engine", "this provider", "nodes: systemd, kubeadm, kubelet, Pod network", "Cluster API and its API server", "capcon",
	}
}

// readWaits sums the spans of a trace's group of waits by their names.
func readWaits(path string) (map[string]float64, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	var trace struct {
		TraceEvents []struct {
			Name, Ph string
			Pid      int
			Dur      float64
			Args     struct{ Name string }
		}
	}
	if err := json.Unmarshal(content, &trace); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	group, waits := 0, map[string]float64{}
	for _, event := range trace.TraceEvents {
		switch {
		case event.Name == "process_name" && event.Args.Name == "Waited for":
			group = event.Pid
		case event.Ph == "X" && event.Pid == group:
			if !slices.Contains(owners(), event.Name) {
				return nil, fmt.Errorf("the trace has a wait for %q, want one of %q", event.Name, owners())
			}
			waits[event.Name] += event.Dur / float64(time.Second/time.Microsecond)
		}
	}
	return waits, nil
}

// spread of the rounds of a row.
func spread(rounds []float64) (lowest, median, highest float64) {
	sorted := slices.Sorted(slices.Values(rounds))
	last := len(sorted) - 1
	return sorted[0], (sorted[last/2] + sorted[len(sorted)/2]) / 2, sorted[last] //nolint:mnd // The mean of the two in the middle.
}
