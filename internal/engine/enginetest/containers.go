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
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func containerChecks() checks {
	return checks{
		// Creates, neither starts nor pulls, and returns the ID.
		"create": createsOnly,
		// Name taken: a ConflictError of ResourceName.
		"name taken": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			c.create(t, spec)
			wantTaken(t, "create the same name again", failure(c.CreateContainer(t.Context(), spec)),
				engine.ConflictError{Resource: engine.ResourceName, Value: spec.Name})
		},
		// Image or network absent: ErrNotFound. A value the engine refuses: ErrInvalid.
		"refused": refusesSpecs,
		// Absent: ErrNotFound; what removes or disconnects succeeds.
		"absent": reportsAbsent,
		// The container of that exact name or ID.
		"by ID": foundByExactIDOnly,
		// Container's fields.
		"inspect": inspectedFields,
		// Every object that carries all labels of the selector, ordered by name.
		"list by labels": listsByLabels,
		// Fills what Container documents as listed.
		"list fields": listsFields,
		// Of each network ListNetworks fills ID, Name, Labels, Driver, Subnets and CreatedAt.
		"list fields of networks": listsNetworkFields,
		// A label's value is compared as it is.
		"list by awkward labels": listsByAwkwardLabels,
		// Every container, running or not, however many there are, also while others go.
		"list of many": listsMany,
		// Of several that create one name, one succeeds and the others get a ConflictError.
		"name taken concurrently": createsNameOnce,
	}
}

func createsOnly(t *testing.T, c *fixture) {
	id := c.create(t, c.spec("a"))
	found := c.wantStatus(t, "after create", c.named("a"), engine.StatusCreated)
	if id == "" || found.ID != id {
		t.Errorf("ID %q, want that of create, %q", found.ID, id)
	}
	if !found.StartedAt.IsZero() || !found.FinishedAt.IsZero() {
		t.Errorf("started at %s, finished at %s, want neither", found.StartedAt, found.FinishedAt)
	}
}

func refusesSpecs(t *testing.T, c *fixture) {
	c.network(t, "net")
	missing := c.MissingHostPath(t)
	for title, test := range map[string]struct {
		change func(*engine.Spec)
		want   error
		says   []string
	}{
		"image absent":      {func(s *engine.Spec) { s.Image = "localhost/capcon/absent:v1" }, engine.ErrNotFound, nil},
		"network absent":    {func(s *engine.Spec) { s.Attachment.Network = c.named("absent") }, engine.ErrNotFound, nil},
		"name with a space": {func(s *engine.Spec) { s.Name = c.named("with a space") }, engine.ErrInvalid, nil},
		"address outside the subnet": {
			func(s *engine.Spec) { *s = c.at("a", netip.MustParseAddr("192.0.2.7")) }, engine.ErrInvalid, nil,
		},
		"IPv6 address outside the subnet": {
			func(s *engine.Spec) { *s = c.at("a", netip.MustParseAddr("fd13:7a3c:0:16::5")) }, engine.ErrInvalid, nil,
		},
		"bind source absent": {
			func(s *engine.Spec) {
				s.Mounts = []engine.Mount{{Type: engine.MountBind, Source: missing, Target: "/mnt"}}
			}, engine.ErrInvalid, []string{missing, "create it on the engine's host"},
		},
	} {
		spec := c.spec("a")
		test.change(&spec)
		forget(t, c.RemoveContainer, spec.Name)
		_, err := c.CreateContainer(t.Context(), spec)
		wantKind(t, title, err, test.want)
		for _, text := range test.says {
			if !strings.Contains(fmt.Sprint(err), text) {
				t.Errorf("%s: error %v, want %q in it", title, err, text)
			}
		}
		if left := c.listedNames(t, nil); len(left) != 0 {
			t.Errorf("%s: after a create without success: %v, want no container", title, left)
		}
	}
}

func reportsAbsent(t *testing.T, c *fixture) {
	c.network(t, "net")
	c.create(t, c.spec("a"))
	ctx, absent := t.Context(), c.named("absent")
	image := "localhost/capcon/absent:v1"
	for what, err := range map[string]error{
		"inspect":              failure(c.InspectContainer(ctx, absent)),
		"start":                c.StartContainer(ctx, absent),
		"stop":                 c.StopContainer(ctx, absent, 0),
		"download":             failure(c.Download(ctx, absent, seedFile)),
		"upload":               c.Upload(ctx, absent, bytes.NewReader(makeTar(t))),
		"exec":                 failure(c.Exec(ctx, absent, tool("exit", "0"))),
		"log":                  c.ContainerLog(ctx, absent, engine.LogRequest{}, io.Discard),
		"inspect image":        failure(c.InspectImage(ctx, image)),
		"save image":           failure(c.SaveImage(ctx, image)),
		"inspect network":      failure(c.InspectNetwork(ctx, absent)),
		"inspect volume":       failure(c.InspectVolume(ctx, absent)),
		"connect to a network": c.ConnectNetwork(ctx, absent, c.named("a"), engine.Attachment{}),
		"connect a container":  c.ConnectNetwork(ctx, c.named("net"), absent, engine.Attachment{}),
	} {
		wantKind(t, what, err, engine.ErrNotFound)
	}
	for what, err := range map[string]error{
		"remove":                    c.RemoveContainer(ctx, absent),
		"remove network":            c.RemoveNetwork(ctx, absent),
		"remove volume":             c.RemoveVolume(ctx, absent),
		"disconnect from a network": c.DisconnectNetwork(ctx, absent, c.named("a")),
		"disconnect a container":    c.DisconnectNetwork(ctx, c.named("net"), absent),
	} {
		wantNoError(t, what, err)
	}
}

func foundByExactIDOnly(t *testing.T, c *fixture) {
	id := c.run(t, c.spec("a"))
	if found := c.inspect(t, id); found.Name != c.named("a") {
		t.Errorf("by ID: name %q, want %q", found.Name, c.named("a"))
	}
	short := id[:12]
	wantKind(t, "inspect by the beginning of an ID", failure(c.InspectContainer(t.Context(), short)), engine.ErrNotFound)
	wantKind(t, "start by the beginning of an ID", c.StartContainer(t.Context(), short), engine.ErrNotFound)
	wantKind(t, "stop by the beginning of an ID", c.StopContainer(t.Context(), short, 0), engine.ErrNotFound)
	c.remove(t, short)
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
