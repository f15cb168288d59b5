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

// ratio of a row's median to kind's of the same work; empty where kind has none.
func (b *bench) ratio(row string) string {
	rivals := map[string]string{floorUp: kindUp, capconUp: kindUp, capcDown: kindDown}
	rival := b.Seconds[rivals[row]]
	if len(rival) == 0 {
		return ""
	}
	_, ours, _ := spread(b.Seconds[row])
	_, theirs, _ := spread(rival)
	return fmt.Sprintf("%.2f", ours/theirs)
}

// table of medians and spreads.
func (b *bench) table() string {
	var text strings.Builder
	text.WriteString("| Seconds | Median | Lowest | Highest | Median ÷ kind's | Rounds |\n|---|---|---|---|---|---|\n")
	for _, row := range rows() {
		if len(b.Seconds[row]) == 0 {
			continue
		}
		lowest, median, highest := spread(b.Seconds[row])
		all := strings.Trim(fmt.Sprintf("%.1f", b.Seconds[row]), "[]")
		fmt.Fprintf(&text, "| %s | %.1f | %.1f | %.1f | %s | %s |\n", row, median, lowest, highest, b.ratio(row), all)
	}
	return text.String()
}

// owners are who may be waited for, in the order in which a trace counts them.
func owners() []string {
	return []string{
		"container engine", "this provider", "nodes: systemd, kubeadm, kubelet, Pod network", "Cluster API and its API server", "capcon",
	}
}

// waits is the table of them.
func (b *bench) waits() string {
	var text strings.Builder
	text.WriteString("| Seconds waited for |")
	measured := []string{capconUp, largeUp, capcDown, largeDown}
	for _, row := range measured {
		fmt.Fprintf(&text, " %s |", row)
	}
	text.WriteString("\n|---|" + strings.Repeat("---|", len(measured)) + "\n")
	for _, owner := range owners() {
		fmt.Fprintf(&text, "| %s |", owner)
		for _, row := range measured {
			fmt.Fprintf(&text, " %.1f |", b.Waits[row][owner])
		}
		text.WriteString("\n")
	}
	return text.String()
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

// spread of the seconds of a row.
func spread(seconds []float64) (lowest, median, highest float64) {
	sorted := slices.Sorted(slices.Values(seconds))
	last := len(sorted) - 1
	return sorted[0], (sorted[last/2] + sorted[len(sorted)/2]) / 2, sorted[last] //nolint:mnd // The mean of the two in the middle.
}
