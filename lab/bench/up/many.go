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
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// repeats is how often what takes little time is measured, for a median.
const repeats = 5

// many is what a plane with many clusters uses. Times are in seconds.
type many struct {
	setting
	Clusters int `json:"clusters"`
	// PlaneStarts are from no container to a plane that answers.
	PlaneStarts []float64 `json:"planeStarts"`
	// One and All are the memory of the plane in MB by process, as proportional set size,
	// with one cluster and with all of them, after Rest.
	One map[string]float64 `json:"one"`
	All map[string]float64 `json:"all"`
	// Rest is how long clusters rest before memory is read.
	Rest time.Duration `json:"rest"`
	// Ready is when the last of the clusters was that were created concurrently, and Processor
	// what the plane used until then; Gone is when the last was deleted.
	Ready     float64 `json:"ready"`
	Processor float64 `json:"processor"`
	Gone      float64 `json:"gone"`
}

func (m *many) run(ctx context.Context) error {
	// Where there is a plane, its clusters are not the benchmark's: this fails then, and names them.
	if err := m.capcon(ctx, "plane", "down"); err != nil {
		return err
	}
	defer m.cleanUp(context.WithoutCancel(ctx))
	for _, measured := range []func(context.Context) error{m.plane, m.one, m.all} {
		if err := measured(ctx); err != nil {
			return err
		}
	}
	fmt.Print(m.table())
	return m.write(m)
}

// cleanUp what a run left, and nothing else.
func (m *many) cleanUp(ctx context.Context) {
	_ = m.capcon(ctx, "down", cluster, "--keep-plane")
	_ = m.each(ctx, "down", "--keep-plane")
	_ = m.capcon(ctx, "plane", "down")
}

func (m *many) plane(ctx context.Context) error {
	for range repeats {
		began := time.Now()
		if err := m.capcon(ctx, "plane", "up"); err != nil {
			return err
		}
		m.PlaneStarts = append(m.PlaneStarts, time.Since(began).Seconds())
		if err := m.capcon(ctx, "plane", "down"); err != nil {
			return err
		}
	}
	return nil
}

func (m *many) one(ctx context.Context) error {
	fmt.Printf("One cluster, which rests for %s.\n", m.Rest)
	err := m.capcon(ctx, "up", cluster)
	if err == nil {
		m.One, err = m.memory(ctx)
	}
	return errors.Join(err, m.capcon(ctx, "down", cluster, "--keep-plane"))
}

func (m *many) all(ctx context.Context) error {
	fmt.Printf("%d clusters concurrently, which rest for %s.\n", m.Clusters, m.Rest)
	before, err := m.processor(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := m.each(ctx, "up"); err != nil {
		return err
	}
	m.Ready = time.Since(began).Seconds()
	after, err := m.processor(ctx)
	if err != nil {
		return err
	}
	m.Processor = after - before
	if m.All, err = m.memory(ctx); err != nil {
		return err
	}
	began = time.Now()
	err = m.each(ctx, "down", "--keep-plane")
	m.Gone = time.Since(began).Seconds()
	return err
}

// each runs a command for all clusters concurrently.
func (m *many) each(ctx context.Context, verb string, args ...string) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range m.Clusters {
		group.Go(func() error {
			return m.capcon(ctx, append([]string{verb, fmt.Sprintf("%s-%d", cluster, i)}, args...)...)
		})
	}
	return group.Wait()
}

// memory of the plane's processes after they rested.
func (m *many) memory(ctx context.Context) (map[string]float64, error) {
	// The rest is what is measured.
	if _, err := execute(m.command(ctx, "sleep", strconv.Itoa(int(m.Rest.Seconds())))); err != nil {
		return nil, err
	}
	processes, err := m.processes(ctx)
	memory := map[string]float64{}
	for name, id := range processes {
		rollup, readErr := os.ReadFile("/proc/" + id + "/smaps_rollup")
		err = errors.Join(err, readErr)
		for line := range strings.Lines(string(rollup)) {
			if fields := strings.Fields(line); fields[0] == "Pss:" {
				kilobytes, parseErr := strconv.ParseFloat(fields[1], 64)
				err = errors.Join(err, parseErr)
				memory[name] = kilobytes * 1024 / 1e6
			}
		}
	}
	return memory, err
}

// processor is the time that the plane's processes used since they were started.
func (m *many) processor(ctx context.Context) (float64, error) {
	const ticks = 100 // USER_HZ, per second on Linux
	processes, err := m.processes(ctx)
	var sum float64
	for _, id := range processes {
		stat, readErr := os.ReadFile("/proc/" + id + "/stat")
		err = errors.Join(err, readErr)
		// Behind the name, which may have blanks: state is the first field, utime the
		// 12th and stime the 13th.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, field := range fields[11:13] {
			used, parseErr := strconv.ParseFloat(field, 64)
			err = errors.Join(err, parseErr)
			sum += used / ticks
		}
	}
	return sum, err
}

// processes of the plane by name: the daemon, which the engine knows, and its children.
func (m *many) processes(ctx context.Context) (map[string]string, error) {
	output, err := execute(m.command(ctx, m.Engine, "inspect", "--format", "{{.State.Pid}}", "capcon-plane"))
	if err != nil {
		return nil, err
	}
	daemon := strings.TrimSpace(output)
	// Each thread has the children that it started.
	children, err := execute(m.command(ctx, "sh", "-c", "cat /proc/"+daemon+"/task/*/children"))
	if err != nil {
		return nil, err
	}
	processes := map[string]string{"daemon": daemon}
	for _, id := range strings.Fields(children) {
		arguments, err := os.ReadFile("/proc/" + id + "/cmdline")
		if err != nil {
			return nil, fmt.Errorf("read the name of a process: %w", err)
		}
		program, rest, _ := strings.Cut(string(arguments), "\x00")
		name := filepath.Base(program)
		if name == "capcon-plane" {
			name, _, _ = strings.Cut(rest, "\x00")
		}
		processes[name] = id
	}
	return processes, nil
}

// table of the figures, as text of a page.
func (m *many) table() string {
	var text strings.Builder
	row := func(what, figure, aim string) { fmt.Fprintf(&text, "| %s | %s | %s |\n", what, figure, aim) }
	text.WriteString("| What | Figure | Aim |\n|---|---|---|\n")
	row("start of a plane, with its container", seconds(m.PlaneStarts), "≤ 4 s")
	one, all := total(m.One), total(m.All)
	row("memory of the plane, one 1 + 1 cluster, after "+m.Rest.String(), fmt.Sprintf("%.0f MB", one), "≤ 550 MB")
	row(fmt.Sprintf("memory of the plane, %d of them, after %s", m.Clusters, m.Rest), fmt.Sprintf("%.0f MB", all), "")
	row("each more cluster", fmt.Sprintf("%.1f MB", (all-one)/float64(m.Clusters-1)), "≤ 25 MB")
	row(fmt.Sprintf("%d clusters created concurrently, until the last is ready", m.Clusters), fmt.Sprintf("%.1f s", m.Ready), "")
	row("processor time of the plane meanwhile", fmt.Sprintf("%.1f s", m.Processor), "")
	row("all deleted concurrently, until the last is gone", fmt.Sprintf("%.1f s", m.Gone), "")
	text.WriteString("\n| Memory in MB | one cluster | all clusters |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(m.One)) {
		fmt.Fprintf(&text, "| %s | %.0f | %.0f |\n", name, m.One[name], m.All[name])
	}
	return text.String()
}

func total(memory map[string]float64) (sum float64) {
	for _, megabytes := range memory {
		sum += megabytes
	}
	return sum
}

// seconds are a median and its spread.
func seconds(of []float64) string {
	lowest, median, highest := spread(of)
	return fmt.Sprintf("%.2f s (%.2f to %.2f)", median, lowest, highest)
}
