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
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// run is what a benchmark writes (lab/bench/up): rows by table, with a figure for each round.
type run struct {
	Engine, Date, Commit, Machine string
	Rounds                        int
	Tables                        []struct {
		Title, Unit string
		Rows        []struct {
			What   string
			Rounds []float64
		}
	}
}

// results are the runs by the names of their files, such as up-docker.
type results map[string]run

func readResults(directory string) (results, error) {
	all := results{}
	paths, err := filepath.Glob(filepath.Join(directory, "*.json"))
	for _, path := range paths {
		content, readErr := os.ReadFile(path)
		var of run
		err = errors.Join(err, readErr, json.Unmarshal(content, &of))
		all[strings.TrimSuffix(filepath.Base(path), ".json")] = of
	}
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("read results in %s: %w", directory, fs.ErrNotExist)
	}
	return all, err
}

// marker of what is written from results, up to the next <!-- end -->:
//
//	<!-- tables: up -->                                    of up-docker and up-podman
//	<!-- median: up-docker / Seconds / floor 1 + 1 -->     or "spread:", with the lowest and the highest
var marker = regexp.MustCompile(`(?s)(<!-- (tables|median|spread): ([^>]*) -->).*?(<!-- end -->)`)

// write a page's figures.
func (r results) write(page string) (string, error) {
	var failed error
	text := marker.ReplaceAllStringFunc(page, func(part string) string {
		found := marker.FindStringSubmatch(part)
		content, err := r.tables(found[3]), error(nil)
		switch path := strings.Split(found[3], " / "); found[2] {
		case "median":
			content, err = r.figure(path, median)
		case "spread":
			content, err = r.figure(path, spread)
		}
		failed = errors.Join(failed, err)
		return found[1] + content + found[4]
	})
	return text, failed
}

// figure at a path of run, table and row. What a run lacks is not measured yet.
func (r results) figure(path []string, format func(rounds []float64, unit string) string) (string, error) {
	if len(path) != 3 { //nolint:mnd // See marker.
		return "", fmt.Errorf("%q is not RUN / TABLE / ROW", path)
	}
	for _, table := range r[path[0]].Tables {
		for _, row := range table.Rows {
			if table.Title == path[1] && row.What == path[2] {
				return format(row.Rounds, table.Unit), nil
			}
		}
	}
	return "not measured", nil
}

// tables of a benchmark, with a column for each engine.
func (r results) tables(name string) string {
	var text strings.Builder
	engines := []string{name + "-docker", name + "-podman"}
	for _, engine := range engines {
		if of, found := r[engine]; found {
			fmt.Fprintf(&text, "\n- %s, commit %s, rounds: %d; %s", of.Date, of.Commit, of.Rounds, of.Machine)
		}
	}
	for i, table := range r[engines[0]].Tables {
		fmt.Fprintf(&text, "\n\n| %s | Docker | Podman |\n|---|---|---|", table.Title)
		for _, row := range r[engines[0]].Tables[i].Rows {
			fmt.Fprintf(&text, "\n| %s |", row.What)
			for _, engine := range engines {
				cell, _ := r.figure([]string{engine, table.Title, row.What}, spread) // The path has three parts.
				fmt.Fprintf(&text, " %s |", cell)
			}
		}
	}
	return "\n" + text.String() + "\n\n"
}

// median of the rounds.
func median(rounds []float64, unit string) string {
	sorted := slices.Sorted(slices.Values(rounds))
	middle := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2 //nolint:mnd // The mean of the two in the middle.
	return strings.TrimSpace(number(middle) + " " + unit)
}

// spread of the rounds: the median, with the lowest and the highest.
func spread(rounds []float64, unit string) string {
	if len(rounds) == 1 {
		return median(rounds, unit)
	}
	return fmt.Sprintf("%s (%s to %s)", median(rounds, unit), number(slices.Min(rounds)), number(slices.Max(rounds)))
}

func number(figure float64) string {
	switch {
	case figure < 2: //nolint:mnd // Ratios.
		return fmt.Sprintf("%.2f", figure)
	case figure < 100: //nolint:mnd // Three digits.
		return fmt.Sprintf("%.1f", figure)
	default:
		return fmt.Sprintf("%.0f", figure)
	}
}

// writeResults in pages.
func writeResults(directory string, pages ...string) error {
	all, err := readResults(directory)
	for _, path := range pages {
		content, readErr := os.ReadFile(path)
		page, writeErr := all.write(string(content))
		err = errors.Join(err, readErr, writeErr)
		if err == nil && page != string(content) {
			err = os.WriteFile(path, []byte(page), 0o644)
		}
	}
	return err
}
