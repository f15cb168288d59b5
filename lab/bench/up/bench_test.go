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
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResults(t *testing.T) {
	t.Parallel()
	var b bench
	for _, round := range [][4]float64{{20, 25, 1, 4}, {18, 24, 2, 3}} {
		b.add(seconds, capconUp, round[0])
		b.add(seconds, kindUp, round[1])
		b.add(seconds, kindDown, round[2])
		b.add(seconds, capcDown, round[3])
		for _, row := range []string{floorUp, largeUp, largeFloorUp} {
			b.add(seconds, row, 40)
		}
		b.compare()
	}
	for _, want := range []string{
		"| Seconds | Median | Lowest | Highest | Rounds |\n|---|---|---|---|---|\n| capcon up 1 + 1 | 19.00 | 18.00 | 20.00 | 20.00 18.00 |\n",
		"\n\n| Ratio | Median | Lowest | Highest | Rounds |\n|---|---|---|---|---|\n| capcon up 1 + 1 ÷ kind create 1 + 1 | 0.78 | 0.75 | 0.80 | 0.80 0.75 |\n",
		"| capcon down 1 + 1 ÷ kind delete 1 + 1 | 2.75 | 1.50 | 4.00 | 4.00 1.50 |\n",
	} {
		if text := b.text(); !strings.Contains(text, want) {
			t.Errorf("tables:\n%s\nwant:\n%s", text, want)
		}
	}
}

func TestCgroupSeconds(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for path, content := range map[string]string{
		"cpuacct/docker/abc/cpuacct.usage":                       "1500000000\n",
		"machine.slice/libpod-abc.scope/cpu.stat":                "usage_usec 2500000\nuser_usec 1\n",
		"system.slice/docker-abc.scope/init/cpu.stat":            "usage_usec 1\n",
		"system.slice/docker-abc.scope/cpu.stat":                 "usage_usec 3500000\n",
		"cpuacct/libpod_parent/libpod-abc/kubelet/cpuacct.usage": "1\n",
		"cpuacct/libpod_parent/libpod-abc/cpuacct.usage":         "4500000000\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755), os.WriteFile(filepath.Join(root, path), []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason string
		groups string
		want   float64
	}{
		"v1":         {"Docker on cgroup v1.", "2:cpu,cpuacct:/docker/abc\n0::/\n", 1.5},
		"v1, hybrid": {"Version 2 is mounted without controllers, and systemd has a cgroup of its own.", "0::/docker/abc\n2:cpuacct:/libpod_parent/libpod-abc/init.scope\n", 4.5},
		"v2":         {"Podman on cgroup v2.", "0::/machine.slice/libpod-abc.scope\n", 2.5},
		"v2, nested": {"systemd in the container has a cgroup of its own.", "0::/system.slice/docker-abc.scope/init\n", 3.5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := cgroupSeconds(root, tc.groups, "abc"); err != nil || got != tc.want {
				t.Errorf("%s: %v s, %v; want %v s", tc.reason, got, err, tc.want)
			}
		})
	}
	if _, err := cgroupSeconds(root, "0::/\n", "abc"); err == nil {
		t.Error("a container without a cgroup: no error")
	}
}

func TestReadWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.json")
	write := func(name string) {
		t.Helper()
		err := os.WriteFile(path, []byte(`{"traceEvents": [
			{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Management plane"}},
			{"name": "Ready=True", "ph": "X", "pid": 1, "dur": 1},
			{"name": "process_name", "ph": "M", "pid": 2, "args": {"name": "Waited for"}},
			{"name": "capcon", "ph": "X", "pid": 2, "dur": 500000},
			{"name": "`+name+`", "ph": "X", "pid": 2, "dur": 1000000, "args": {"by": "x"}}
		]}`), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	write("capcon")
	waits, err := readWaits(path)
	if diff := cmp.Diff(map[string]float64{"capcon": 1.5}, waits); err != nil || diff != "" {
		t.Errorf("error %v, waits (-want +got):\n%s", err, diff)
	}
	write("another")
	if _, err := readWaits(path); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("a wait that has no row: %v", err)
	}
}
