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

package enginetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// specCase is a field of a spec, and what commands of the tool print in its container.
type specCase struct {
	spec   func(*engine.Spec)
	prints map[string]string
}

// processChecks are about what a process sees of its container's spec.
func processChecks() checks {
	out := checks{
		// When ctx ends Exec returns.
		"context ends": returnsWhenContextEnds,
		// User runs a command; empty = the container's.
		"user": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.User = "1000:1001"
			c.run(t, spec)
			c.wantExec(t, tool("id"), "1000:1001", "", 0)
			asRoot := tool("id")
			asRoot.User = "0:0"
			c.wantExec(t, asRoot, "0:0", "", 0)
		},
		// Entrypoint and Command replace those of the image.
		"command": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.Entrypoint, spec.Command = []string{"/tool", "exit"}, []string{"9"}
			c.run(t, spec)
			if got := c.eventuallyStatus(t, "a", engine.StatusExited).ExitCode; got != 9 {
				t.Errorf("exit code %d, want 9", got)
			}
		},
		// ContainerLog writes what the first process has printed, also where the container has ended.
		"log": readsLog,
		// A program that the image does not have: the start says ErrInvalid, the container stays.
		"program absent": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.Entrypoint = []string{"/absent"}
			c.create(t, spec)
			wantKind(t, "start", c.StartContainer(t.Context(), spec.Name), engine.ErrInvalid)
			if found := c.inspect(t, spec.Name); found.Status == engine.StatusRunning {
				t.Errorf("%s, want not running", describe(found))
			}
		},
		// A bind mount of a device is that device where the container is privileged.
		"device node": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.Security.Privileged = true
			spec.Mounts = []engine.Mount{{Type: engine.MountBind, Source: "/dev/null", Target: "/dev/nothing"}}
			c.run(t, spec)
			c.keepsNothing(t, spec.Name)
		},
		// Propagation of a bind.
		"propagation": showsPropagation,
		// MemoryBytes bounds memory; OOMKilled says that the kernel killed the last run because of it.
		"memory": runsOutOfMemory,
		// Pids bounds the number of processes.
		"processes": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.Resources = engine.Resources{Pids: 40}
			c.run(t, spec)
			c.wantToolFails(t, "60 processes where 40 are permitted", spec.Name, "spawn", "60")
			c.run(t, c.spec("b"))
			c.wantTool(t, "processes without a bound", c.named("b"), "60", "spawn", "60")
		},
	}
	for title, created := range map[string]engine.Resources{
		"update":                  {},
		"update what was bounded": {MemoryBytes: 32 << 20, MilliCPU: 500, Pids: 40},
	} {
		out[title] = func(t *testing.T, c *fixture) { updatesResources(t, c, created) }
	}
	for title, test := range specCases() {
		out[title] = func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			test.spec(&spec)
			c.run(t, spec)
			for command, want := range test.prints {
				c.wantTool(t, title, spec.Name, want, strings.Fields(command)...)
			}
		}
	}
	return out
}

func specCases() map[string]specCase {
	return map[string]specCase{
		"environment and host name": {func(s *engine.Spec) {
			s.Hostname = "node-1"
			s.Environment = map[string]string{"KEY": "a value", "OTHER": "x=y"}
		}, map[string]string{"hostname": "node-1", "env KEY": "a value", "env OTHER": "x=y", "id": "0:0"}},
		// DNSSearch replaces what the engine takes from its host.
		"search domains": {func(s *engine.Spec) {
			s.DNSSearch = []string{"one.example.com", "two.example.com"}
		}, map[string]string{"search": "one.example.com two.example.com"}},
		// The entrypoint is process 1, no init of the engine before it.
		"first process": {func(*engine.Spec) {}, map[string]string{"pid1 Name": "tool"}},
		// DropAllCapabilities leaves none but those of AddCapabilities, here bit 10 of the kernel's
		// set; processes may signal each other.
		"capabilities": {func(s *engine.Spec) {
			s.Security = engine.Security{DropAllCapabilities: true, AddCapabilities: []string{"NET_BIND_SERVICE"}, NoNewPrivileges: true}
		}, map[string]string{"pid1 CapBnd": "0000000000000400", "pid1 NoNewPrivs": "1", "spawn 1": "1"}},
		// Unconfined turns seccomp off.
		"unconfined": {func(s *engine.Spec) {
			s.Security = engine.Security{Unconfined: true, PrivateCgroupNamespace: true}
		}, map[string]string{"pid1 Seccomp": "0"}},
		"privileged": {func(s *engine.Spec) {
			s.Security = engine.Security{Privileged: true, PrivateCgroupNamespace: true}
		}, map[string]string{"id": "0:0"}},
		// EngineSocket is a container's own option, which every host takes.
		"engine socket": {func(s *engine.Spec) {
			s.Security = engine.Security{EngineSocket: true, DropAllCapabilities: true, NoNewPrivileges: true}
		}, map[string]string{"pid1 CapBnd": "0000000000000000"}},
		// OpenFiles is the soft and hard limit.
		"bounds": {func(s *engine.Spec) {
			s.Resources = engine.Resources{OpenFiles: 4321, Pids: 100, MemoryBytes: 64 << 20}
		}, map[string]string{"limit": "4321 4321"}},
		// MilliCPU bounds processor time.
		"processor time": {func(s *engine.Spec) { s.Resources.MilliCPU = 500 }, map[string]string{"cpulimit": "500"}},
		// MountTmpfs is mounted with exec allowed.
		"tmpfs may execute": {func(s *engine.Spec) {
			s.Mounts = []engine.Mount{{Type: engine.MountTmpfs, Target: "/memory"}}
		}, map[string]string{"execfrom /memory": "ran"}},
	}
}

// updatesResources wants a running container to have what it gets, and what is left out to stay.
func updatesResources(t *testing.T, c *fixture, created engine.Resources) {
	spec := c.spec("a")
	spec.Resources = created
	c.run(t, spec)
	wantKind(t, "update what is absent", c.UpdateResources(t.Context(), c.named("absent"), engine.Resources{Pids: 10}), engine.ErrNotFound)
	wantNoError(t, "update", c.UpdateResources(t.Context(), spec.Name, engine.Resources{MemoryBytes: 96 << 20, MilliCPU: 700, Pids: 900}))
	c.wantTool(t, "processor time", spec.Name, "700", "cpulimit")
	c.wantTool(t, "60 processes where 900 are permitted", spec.Name, "60", "spawn", "60")
	c.wantTool(t, "memory", spec.Name, fmt.Sprint(96<<20), "memorylimit")
	wantNoError(t, "update one", c.UpdateResources(t.Context(), spec.Name, engine.Resources{Pids: 30}))
	c.wantTool(t, "processor time that did not change", spec.Name, "700", "cpulimit")
	c.wantToolFails(t, "60 processes where 30 are permitted", spec.Name, "spawn", "60")
	wantNoError(t, "update to less", c.UpdateResources(t.Context(), spec.Name, engine.Resources{MemoryBytes: 32 << 20, MilliCPU: 300}))
	c.wantTool(t, "less processor time", spec.Name, "300", "cpulimit")
	c.wantTool(t, "less memory", spec.Name, fmt.Sprint(32<<20), "memorylimit")
}

// runsOutOfMemory wants the exit code of each run, and one run of a few that is
// reported as OOMKilled. Docker 20.10 gets the kill and the container's exit from two
// sources, in either order, and drops a kill that comes last.
func runsOutOfMemory(t *testing.T, c *fixture) {
	const runs = 5
	reported := false
	for run := 0; run < runs && !reported; run++ {
		suffix := fmt.Sprintf("run-%d", run)
		spec := c.spec(suffix)
		spec.Entrypoint, spec.Command = []string{"/tool", "eat"}, []string{fmt.Sprint(256 << 20)}
		spec.Resources = engine.Resources{MemoryBytes: 32 << 20}
		c.run(t, spec)
		found := c.eventuallyStatus(t, suffix, engine.StatusExited)
		if found.ExitCode != 137 {
			t.Errorf("run %d: exit code %d, want 137", run, found.ExitCode)
		}
		reported = found.OOMKilled
	}
	t.Logf("killed for memory: %v", reported)
	if !reported && !c.MissesOOM {
		t.Errorf("none of %d runs is reported as killed for memory", runs)
	}
}

func readsLog(t *testing.T, c *fixture) {
	spec := c.spec("a")
	spec.Entrypoint, spec.Command = []string{"/tool", "print"}, []string{"first\nsecond\nthird\n", "apart\n"}
	terminal := c.spec("b")
	terminal.TTY, terminal.Entrypoint, terminal.Command = true, spec.Entrypoint, []string{"on a terminal\n", ""}
	for suffix, spec := range map[string]engine.Spec{"a": spec, "b": terminal} {
		c.run(t, spec)
		c.eventuallyStatus(t, suffix, engine.StatusExited)
	}
	read := func(name string, request engine.LogRequest) string {
		var out strings.Builder
		wantNoError(t, "log", c.ContainerLog(t.Context(), name, request, &out))
		return out.String()
	}
	// The two streams are read apart: which is first is not defined.
	for title, request := range map[string]engine.LogRequest{"all": {}, "a container that ended is not waited for": {Follow: true}} {
		got := read(spec.Name, request)
		if !strings.Contains(got, "first\nsecond\nthird\n") || !strings.Contains(got, "apart\n") {
			t.Errorf("%s: %q, want both streams", title, got)
		}
	}
	if got := read(spec.Name, engine.LogRequest{Tail: 2}); strings.Count(got, "\n") != 2 {
		t.Errorf("%q, want the last two lines", got)
	}
	if got := read(terminal.Name, engine.LogRequest{}); got != "on a terminal\r\n" {
		t.Errorf("%q, want what the terminal got", got)
	}
}
