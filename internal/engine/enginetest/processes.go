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
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// processChecks are about what a process sees of its container's spec.
func processChecks() map[string]check {
	checks := map[string]check{
		"environment and host name": {
			contract: "Hostname, Environment, User",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Hostname = "node-1"
				spec.Environment = map[string]string{"KEY": "a value", "OTHER": "x=y"}
				c.run(t, spec)
				for args, want := range map[[2]string]string{
					{"hostname"}: "node-1", {"env", "KEY"}: "a value", {"env", "OTHER"}: "x=y", {"id"}: "0:0",
				} {
					c.wantTool(t, "what a process sees of the spec", spec.Name, want, args[0], args[1])
				}
			},
		},
		"command": {
			contract: "Entrypoint and Command replace those of the image",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Entrypoint, spec.Command = []string{"/tool", "exit"}, []string{"9"}
				c.run(t, spec)
				c.eventuallyStatus(t, "a", engine.StatusExited)
				if got := c.inspect(t, spec.Name).ExitCode; got != 9 {
					t.Errorf("exit code %d, want 9", got)
				}
			},
		},
		"log": {
			contract:  "ContainerLog writes what the first process has printed, also where the container has ended",
			processes: true,
			run:       readsLog,
		},
		"program absent": {
			contract: "a program that the image does not have: the start says ErrInvalid, the container stays",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Entrypoint = []string{"/absent"}
				c.create(t, spec)
				err := c.StartContainer(t.Context(), spec.Name)
				wantKind(t, "start", err, engine.ErrInvalid)
				if found := c.inspect(t, spec.Name); found.Status == engine.StatusRunning {
					t.Errorf("%s, want not running", describe(found))
				}
			},
		},
		"first process": {
			contract: "the entrypoint is process 1, no init of the engine before it",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				c.wantTool(t, "process 1 is the image's entrypoint", c.named("a"), "tool", "pid1", "Name")
			},
		},
		"capabilities": {
			contract: "DropAllCapabilities leaves none but those of AddCapabilities; NoNewPrivileges; processes may signal each other",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Security = engine.Security{
					DropAllCapabilities: true, AddCapabilities: []string{"NET_BIND_SERVICE"}, NoNewPrivileges: true,
				}
				c.run(t, spec)
				// Bit 10 of the kernel's set.
				c.wantTool(t, "bounding capabilities, only NET_BIND_SERVICE", spec.Name, "0000000000000400", "pid1", "CapBnd")
				c.wantTool(t, "no new privileges", spec.Name, "1", "pid1", "NoNewPrivs")
				c.wantTool(t, "a process may end another", spec.Name, "1", "spawn", "1")
			},
		},
		"unconfined": {
			contract: "Unconfined turns seccomp off",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Security = engine.Security{Unconfined: true, PrivateCgroupNamespace: true}
				c.run(t, spec)
				c.wantTool(t, "seccomp mode", spec.Name, "0", "pid1", "Seccomp")
			},
		},
		"privileged": {
			contract: "Privileged gives what the host has",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Security = engine.Security{Privileged: true, PrivateCgroupNamespace: true}
				c.run(t, spec)
				c.wantStatus(t, "privileged", spec.Name, engine.StatusRunning)
				t.Logf("bounding capabilities %s", c.tool(t, spec.Name, "pid1", "CapBnd"))
			},
		},
		"engine socket": {
			contract: "EngineSocket is a container's own option, which every host takes",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Security = engine.Security{EngineSocket: true, DropAllCapabilities: true, NoNewPrivileges: true}
				c.run(t, spec)
				c.wantStatus(t, "with EngineSocket", spec.Name, engine.StatusRunning)
				c.wantTool(t, "bounding capabilities, none", spec.Name, "0000000000000000", "pid1", "CapBnd")
			},
		},
		"bounds": {
			contract: "OpenFiles is the soft and hard limit",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Resources = engine.Resources{OpenFiles: 4321, Pids: 100, MemoryBytes: 64 << 20}
				c.run(t, spec)
				c.wantTool(t, "limits of open files", spec.Name, "4321 4321", "limit")
			},
		},
		"memory": {
			contract: "MemoryBytes bounds memory; OOMKilled says that the kernel killed the last run because of it",
			run:      runsOutOfMemory,
		},
		"processor time": {
			contract: "MilliCPU bounds processor time",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Resources = engine.Resources{MilliCPU: 500}
				c.run(t, spec)
				c.wantTool(t, "thousandths of a CPU", spec.Name, "500", "cpulimit")
			},
		},
		"processes": {
			contract: "Pids bounds the number of processes",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Resources = engine.Resources{Pids: 40}
				c.run(t, spec)
				_, err := c.Exec(t.Context(), spec.Name, engine.Command{Args: []string{"/tool", "spawn", "60"}})
				var exit *engine.ExitError
				if !errors.As(err, &exit) {
					t.Errorf("60 processes where 40 are permitted: %v, want a command that does not succeed", err)
				}
				spec = c.spec("b")
				c.run(t, spec)
				c.wantTool(t, "processes without a bound", spec.Name, "60", "spawn", "60")
			},
		},
		"tmpfs may execute": {
			contract: "MountTmpfs is mounted with exec allowed",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Mounts = []engine.Mount{{Type: engine.MountTmpfs, Target: "/memory"}}
				c.run(t, spec)
				c.wantTool(t, "program on a tmpfs", spec.Name, "ran", "execfrom", "/memory")
			},
		},
		"read-only bind": {
			contract: "ReadOnly",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Mounts = []engine.Mount{{
					Type: engine.MountBind, Source: c.HostDirectory(t, "file", "x"), Target: "/host", ReadOnly: true,
				}}
				c.run(t, spec)
				_, err := c.Exec(t.Context(), spec.Name, engine.Command{Args: []string{"/tool", "write", "/host/file", "y"}})
				var exit *engine.ExitError
				if !errors.As(err, &exit) {
					t.Errorf("write to a read-only mount: %v, want a command that does not succeed", err)
				}
			},
		},
	}
	for title, c := range checks {
		c.processes = true
		checks[title] = c
	}
	return checks
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
		c.eventuallyStatus(t, suffix, engine.StatusExited)
		found := c.inspect(t, spec.Name)
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
	ctx := t.Context()
	spec := c.spec("a")
	spec.Entrypoint, spec.Command = []string{"/tool", "print"}, []string{"first\nsecond\nthird\n", "apart\n"}
	c.run(t, spec)
	c.eventuallyStatus(t, "a", engine.StatusExited)
	read := func(request engine.LogRequest) string {
		var out strings.Builder
		wantNoError(t, "log", c.ContainerLog(ctx, spec.Name, request, &out))
		return out.String()
	}
	// The two streams are read apart: which is first is not defined.
	for title, request := range map[string]engine.LogRequest{"all": {}, "a container that ended is not waited for": {Follow: true}} {
		got := read(request)
		if !strings.Contains(got, "first\nsecond\nthird\n") || !strings.Contains(got, "apart\n") {
			t.Errorf("%s: %q, want both streams", title, got)
		}
	}
	if got := read(engine.LogRequest{Tail: 2}); strings.Count(got, "\n") != 2 {
		t.Errorf("%q, want the last two lines", got)
	}
	wantKind(t, "log of what is absent", c.ContainerLog(ctx, c.named("absent"), engine.LogRequest{}, io.Discard), engine.ErrNotFound)

	terminal := c.spec("b")
	terminal.TTY, terminal.Entrypoint, terminal.Command = true, spec.Entrypoint, []string{"on a terminal\n", ""}
	c.run(t, terminal)
	c.eventuallyStatus(t, "b", engine.StatusExited)
	var out strings.Builder
	wantNoError(t, "log of a terminal", c.ContainerLog(ctx, terminal.Name, engine.LogRequest{}, &out))
	if got := out.String(); got != "on a terminal\r\n" {
		t.Errorf("%q, want what the terminal got", got)
	}
}
