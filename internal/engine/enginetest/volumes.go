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
	"slices"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func volumeChecks() map[string]check {
	return map[string]check{
		"create, remove": {
			contract: "create succeeds if one of the name exists, its labels left; remove succeeds if absent",
			run:      createsAndRemovesVolume,
		},
		"list": {
			contract: "ListVolumes returns every volume that carries all labels, ordered by name",
			run:      listsVolumes,
		},
		"anonymous": {
			contract: "RemoveContainer removes anonymous volumes; named volumes stay",
			run:      removesAnonymousVolumes,
		},
		"in use": {
			contract: "In use: ErrConflict, also by a container that does not run",
			run: func(t *testing.T, c *fixture) {
				forget(t, c.RemoveVolume, c.named("vol"))
				spec := c.spec("a")
				spec.Mounts = []engine.Mount{{Type: engine.MountVolume, Source: c.named("vol"), Target: "/mnt"}}
				c.create(t, spec)
				wantKind(t, "used by a container that never ran", c.RemoveVolume(t.Context(), c.named("vol")), engine.ErrConflict)
				c.start(t, spec.Name)
				wantKind(t, "used by a running container", c.RemoveVolume(t.Context(), c.named("vol")), engine.ErrConflict)
			},
		},
		"image content": {
			contract: "A new volume starts with the image's content at the target; one with content keeps it",
			run:      copiesImageContent,
		},
		"tmpfs": {
			contract: "MountTmpfs is memory, empty at each start",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Mounts = []engine.Mount{{Type: engine.MountTmpfs, Target: "/memory"}}
				c.run(t, spec)
				c.tool(t, spec.Name, "write", "/memory/file", "content")
				c.stop(t, spec.Name)
				c.start(t, spec.Name)
				_, err := c.Exec(t.Context(), spec.Name, engine.Command{Args: []string{"/tool", "read", "/memory/file"}})
				if err == nil {
					t.Error("a file in a tmpfs outlived a stop")
				}
			},
		},
		"bind": {
			contract: "MountBind makes a path of the engine's host visible",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Mounts = []engine.Mount{{
					Type: engine.MountBind, Source: c.HostDirectory(t, "file", "of the host"), Target: "/host", ReadOnly: true,
				}}
				c.run(t, spec)
				c.wantTool(t, "what the host has", spec.Name, "of the host", "read", "/host/file")
			},
		},
	}
}

func createsAndRemovesVolume(t *testing.T, c *fixture) {
	ctx, name := t.Context(), c.named("vol")
	forget(t, c.RemoveVolume, name)
	_, err := c.InspectVolume(ctx, name)
	wantKind(t, "inspect what is absent", err, engine.ErrNotFound)
	wantNoError(t, "create", c.CreateVolume(ctx, name, map[string]string{"first": "yes"}))
	wantNoError(t, "create again", c.CreateVolume(ctx, name, map[string]string{"second": "yes"}))
	found, err := c.InspectVolume(ctx, name)
	succeed(t, "inspect volume", err)
	if found.Name != name || found.Labels["first"] != "yes" || found.Labels["second"] != "" {
		t.Errorf("volume %+v, want its name and the labels it was created with first", found)
	}
	wantNoError(t, "remove", c.RemoveVolume(ctx, name))
	wantNoError(t, "remove again", c.RemoveVolume(ctx, name))
}

func listsVolumes(t *testing.T, c *fixture) {
	ctx := t.Context()
	for name, labels := range map[string]map[string]string{
		"b": {"of": c.name, "kind": "x"}, "a": {"of": c.name, "kind": "x"}, "c": {"of": c.name, "kind": "y"}, "d": {"of": "another", "kind": "x"},
	} {
		forget(t, c.RemoveVolume, c.named(name))
		wantNoError(t, "create", c.CreateVolume(ctx, c.named(name), labels))
	}
	for title, test := range map[string]struct {
		selector map[string]string
		want     []string
	}{
		"both":     {map[string]string{"of": c.name, "kind": "x"}, []string{c.named("a"), c.named("b")}},
		"a key":    {map[string]string{"of": c.name, "kind": ""}, []string{c.named("a"), c.named("b"), c.named("c")}},
		"no match": {map[string]string{"of": c.name, "absent": ""}, nil},
	} {
		found, err := c.ListVolumes(ctx, test.selector)
		wantNoError(t, title, err)
		var names []string
		for _, volume := range found {
			names = append(names, volume.Name)
			if volume.Labels["of"] != c.name || volume.CreatedAt.IsZero() {
				t.Errorf("%s: volume %+v, want labels and when it was created", title, volume)
			}
		}
		if !slices.Equal(names, test.want) {
			t.Errorf("%s: volumes %v, want %v", title, names, test.want)
		}
	}
}

func removesAnonymousVolumes(t *testing.T, c *fixture) {
	ctx := t.Context()
	forget(t, c.RemoveVolume, c.named("vol"))
	spec := c.spec("a")
	spec.Mounts = []engine.Mount{
		{Type: engine.MountVolume, Target: "/anonymous"},
		{Type: engine.MountVolume, Source: c.named("vol"), Target: "/named"},
	}
	c.run(t, spec)
	volumes := c.VolumesOf(t, spec.Name)
	if len(volumes) != 2 || !slices.Contains(volumes, c.named("vol")) {
		t.Fatalf("volumes %v, want an anonymous one and %s", volumes, c.named("vol"))
	}
	wantNoError(t, "remove", c.RemoveContainer(ctx, spec.Name))
	for _, volume := range volumes {
		_, err := c.InspectVolume(ctx, volume)
		if volume == c.named("vol") {
			wantNoError(t, "the named volume", err)
		} else {
			wantKind(t, "the anonymous volume", err, engine.ErrNotFound)
		}
	}
}

func copiesImageContent(t *testing.T, c *fixture) {
	forget(t, c.RemoveVolume, c.named("vol"))
	spec := c.spec("first")
	spec.Mounts = []engine.Mount{{Type: engine.MountVolume, Source: c.named("vol"), Target: "/data"}}
	c.run(t, spec)
	c.wantTool(t, "a new volume has the image's content", spec.Name, seedContent, "read", seedFile)
	c.tool(t, spec.Name, "write", seedFile, "changed")
	wantNoError(t, "remove", c.RemoveContainer(t.Context(), spec.Name))

	spec.Name = c.named("second")
	c.run(t, spec)
	c.wantTool(t, "a volume with content keeps it", spec.Name, "changed", "read", seedFile)
}
