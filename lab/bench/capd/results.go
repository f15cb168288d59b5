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
	"strings"
)

// Figures besides the milestones.
const (
	deleted         = "deleted"
	callsUp         = "engine calls per machine until all Machines are Ready"
	callsDown       = "engine calls per machine for deleting"
	managerTime     = "processor time of the manager until all Machines are Ready, s"
	managerResident = "resident memory of the manager, MB"
)

func shapes() []shape { return []shape{{1, 1}, {3, 3}} }

func metric(s shape, name string) string { return s.String() + ": " + name }

// metrics are all rows, in order.
func metrics() []string {
	var rows []string
	for _, s := range shapes() {
		for _, name := range []string{
			infrastructureProvisioned, controlPlaneInitialized, nodesReady, machinesReady, deleted,
			callsUp, callsDown, managerTime, managerResident,
		} {
			rows = append(rows, metric(s, name))
		}
	}
	return append(rows, deadInInfrastructure, deadInReady, deadRepaired, apiAgain, nodesAgain)
}

// aims by row: the most that our figure may be of CAPD's.
func aims() map[string]float64 {
	return map[string]float64{
		metric(shape{1, 1}, infrastructureProvisioned): 0.6,
		metric(shape{3, 3}, infrastructureProvisioned): 0.6,

		metric(shape{1, 1}, nodesReady):      0.7,
		metric(shape{3, 3}, nodesReady):      0.5,
		metric(shape{1, 1}, deleted):         0.5,
		metric(shape{3, 3}, deleted):         0.5,
		metric(shape{1, 1}, managerResident): 1,
		metric(shape{3, 3}, managerResident): 1,
	}
}

// results are the figures by row and column, one for each time it was measured.
type results map[string]map[string][]value

func (r results) add(row, column string, v value) {
	if r[row] == nil {
		r[row] = map[string][]value{}
	}
	r[row][column] = append(r[row][column], v)
}

// table renders medians, with all figures behind them.
func (r results) table(heading string, rows []string) string {
	ours, theirs := container().title, capd().title
	var out strings.Builder
	fmt.Fprintf(&out, "| %s | %s | %s | Ratio | Aim | %s |\n|---|---|---|---|---|---|\n", heading, theirs, ours, capconColumn)
	aim := aims()
	for _, row := range rows {
		ratio, wanted := "", ""
		our, haveOurs := median(r[row][ours])
		their, haveTheirs := median(r[row][theirs])
		if haveOurs && haveTheirs && our.limit == 0 && their.limit == 0 && their.number > 0 {
			ratio = fmt.Sprintf("%.2f", our.number/their.number)
			if limit, has := aim[row]; has && our.number > limit*their.number {
				ratio = "**" + ratio + "**"
			}
		}
		if limit, has := aim[row]; has {
			wanted = fmt.Sprintf("≤ %.1f", limit)
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s |\n",
			row, cell(r[row][theirs]), cell(r[row][ours]), ratio, wanted, cell(r[row][capconColumn]))
	}
	return out.String()
}

// cell is a median with the figures it comes from.
func cell(values []value) string {
	middle, any := median(values)
	if !any {
		return ""
	}
	if len(values) == 1 {
		return middle.String()
	}
	all := make([]string, 0, len(values))
	for _, v := range values {
		if v.limit > 0 {
			all = append(all, "–")
			continue
		}
		all = append(all, v.String())
	}
	return fmt.Sprintf("%s (%s)", middle, strings.Join(all, ", "))
}
