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
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// listsByLabels does so with containers, networks and volumes.
func listsByLabels(t *testing.T, c *fixture) {
	ctx := t.Context()
	for i, suffix := range []string{"c", "a", "b", "d"} {
		labels := []map[string]string{{"color": "red"}, {"color": "red", "size": "small"}, {"color": "blue"}, {}}[i]
		maps.Copy(labels, c.own())
		spec := c.spec(suffix)
		spec.Labels = labels
		c.create(t, spec)
		forget(t, c.RemoveNetwork, spec.Name)
		succeed(t, "create network", failure(c.CreateNetwork(ctx, engine.NetworkSpec{
			Name: spec.Name, Labels: labels, Subnets: subnetsOf(c.subnet(fmt.Sprintf("198.18.60.%d/29", 8*i))),
		})))
		forget(t, c.RemoveVolume, spec.Name)
		succeed(t, "create volume", c.CreateVolume(ctx, spec.Name, labels))
	}
	c.start(t, c.named("c"))
	for title, test := range map[string]struct {
		selector map[string]string
		want     []string
	}{
		"one label":         {nil, []string{"a", "b", "c", "d"}},
		"a key alone":       {map[string]string{"color": ""}, []string{"a", "b", "c"}},
		"key and value":     {map[string]string{"color": "red"}, []string{"a", "c"}},
		"two labels":        {map[string]string{"color": "red", "size": ""}, []string{"a"}},
		"none of the value": {map[string]string{"color": "green"}, nil},
	} {
		var want []string
		for _, suffix := range test.want {
			want = append(want, c.named(suffix))
		}
		selector := c.own()
		maps.Copy(selector, test.selector)
		networks, networksErr := c.ListNetworks(ctx, selector)
		volumes, volumesErr := c.ListVolumes(ctx, selector)
		wantNoError(t, title+": list networks", networksErr)
		wantNoError(t, title+": list volumes", volumesErr)
		for kind, got := range map[string][]string{
			"containers": c.listedNames(t, test.selector),
			"networks":   names(networks, func(n engine.Network) string { return n.Name }),
			"volumes":    names(volumes, func(v engine.Volume) string { return v.Name }),
		} {
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", title, kind, diff)
			}
		}
		for _, volume := range volumes {
			if volume.Labels["enginetest"] != c.name || volume.CreatedAt.IsZero() {
				t.Errorf("%s: volume %+v, want labels and when it was created", title, volume)
			}
		}
	}
}

// names of what is listed; nil where the list is empty.
func names[T any](listed []T, name func(T) string) []string {
	var out []string
	for _, one := range listed {
		out = append(out, name(one))
	}
	return out
}

func listsFields(t *testing.T, c *fixture) {
	network := c.network(t, "net")
	spec := c.at("a")
	spec.Ports = []engine.PortBinding{{ContainerPort: 80, HostAddress: localhost, HostPort: c.FreePort(t)}}
	c.run(t, spec)
	full := c.inspect(t, spec.Name)
	found, err := c.ListContainers(t.Context(), c.own())
	if err != nil || len(found) != 1 {
		t.Fatalf("list: %d containers, %v, want one", len(found), err)
	}
	got := found[0]
	want := engine.Container{
		ID: full.ID, Name: full.Name, Labels: full.Labels, Image: full.Image, ImageID: full.ImageID,
		Status: full.Status, Networks: map[string]engine.Endpoint{network.Name: {}},
		CreatedAt: got.CreatedAt, StartedAt: got.StartedAt, Restart: got.Restart,
	}
	if diff := gocmp.Diff(want, got, addressComparer()); diff != "" {
		t.Errorf("listed against inspected (-want +got):\n%s", diff)
	}
	if got.CreatedAt.Sub(full.CreatedAt).Abs() > time.Second {
		t.Errorf("created at %s, want %s to the second", got.CreatedAt, full.CreatedAt)
	}
}

func listsNetworkFields(t *testing.T, c *fixture) {
	want := c.network(t, "net")
	found, err := c.ListNetworks(t.Context(), c.own())
	if err != nil || len(found) != 1 {
		t.Fatalf("networks %+v, %v, want one", found, err)
	}
	got := found[0]
	if got.ID != want.ID || got.Name != want.Name || got.Driver != want.Driver || got.CreatedAt.IsZero() ||
		!got.CreatedAt.Equal(want.CreatedAt) || got.Labels["enginetest"] != c.name || got.Subnets[0].Prefix != want.Subnets[0].Prefix {
		t.Errorf("network %+v, want what was created: %+v", got, want)
	}
}

// readsInOneRequest counts requests with two containers on a network and with
// ten.
func readsInOneRequest(t *testing.T, c *fixture) {
	if c.Requests == nil {
		t.Skip("this engine sends no requests")
	}
	network := c.network(t, "net")
	for count := range 10 {
		c.run(t, c.at(strconv.Itoa(count)))
		if count != 1 && count != 9 {
			continue
		}
		for what, read := range map[string]func() error{
			"list containers": func() error {
				found, err := c.ListContainers(t.Context(), c.own())
				if len(found) != count+1 {
					t.Errorf("%d containers are listed, want %d", len(found), count+1)
				}
				return err
			},
			"inspect network": func() error { return failure(c.InspectNetwork(t.Context(), network.Name)) },
		} {
			before := c.Requests()
			succeed(t, what, read())
			if requests := c.Requests() - before; requests != 1 {
				t.Errorf("%s, with %d containers: %d requests", what, count+1, requests)
			}
		}
	}
}

// listSize is how many containers the longest list has: LIST_SIZE in the
// environment, or what a host with a few dozen clusters has.
func listSize(t *testing.T) int {
	t.Helper()
	size, err := strconv.Atoi(cmp.Or(os.Getenv("LIST_SIZE"), "200"))
	succeed(t, "LIST_SIZE", err)
	return size
}

const (
	// concurrency is how many containers are created and removed concurrently.
	concurrency = 8
	// runningEvery so many of the longest list runs: an engine may have to look at
	// those one by one.
	runningEvery = 10
)

func listsMany(t *testing.T, c *fixture) {
	count := listSize(t)
	names := make([]string, count)
	for i := range count {
		names[i] = c.named(fmt.Sprintf("%04d", i))
	}
	t.Cleanup(func() {
		tidy := context.WithoutCancel(t.Context())
		inParallel(names, func(name string) { wantNoError(t, "tidy up", c.RemoveContainer(tidy, name)) })
	})
	inParallel(names, func(name string) {
		spec := c.spec("")
		spec.Name = name
		wantNoError(t, "create", failure(c.CreateContainer(t.Context(), spec)))
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
	start := time.Now()
	got := c.listedNames(t, nil)
	t.Logf("listing %d containers, %d of which run, took %s", len(got), len(running), time.Since(start))
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
		got := c.listedNames(t, nil)
		if going {
			got = slices.DeleteFunc(got, func(name string) bool { return slices.Contains(leaving, name) })
		}
		if diff := gocmp.Diff(stay, got); diff != "" {
			t.Fatalf("listed while others go (-want +got):\n%s", diff)
		}
	}
}

// listedNames of the containers of this case that have these labels.
func (c *fixture) listedNames(t *testing.T, labels map[string]string) []string {
	t.Helper()
	selector := c.own()
	maps.Copy(selector, labels)
	found, err := c.ListContainers(t.Context(), selector)
	succeed(t, fmt.Sprintf("list by %v", labels), err)
	if found == nil {
		t.Errorf("list by %v: nil, want a list", labels)
	}
	return names(found, func(c engine.Container) string { return c.Name })
}

func inParallel(names []string, do func(name string)) {
	adapter.Each(len(names), concurrency, func(i int) { do(names[i]) })
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
		want := []string{c.named(fmt.Sprint(i))}
		if diff := gocmp.Diff(want, c.listedNames(t, map[string]string{"example.com/key": value})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", value, diff)
		}
		if got := c.inspect(t, want[0]).Labels["example.com/key"]; got != value {
			t.Errorf("label %q, want %q", got, value)
		}
	}
}
