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

// many measures a plane with many clusters, and its memory after they rested.
type many struct {
	setting

	clusters int
	rest     time.Duration
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
	fmt.Print(m.text())
	return m.write()
}

// cleanUp what a run left, and nothing else.
func (m *many) cleanUp(ctx context.Context) {
	_ = m.capcon(ctx, "down", cluster, "--keep-plane")
	_ = m.each(ctx, "down", "--keep-plane")
	_ = m.capcon(ctx, "plane", "down")
}

func (m *many) plane(ctx context.Context) error {
	for range repeats {
		start := time.Now()
		if err := m.capcon(ctx, "plane", "up"); err != nil {
			return err
		}
		m.add(seconds, "start of a plane, with its container", time.Since(start).Seconds())
		if err := m.capcon(ctx, "plane", "down"); err != nil {
			return err
		}
	}
	return nil
}

func (m *many) one(ctx context.Context) error {
	fmt.Printf("One cluster, which rests for %s.\n", m.rest)
	err := m.capcon(ctx, "up", cluster)
	if err == nil {
		err = m.memory(ctx, "one 1 + 1 cluster")
	}
	return errors.Join(err, m.capcon(ctx, "down", cluster, "--keep-plane"))
}

func (m *many) all(ctx context.Context) error {
	fmt.Printf("%d clusters concurrently, which rest for %s.\n", m.clusters, m.rest)
	all := fmt.Sprintf("%d clusters concurrently", m.clusters)
	before, err := m.processor(ctx, plane)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := m.each(ctx, "up"); err != nil {
		return err
	}
	m.add(seconds, all+", until the last is ready", time.Since(start).Seconds())
	after, err := m.processor(ctx, plane)
	if err != nil {
		return err
	}
	m.add(processors, all+": plane until then", after-before)
	if err := m.memory(ctx, fmt.Sprintf("%d 1 + 1 clusters", m.clusters)); err != nil {
		return err
	}
	start = time.Now()
	err = m.each(ctx, "down", "--keep-plane")
	m.add(seconds, all+", until all are deleted", time.Since(start).Seconds())
	return err
}

// each runs a command for all clusters concurrently.
func (m *many) each(ctx context.Context, verb string, args ...string) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range m.clusters {
		group.Go(func() error {
			return m.capcon(ctx, append([]string{verb, fmt.Sprintf("%s-%d", cluster, i)}, args...)...)
		})
	}
	return group.Wait()
}

// memory of the plane's processes after they rested, in MB as proportional set size.
func (m *many) memory(ctx context.Context, with string) error {
	// The rest is what is measured.
	if _, err := execute(m.command(ctx, "sleep", strconv.Itoa(int(m.rest.Seconds())))); err != nil {
		return err
	}
	processes, err := m.processes(ctx)
	sizes, sum := map[string]float64{}, 0.0
	for name, id := range processes {
		rollup, readErr := os.ReadFile("/proc/" + id + "/smaps_rollup")
		err = errors.Join(err, readErr)
		for line := range strings.Lines(string(rollup)) {
			if fields := strings.Fields(line); fields[0] == "Pss:" {
				kilobytes, parseErr := strconv.ParseFloat(fields[1], 64)
				err = errors.Join(err, parseErr)
				sizes[name] = kilobytes * 1024 / 1e6
				sum += sizes[name]
			}
		}
	}
	m.add(memory, with, sum)
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		m.add(memory, with+": "+name, sizes[name])
	}
	return err
}

// processes of the plane by name: the daemon, which the engine knows, and its children.
func (m *many) processes(ctx context.Context) (map[string]string, error) {
	output, err := execute(m.command(ctx, m.Engine, "inspect", "--format", "{{.State.Pid}}", plane))
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
