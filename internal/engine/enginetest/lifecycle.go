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

func lifecycleChecks() map[string]check {
	return map[string]check{
		"start, stop, remove": {
			contract: "starting what runs, stopping what does not run and removing what is absent succeed",
			run:      startsStopsRemoves,
		},
		"absent": {
			contract: "start and stop of what is absent: ErrNotFound; remove succeeds",
			run: func(t *testing.T, c *fixture) {
				wantKind(t, "start", c.StartContainer(t.Context(), c.named("absent")), engine.ErrNotFound)
				wantKind(t, "stop", c.StopContainer(t.Context(), c.named("absent"), 0), engine.ErrNotFound)
				wantNoError(t, "remove", c.RemoveContainer(t.Context(), c.named("absent")))
			},
		},
		"stop of what never ran": {
			contract: "stop succeeds if the container does not run",
			run: func(t *testing.T, c *fixture) {
				c.create(t, c.spec("a"))
				wantNoError(t, "stop", c.StopContainer(t.Context(), c.named("a"), time.Second))
			},
		},
		"remove what runs": {
			contract: "kills and removes; the name can be used again",
			run: func(t *testing.T, c *fixture) {
				for range 3 {
					c.run(t, c.spec("a"))
					wantNoError(t, "remove", c.RemoveContainer(t.Context(), c.named("a")))
				}
				_, err := c.InspectContainer(t.Context(), c.named("a"))
				wantKind(t, "inspect what is removed", err, engine.ErrNotFound)
			},
		},
		"remove from several sides": {
			contract: "remove succeeds if the container is absent, whichever caller removes it",
			run:      removesConcurrently,
		},
		"ends by itself": {
			contract: "ExitCode of the last run, where Status is StatusExited",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				c.endInit(t, c.named("a"), "USR1")
				c.eventuallyStatus(t, "a", engine.StatusExited)
				found := c.inspect(t, c.named("a"))
				if found.ExitCode != 7 || found.FinishedAt.IsZero() || found.OOMKilled {
					t.Errorf("exit code %d, finished at %s, killed for memory %v, want 7, a time, no",
						found.ExitCode, found.FinishedAt, found.OOMKilled)
				}
				c.start(t, c.named("a"))
				if found := c.wantStatus(t, "started again", c.named("a"), engine.StatusRunning); found.ExitCode != 0 {
					t.Errorf("exit code %d of a running container, want 0", found.ExitCode)
				}
			},
		},
		"restarted by policy": {
			contract: "RestartUnlessStopped: started again when the process ends",
			run: func(t *testing.T, c *fixture) {
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
		},
		"CDI device": {
			contract: "CDIDevices are devices by their names in the Container Device Interface",
			run: func(t *testing.T, c *fixture) {
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
		},
		"CDI device absent": {
			contract: "a CDI device the engine does not know: the start says ErrInvalid, the container stays",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.CDIDevices = []string{"capcon.example/absent=device"}
				c.create(t, spec)
				err := c.StartContainer(t.Context(), spec.Name)
				wantKind(t, "start", err, engine.ErrInvalid)
				c.wantNotStarted(t, spec.Name)
			},
		},
		"kept files": {
			contract: "the container's own file system outlives a stop",
			run: func(t *testing.T, c *fixture) {
				c.run(t, c.spec("a"))
				c.tool(t, c.named("a"), "write", "/kept", "content")
				c.stop(t, c.named("a"))
				c.start(t, c.named("a"))
				c.wantTool(t, "what was written, after stop and start", c.named("a"), "content", "read", "/kept")
			},
		},
	}
}

func startsStopsRemoves(t *testing.T, c *fixture) {
	name := c.named("a")
	c.create(t, c.spec("a"))
	c.start(t, name)
	c.wantStatus(t, "after start", name, engine.StatusRunning)
	wantNoError(t, "start what runs", c.StartContainer(t.Context(), name))
	c.stop(t, name)
	found := c.wantStatus(t, "after stop", name, engine.StatusExited)
	if found.FinishedAt.IsZero() {
		t.Error("stopped container has no time of its end")
	}
	wantNoError(t, "stop what is stopped", c.StopContainer(t.Context(), name, time.Second))
	c.start(t, name)
	c.wantStatus(t, "after start of what was stopped", name, engine.StatusRunning)
	c.stop(t, name)
	wantNoError(t, "remove", c.RemoveContainer(t.Context(), name))
	wantNoError(t, "remove what is removed", c.RemoveContainer(t.Context(), name))
}

func removesConcurrently(t *testing.T, c *fixture) {
	const callers = 4
	c.run(t, c.spec("a"))
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			wantNoError(t, "remove", c.RemoveContainer(t.Context(), c.named("a")))
			// Gone, whichever caller removed it.
			_, err := c.InspectContainer(t.Context(), c.named("a"))
			wantKind(t, "inspect after remove", err, engine.ErrNotFound)
		})
	}
	group.Wait()
}

func (c *fixture) eventuallyStatus(t *testing.T, suffix string, want engine.Status) {
	t.Helper()
	eventually(t, func() string {
		if found := c.inspect(t, c.named(suffix)); found.Status != want {
			return "want " + string(want) + ": " + describe(found)
		}
		return ""
	})
}

// endInit signals process 1, whose end may take the signaling command along.
func (c *fixture) endInit(t *testing.T, container, signal string) {
	t.Helper()
	_, err := c.Exec(t.Context(), container, engine.Command{Args: []string{"/tool", "kill", signal, "1"}})
	var exit *engine.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("signal process 1: %v", err)
	}
}
