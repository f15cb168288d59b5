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
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func containerChecks() map[string]check {
	return map[string]check{
		"create": {
			contract: "creates, neither starts nor pulls, and returns the ID",
			run:      createsOnly,
		},
		"name taken": {
			contract: "Name taken: a ConflictError of ResourceName",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				c.create(t, spec)
				_, err := c.CreateContainer(t.Context(), spec)
				wantTaken(t, "create the same name again", err, engine.ResourceName, spec.Name)
			},
		},
		"image absent": {
			contract: "Image or network absent: ErrNotFound",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Image = "localhost/capcon/absent:v1"
				c.wantNotCreated(t, spec, engine.ErrNotFound)
			},
		},
		"network absent": {
			contract: "Image or network absent: ErrNotFound",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Attachment.Network = c.named("absent")
				c.wantNotCreated(t, spec, engine.ErrNotFound)
			},
		},
		"bind source absent": {
			contract: "A value the engine refuses: ErrInvalid, whose text names it and the remedy",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Mounts = []engine.Mount{{Type: engine.MountBind, Source: c.MissingHostPath(t), Target: "/mnt"}}
				c.wantNotCreated(t, spec, engine.ErrInvalid)
				_, err := c.CreateContainer(t.Context(), spec)
				if text := fmt.Sprint(err); !strings.Contains(text, spec.Mounts[0].Source) || !strings.Contains(text, "create it on the engine's host") {
					t.Errorf("create: error %q, want the source and what to do", text)
				}
			},
		},
		"device node": {
			contract:  "a bind mount of a device is that device where the container is privileged",
			processes: true,
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Security.Privileged = true
				spec.Mounts = []engine.Mount{{Type: engine.MountBind, Source: "/dev/null", Target: "/dev/nothing"}}
				c.run(t, spec)
				c.keepsNothing(t, spec.Name)
			},
		},
		"impossible name": {
			contract: "A value the engine refuses: ErrInvalid",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("with a space")
				c.wantNotCreated(t, spec, engine.ErrInvalid)
			},
		},
		"by ID": {
			contract: "the container of that exact name or ID",
			run:      foundByExactIDOnly,
		},
		"absent": {
			contract: "Absent: ErrNotFound",
			run: func(t *testing.T, c *fixture) {
				_, err := c.InspectContainer(t.Context(), c.named("absent"))
				wantKind(t, "inspect", err, engine.ErrNotFound)
			},
		},
		"inspect": {
			contract: "Container's fields",
			run:      inspectedFields,
		},
		"list by labels": {
			contract: "every container that carries all labels of the selector, ordered by name",
			run:      listsByLabels,
		},
		"list fields": {
			contract: "fills what Container documents as listed",
			run:      listsFields,
		},
		"read in one request": {
			contract:  "one request to the engine, however many containers there are",
			processes: true, alone: true, run: readsInOneRequest,
		},
		"list by awkward labels": {
			contract: "a label's value is compared as it is",
			run:      listsByAwkwardLabels,
		},
		"list of many": {
			contract: "every container, running or not, however many there are, also while others go",
			run:      listsMany,
		},
		"name taken concurrently": {
			contract: "of several that create one name, one succeeds and the others get a ConflictError",
			run:      createsNameOnce,
		},
		"name of what was removed": {
			contract: "RemoveContainer returns only when the name can be used again",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				for range 5 {
					c.run(t, spec)
					wantNoError(t, "remove", c.RemoveContainer(t.Context(), spec.Name))
				}
			},
		},
	}
}

func createsOnly(t *testing.T, c *fixture) {
	id := c.create(t, c.spec("a"))
	if id == "" {
		t.Error("no ID")
	}
	found := c.wantStatus(t, "after create", c.named("a"), engine.StatusCreated)
	if found.ID != id {
		t.Errorf("ID %q, want that of create, %q", found.ID, id)
	}
	if !found.StartedAt.IsZero() || !found.FinishedAt.IsZero() {
		t.Errorf("started at %s, finished at %s, want neither", found.StartedAt, found.FinishedAt)
	}
}

func (c *fixture) wantNotCreated(t *testing.T, spec engine.Spec, kind error) {
	t.Helper()
	forget(t, c.RemoveContainer, spec.Name)
	_, err := c.CreateContainer(t.Context(), spec)
	wantKind(t, "create", err, kind)
	left, err := c.ListContainers(t.Context(), map[string]string{"enginetest": c.name})
	if err != nil || len(left) != 0 {
		t.Errorf("after a create without success: %d containers, error %v, want none", len(left), err)
	}
}

// keepsNothing wants /dev/nothing to be the host's /dev/null.
func (c *fixture) keepsNothing(t *testing.T, container string) {
	t.Helper()
	c.tool(t, container, "write", "/dev/nothing", "x")
	c.wantTool(t, "what was written to the device", container, "", "read", "/dev/nothing")
}

func foundByExactIDOnly(t *testing.T, c *fixture) {
	id := c.run(t, c.spec("a"))
	if found := c.inspect(t, id); found.Name != c.named("a") {
		t.Errorf("by ID: name %q, want %q", found.Name, c.named("a"))
	}
	short := id[:12]
	_, err := c.InspectContainer(t.Context(), short)
	wantKind(t, "inspect by the beginning of an ID", err, engine.ErrNotFound)
	wantKind(t, "start by the beginning of an ID", c.StartContainer(t.Context(), short), engine.ErrNotFound)
	wantKind(t, "stop by the beginning of an ID", c.StopContainer(t.Context(), short, 0), engine.ErrNotFound)
	wantNoError(t, "remove by the beginning of an ID", c.RemoveContainer(t.Context(), short))
	c.wantStatus(t, "after calls by the beginning of its ID", c.named("a"), engine.StatusRunning)
}

func inspectedFields(t *testing.T, c *fixture) {
	before := time.Now().Add(-time.Minute)
	spec := c.spec("a")
	spec.Labels["more"] = "of them"
	spec.Restart = engine.RestartUnlessStopped
	id := c.run(t, spec)
	got := c.inspect(t, spec.Name)
	img, err := c.InspectImage(t.Context(), imageName)
	succeed(t, "inspect image", err)
	if got.CreatedAt.Before(before) || got.StartedAt.Before(got.CreatedAt) {
		t.Errorf("created at %s, started at %s: not in order", got.CreatedAt, got.StartedAt)
	}
	got.CreatedAt, got.StartedAt, got.Networks, got.Ports = time.Time{}, time.Time{}, nil, nil
	want := engine.Container{
		ID: id, Name: spec.Name, Labels: got.Labels, Image: imageName, ImageID: img.ID,
		Status: engine.StatusRunning, Restart: engine.RestartUnlessStopped,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("inspect (-want +got):\n%s", diff)
	}
	for key, value := range spec.Labels {
		if got.Labels[key] != value {
			t.Errorf("label %q is %q, want %q", key, got.Labels[key], value)
		}
	}
}

func createsNameOnce(t *testing.T, c *fixture) {
	const callers = 6
	spec := c.spec("a")
	forget(t, c.RemoveContainer, spec.Name)
	ids := make([]string, callers)
	winner := c.oneWins(t, callers, engine.ConflictError{Resource: engine.ResourceName, Value: spec.Name},
		func(i int, connection engine.Engine) (err error) {
			ids[i], err = connection.CreateContainer(t.Context(), spec)
			return err
		})
	if found := c.inspect(t, spec.Name); found.ID != ids[winner] {
		t.Errorf("container %s, want the winner's, %s", found.ID, ids[winner])
	}
}
