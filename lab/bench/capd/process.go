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
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopGrace is how long a process may take to end by itself.
const stopGrace = 15 * time.Second

// clockTicks are what the kernel counts processor time in; USER_HZ is 100 on
// every architecture Go runs on.
const clockTicks = 100

// program is what to run.
type program struct {
	name, path string
	args, env  []string
}

// process is a program that runs.
type process struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

// start runs a program with its output in a file of the directory.
func start(p program, logs string) (*process, error) {
	output, err := os.Create(filepath.Join(logs, p.name+".log"))
	if err != nil {
		return nil, fmt.Errorf("create log of %s: %w", p.name, err)
	}
	cmd := exec.Command(p.path, p.args...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = output, output
	// A group of its own: what a terminal sends to this program must not end
	// managers before their clusters are removed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", p.name, err), output.Close())
	}
	running := &process{name: p.name, cmd: cmd, ended: make(chan struct{})}
	go func() {
		running.err = errors.Join(cmd.Wait(), output.Close())
		close(running.ended)
	}()
	return running, nil
}

// stop asks the process to end, and makes it end.
func (p *process) stop() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s ended by itself: %w", p.name, p.err)
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopGrace):
	}
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.ended
	return nil
}

// usage of a process up to now.
type usage struct {
	cpu time.Duration
	// resident and peak are bytes.
	resident, peak int64
}

func (p *process) usage() (usage, error) { return usageOf(p.cmd.Process.Pid) }

func usageOf(pid int) (usage, error) {
	directory := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(directory, "stat"))
	if err != nil {
		return usage{}, fmt.Errorf("read processor time: %w", err)
	}
	// The second field is a name in parentheses that may hold spaces; user and
	// system time are fields 14 and 15 of all.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		count, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("read processor time: %w", err)
		}
		ticks += count
	}
	used := usage{cpu: time.Duration(ticks) * time.Second / clockTicks}
	status, err := os.ReadFile(filepath.Join(directory, "status"))
	if err != nil {
		return usage{}, fmt.Errorf("read memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		size, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		switch name {
		case "VmRSS":
			used.resident = size << 10
		case "VmHWM":
			used.peak = size << 10
		}
	}
	return used, nil
}

// command runs a program to its end and returns what it printed.
func command(ctx context.Context, name string, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return strings.TrimSpace(string(output)), nil
}

// loadAverage of the last minute.
func loadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(content), " ")
	return first
}

// sleep waits where the wait itself is what is measured.
func sleep(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
		return nil
	}
}

// get reads what a URL has.
func get(ctx context.Context, from *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", url, err)
	}
	response, err := from.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", url, err)
	}
	content, err := io.ReadAll(response.Body)
	return string(content), errors.Join(err, response.Body.Close())
}
