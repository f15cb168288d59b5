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
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
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
			contract: "A value the engine refuses: ErrInvalid",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Mounts = []engine.Mount{{Type: engine.MountBind, Source: c.MissingHostPath(t), Target: "/mnt"}}
				c.wantNotCreated(t, spec, engine.ErrInvalid)
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
		"list by awkward labels": {
			contract: "a label's value is compared as it is",
			run:      listsByAwkwardLabels,
		},
		"list of many": {
			contract: "every container, running or not, however many there are, also while others go",
			run:      listsMany,
		},
		"name taken at once": {
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
	c.forget(t, spec.Name)
	_, err := c.CreateContainer(t.Context(), spec)
	wantKind(t, "create", err, kind)
	left, err := c.ListContainers(t.Context(), map[string]string{"enginetest": c.name})
	if err != nil || len(left) != 0 {
		t.Errorf("after a create without success: %d containers, error %v, want none", len(left), err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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

func listsByLabels(t *testing.T, c *fixture) {
	for suffix, extra := range map[string]map[string]string{
		"c": {"color": "red"}, "a": {"color": "red", "size": "small"}, "b": {"color": "blue"}, "d": nil,
	} {
		spec := c.spec(suffix)
		maps.Copy(spec.Labels, extra)
		c.create(t, spec)
	}
	c.start(t, c.named("c"))
	cases := map[string]struct {
		selector map[string]string
		want     []string
	}{
		"one label":         {nil, []string{"a", "b", "c", "d"}},
		"a key alone":       {map[string]string{"color": ""}, []string{"a", "b", "c"}},
		"key and value":     {map[string]string{"color": "red"}, []string{"a", "c"}},
		"two labels":        {map[string]string{"color": "red", "size": ""}, []string{"a"}},
		"none of the value": {map[string]string{"color": "green"}, nil},
	}
	for title, test := range cases {
		selector := map[string]string{"enginetest": c.name}
		maps.Copy(selector, test.selector)
		found, err := c.ListContainers(t.Context(), selector)
		if err != nil {
			t.Fatalf("%s: %v", title, err)
		}
		if found == nil {
			t.Errorf("%s: nil, want a list", title)
		}
		var got, want []string
		for _, one := range found {
			got = append(got, one.Name)
		}
		for _, suffix := range test.want {
			want = append(want, c.named(suffix))
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
	}
}

func listsFields(t *testing.T, c *fixture) {
	network := c.network(t, "net")
	spec := c.spec("a")
	spec.Attachment.Network = network.Name
	spec.Ports = []engine.PortBinding{{ContainerPort: 80, HostAddress: localhost, HostPort: c.FreePort(t)}}
	c.run(t, spec)
	full := c.inspect(t, spec.Name)
	found, err := c.ListContainers(t.Context(), map[string]string{"enginetest": c.name})
	if err != nil || len(found) != 1 {
		t.Fatalf("list: %d containers, %v, want one", len(found), err)
	}
	got := found[0]
	want := engine.Container{
		ID: full.ID, Name: full.Name, Labels: full.Labels, Image: full.Image, ImageID: full.ImageID,
		Status: full.Status, Networks: full.Networks, Ports: full.Ports,
		CreatedAt: got.CreatedAt, StartedAt: got.StartedAt, Restart: got.Restart,
	}
	if diff := gocmp.Diff(want, got, addressComparer()); diff != "" {
		t.Errorf("listed against inspected (-want +got):\n%s", diff)
	}
	if got.CreatedAt.Sub(full.CreatedAt).Abs() > time.Second {
		t.Errorf("created at %s, want %s to the second", got.CreatedAt, full.CreatedAt)
	}
	if len(got.Networks[network.Name].Addresses) == 0 {
		t.Errorf("no address on network %q: %v", network.Name, got.Networks)
	}
}

// listSize is how many containers the longest list has: LIST_SIZE in the
// environment, or what a host with a few dozen clusters has.
func listSize(t *testing.T) int {
	t.Helper()
	text := cmp.Or(os.Getenv("LIST_SIZE"), "200")
	size, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("LIST_SIZE: %v", err)
	}
	return size
}

// hands is how many containers are created and removed at once.
const hands = 8

// runningEvery so many of the longest list runs: an engine may have to look at
// those one by one.
const runningEvery = 10

func listsMany(t *testing.T, c *fixture) {
	count := listSize(t)
	names := make([]string, count)
	for i := range count {
		names[i] = c.named(fmt.Sprintf("%04d", i))
	}
	t.Cleanup(func() {
		inParallel(names, func(name string) {
			if err := c.RemoveContainer(background(t), name); err != nil {
				t.Errorf("tidy up: %v", err)
			}
		})
	})
	inParallel(names, func(name string) {
		spec := c.spec("")
		spec.Name = name
		if _, err := c.CreateContainer(t.Context(), spec); err != nil {
			t.Errorf("create: %v", err)
		}
	})
	var running, stay []string
	for i, name := range names {
		if i%runningEvery == 0 {
			running = append(running, name)
		} else {
			stay = append(stay, name)
		}
	}
	inParallel(running, func(name string) { wantNoError(t, "start", c.StartContainer(t.Context(), name)) })
	began := time.Now()
	got := c.listedNames(t)
	t.Logf("listing %d containers, %d of which run, took %s", len(got), len(running), time.Since(began))
	if diff := gocmp.Diff(names, got); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}

	// Half of those that run go; one that goes may be listed or not.
	leaving := running[:len(running)/2]
	stay = append(stay, running[len(leaving):]...)
	slices.Sort(stay)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		inParallel(leaving, func(name string) { wantNoError(t, "remove", c.RemoveContainer(t.Context(), name)) })
	}()
	defer func() { <-gone }()
	for going := true; going; {
		select {
		case <-gone:
			going = false
		default:
		}
		got := c.listedNames(t)
		if going {
			got = slices.DeleteFunc(got, func(name string) bool { return slices.Contains(leaving, name) })
		}
		if diff := gocmp.Diff(stay, got); diff != "" {
			t.Fatalf("listed while others go (-want +got):\n%s", diff)
		}
	}
}

// listedNames of the containers of this case.
func (c *fixture) listedNames(t *testing.T) []string {
	t.Helper()
	found, err := c.ListContainers(t.Context(), map[string]string{"enginetest": c.name})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range found {
		names = append(names, one.Name)
	}
	return names
}

func inParallel(names []string, do func(name string)) {
	queue := make(chan string)
	var group sync.WaitGroup
	for range hands {
		group.Go(func() {
			for name := range queue {
				do(name)
			}
		})
	}
	for _, name := range names {
		queue <- name
	}
	close(queue)
	group.Wait()
}

// listsByAwkwardLabels has values that an engine's filter could take for more
// than they are.
func listsByAwkwardLabels(t *testing.T, c *fixture) {
	values := []string{"a=b", "a,b", "*", "a*", "a.*", "a b", `"quoted"`, "ünïcode", "plain"}
	for i, value := range values {
		spec := c.spec(fmt.Sprint(i))
		spec.Labels["example.com/key"] = value
		c.create(t, spec)
	}
	for i, value := range values {
		found, err := c.ListContainers(t.Context(), map[string]string{"enginetest": c.name, "example.com/key": value})
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		if len(found) != 1 || found[0].Name != c.named(fmt.Sprint(i)) || found[0].Labels["example.com/key"] != value {
			t.Errorf("%q: %d containers %v, want the one with that value", value, len(found), found)
		}
	}
}

func createsNameOnce(t *testing.T, c *fixture) {
	const callers = 6
	spec := c.spec("a")
	c.forget(t, spec.Name)
	other := c.Connect(t)
	ids, errs := make([]string, callers), make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		connection := c.Engine
		if i%2 == 1 {
			connection = other
		}
		group.Go(func() { ids[i], errs[i] = connection.CreateContainer(t.Context(), spec) })
	}
	group.Wait()
	var winners []string
	for i, err := range errs {
		if err != nil {
			wantTaken(t, "create at once", err, engine.ResourceName, spec.Name)
			continue
		}
		winners = append(winners, ids[i])
	}
	if len(winners) != 1 || c.inspect(t, spec.Name).ID != winners[0] {
		t.Errorf("callers that created the container: %v, want one, and that it is this one", winners)
	}
}
