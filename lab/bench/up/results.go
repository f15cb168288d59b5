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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/lab/bench/barchart"
)

// table of medians and spreads, for users.
func (b *bench) table() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-20s %8s %8s %8s %10s\n", "seconds", "median", "lowest", "highest", "over kind")
	for _, row := range rows() {
		if len(b.Seconds[row]) > 0 {
			lowest, median, highest := spread(b.Seconds[row])
			fmt.Fprintf(&text, "%-20s %8.1f %8.1f %8.1f %10s\n", row, median, lowest, highest, b.ratio(row))
		}
	}
	return text.String()
}

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

// page of the results next to a picture.
func (b *bench) page(output string) string {
	var text strings.Builder
	fmt.Fprintf(&text, `# %[1]s: floor, kind and capcon

Written by `+"`make bench RUN=up ENGINE=%[2]s`"+`; how it is measured is in [benchmarks.md](../benchmarks.md).
%[3]s, commit %[4]s, %[5]s. Only ratios within one run mean anything.

![Medians, and the lowest and highest of %[6]d rounds](%[7]s.svg)

| Seconds | Median | Lowest | Highest | Median ÷ kind's | Rounds |
|---|---|---|---|---|---|
`, strings.ToUpper(b.Engine[:1])+b.Engine[1:], b.Engine, b.Date, b.Commit, b.Machine, len(b.Seconds[capconUp]), filepath.Base(output))
	for _, row := range rows() {
		lowest, median, highest := spread(b.Seconds[row])
		all := make([]string, 0, len(b.Seconds[row]))
		for _, seconds := range b.Seconds[row] {
			all = append(all, fmt.Sprintf("%.1f", seconds))
		}
		fmt.Fprintf(&text, "| %s | %.1f | %.1f | %.1f | %s | %s |\n", row, median, lowest, highest, b.ratio(row), strings.Join(all, ", "))
	}
	text.WriteString("\nOf one more run of each, each moment counts once, for the first of these that was at work\n" +
		"(`capcon up --trace`):\n\n")
	text.WriteString(b.waits())
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

// picture of the rows.
func (b *bench) picture() string {
	bars := make([]barchart.Bar, 0, len(rows()))
	for _, row := range rows() {
		lowest, median, highest := spread(b.Seconds[row])
		bars = append(bars, barchart.Bar{
			Label: row, Lowest: lowest, Median: median, Highest: highest, Ours: strings.HasPrefix(row, "capcon"),
		})
	}
	return barchart.SVG(bars)
}
