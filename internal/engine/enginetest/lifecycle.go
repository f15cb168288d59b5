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
	"sync"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func lifecycleChecks() checks {
	return checks{
		// Starting what runs, stopping what does not run and removing what is absent succeed.
		"start, stop, remove": startsStopsRemoves,
		// RemoveContainer kills, removes, and returns only when the name can be used again.
		"remove what runs": func(t *testing.T, c *fixture) {
			for range 5 {
				c.run(t, c.spec("a"))
				c.remove(t, c.named("a"))
			}
			wantKind(t, "inspect what is removed", failure(c.InspectContainer(t.Context(), c.named("a"))), engine.ErrNotFound)
		},
		// Remove succeeds if the container is absent, whichever caller removes it.
		"remove from several sides": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() {
					c.remove(t, c.named("a"))
					wantKind(t, "inspect after remove", failure(c.InspectContainer(t.Context(), c.named("a"))), engine.ErrNotFound)
				})
			}
			group.Wait()
		},
		// ExitCode of the last run, where Status is StatusExited.
		"ends by itself": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			c.endInit(t, c.named("a"), "USR1")
			found := c.eventuallyStatus(t, "a", engine.StatusExited)
			if found.ExitCode != 7 || found.FinishedAt.IsZero() || found.OOMKilled {
				t.Errorf("exit code %d, finished at %s, killed for memory %v, want 7, a time, no",
					found.ExitCode, found.FinishedAt, found.OOMKilled)
			}
			c.start(t, c.named("a"))
			if found := c.wantStatus(t, "started again", c.named("a"), engine.StatusRunning); found.ExitCode != 0 {
				t.Errorf("exit code %d of a running container, want 0", found.ExitCode)
			}
		},
		// RestartUnlessStopped: started again when the process ends.
		"restarted by policy": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.Restart = engine.RestartUnlessStopped
			c.run(t, spec)
			before := c.inspect(t, spec.Name).StartedAt
			c.endInit(t, spec.Name, "TERM")
			eventually(t, func() string {
				found := c.inspect(t, spec.Name)
				if found.Status == engine.StatusRunning && found.StartedAt.After(before) {
					return ""
				}
				return "not started again: " + describe(found)
			})
			c.stop(t, spec.Name)
			c.wantStatus(t, "stopped through the API", spec.Name, engine.StatusExited)
		},
		// CDIDevices are devices by their names in the Container Device Interface.
		"CDI device": func(t *testing.T, c *fixture) {
			if c.CDIDevice == nil {
				t.Skip("no CDI device can be described to the engine")
			}
			spec := c.spec("a")
			spec.CDIDevices = []string{c.CDIDevice(t)}
			c.run(t, spec)
			if c.Processes {
				c.keepsNothing(t, spec.Name)
			}
		},
		// A CDI device the engine does not know: the start says ErrInvalid, the container stays.
		"CDI device absent": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.CDIDevices = []string{"capcon.example/absent=device"}
			c.create(t, spec)
			wantKind(t, "start", c.StartContainer(t.Context(), spec.Name), engine.ErrInvalid)
			c.wantNotStarted(t, spec.Name)
		},
		// The container's own file system outlives a stop.
		"kept files": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			c.tool(t, c.named("a"), "write", "/kept", "content")
			c.stop(t, c.named("a"))
			c.start(t, c.named("a"))
			c.wantTool(t, "what was written, after stop and start", c.named("a"), "content", "read", "/kept")
		},
	}
}

func startsStopsRemoves(t *testing.T, c *fixture) {
	name := c.named("a")
	c.create(t, c.spec("a"))
	wantNoError(t, "stop what never ran", c.StopContainer(t.Context(), name, time.Second))
	c.start(t, name)
	c.wantStatus(t, "after start", name, engine.StatusRunning)
	wantNoError(t, "start what runs", c.StartContainer(t.Context(), name))
	c.stop(t, name)
	if found := c.wantStatus(t, "after stop", name, engine.StatusExited); found.FinishedAt.IsZero() {
		t.Error("stopped container has no time of its end")
	}
	wantNoError(t, "stop what is stopped", c.StopContainer(t.Context(), name, time.Second))
	c.start(t, name)
	c.wantStatus(t, "after start of what was stopped", name, engine.StatusRunning)
	c.stop(t, name)
	c.remove(t, name)
}

// endInit signals process 1, whose end may take the signaling command along.
func (c *fixture) endInit(t *testing.T, container, signal string) {
	t.Helper()
	err := failure(c.Exec(t.Context(), container, tool("kill", signal, "1")))
	var exit *engine.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("signal process 1: %v", err)
	}
}

// keepsNothing wants /dev/nothing to be the host's /dev/null.
func (c *fixture) keepsNothing(t *testing.T, container string) {
	t.Helper()
	c.tool(t, container, "write", "/dev/nothing", "x")
	c.wantTool(t, "what was written to the device", container, "", "read", "/dev/nothing")
}
