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
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// setting is what a run measures, and where.
type setting struct {
	Engine  string `json:"engine"`
	Date    string `json:"date"`
	Commit  string `json:"commit"`
	Machine string `json:"machine"`
	Rounds  int    `json:"rounds,omitempty"`
	// Tables are the figures. "make generate" writes them into docs/results.md.
	Tables []*table `json:"tables"`

	output string
}

func (s setting) capcon(ctx context.Context, args ...string) error {
	_, err := execute(s.command(ctx, "bin/capcon", append(args, "--engine", s.Engine)...))
	return err
}

func (s setting) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "ENGINE="+s.Engine, "KIND_EXPERIMENTAL_PROVIDER="+s.Engine,
		"KUBECONFIG="+filepath.Join(os.TempDir(), "capcon-bench.kubeconfig"))
	return command
}

func execute(command *exec.Cmd) (output string, err error) {
	var all bytes.Buffer
	command.Stdout, command.Stderr = &all, &all
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, all.String())
	}
	return all.String(), nil
}

// write all figures, for other programs.
func (s setting) write() error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.WriteFile(s.output, append(content, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// processor seconds that the containers whose names begin so used since they were started, as
// their cgroups account them.
func (s setting) processor(ctx context.Context, prefix string) (sum float64, err error) {
	ids, err := execute(s.command(ctx, s.Engine, "ps", "--quiet", "--no-trunc", "--filter", "name=^"+prefix))
	for _, id := range strings.Fields(ids) {
		process, inspectErr := execute(s.command(ctx, s.Engine, "inspect", "--format", "{{.State.Pid}}", id))
		groups, readErr := os.ReadFile("/proc/" + strings.TrimSpace(process) + "/cgroup")
		used, usedErr := cgroupSeconds("/sys/fs/cgroup", string(groups), id)
		err = errors.Join(err, inspectErr, readErr, usedErr)
		sum += used
	}
	return sum, err
}

// cgroupSeconds of a container; groups are those of its first process, which may be below its own.
func cgroupSeconds(root, groups, container string) (float64, error) {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) //nolint:mnd // ID:CONTROLLERS:PATH
		before, after, found := strings.Cut(parts[2], container)
		var file, key string
		unit := 1e9
		switch {
		case !found:
			continue
		case slices.Contains(strings.Split(parts[1], ","), "cpuacct"):
			file = filepath.Join(root, "cpuacct", before+container, "cpuacct.usage")
		case parts[0] == "0":
			scope, _, _ := strings.Cut(after, "/") // .scope, where systemd manages cgroups.
			file, key, unit = filepath.Join(root, before+container+scope, "cpu.stat"), "usage_usec ", 1e6
		default:
			continue
		}
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // Both versions are mounted, and this one has no accounts.
		}
		used, parseErr := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(strings.SplitN(string(content), "\n", 2)[0]), key), 64) //nolint:mnd // Its first line.
		return used / unit, errors.Join(err, parseErr)
	}
	return 0, fmt.Errorf("no cgroup of container %s accounts processor time", container)
}
