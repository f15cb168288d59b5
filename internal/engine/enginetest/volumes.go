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
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func volumeChecks() checks {
	return checks{
		// Create succeeds if one of the name exists, its labels left.
		"create, remove": createsAndRemovesVolume,
		// RemoveContainer removes anonymous volumes; named volumes stay.
		"anonymous": removesAnonymousVolumes,
		// In use: ErrConflict, also by a container that does not run.
		"in use": func(t *testing.T, c *fixture) {
			spec := c.mounting(t, "a", "/mnt")
			c.create(t, spec)
			wantKind(t, "used by a container that never ran", c.RemoveVolume(t.Context(), c.named("vol")), engine.ErrConflict)
			c.start(t, spec.Name)
			wantKind(t, "used by a running container", c.RemoveVolume(t.Context(), c.named("vol")), engine.ErrConflict)
		},
		// A new volume starts with the image's content at the target; one with content keeps it.
		"image content": func(t *testing.T, c *fixture) {
			first, second := c.mounting(t, "first", "/data"), c.mounting(t, "second", "/data")
			c.run(t, first)
			c.wantTool(t, "a new volume has the image's content", first.Name, seedContent, "read", seedFile)
			c.tool(t, first.Name, "write", seedFile, "changed")
			c.remove(t, first.Name)
			c.run(t, second)
			c.wantTool(t, "a volume with content keeps it", second.Name, "changed", "read", seedFile)
		},
		// MountTmpfs is memory, empty at each start.
		"tmpfs": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.Mounts = []engine.Mount{{Type: engine.MountTmpfs, Target: "/memory"}}
			c.run(t, spec)
			c.tool(t, spec.Name, "write", "/memory/file", "content")
			c.stop(t, spec.Name)
			c.start(t, spec.Name)
			c.wantToolFails(t, "a file in a tmpfs after a stop", spec.Name, "read", "/memory/file")
		},
		// MountBind makes a path of the engine's host visible; ReadOnly.
		"bind": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.Mounts = []engine.Mount{{
				Type: engine.MountBind, Source: c.HostDirectory(t, "file", "of the host"), Target: "/host", ReadOnly: true,
			}}
			c.run(t, spec)
			c.wantTool(t, "what the host has", spec.Name, "of the host", "read", "/host/file")
			if c.Processes {
				c.wantToolFails(t, "write to a read-only mount", spec.Name, "write", "/host/file", "y")
			}
		},
	}
}

// showsPropagation of a shared mount of the host, which takes root to make.
func showsPropagation(t *testing.T, c *fixture) {
	shared := c.HostDirectory(t, "file", "")
	for _, args := range [][]string{{"--bind", shared, shared}, {"--make-shared", shared}} {
		if output, err := exec.CommandContext(t.Context(), "mount", args...).CombinedOutput(); err != nil {
			t.Skipf("mount %v: %v, %s", args, err, output)
		}
		t.Cleanup(func() { _ = exec.CommandContext(context.WithoutCancel(t.Context()), "umount", "--lazy", shared).Run() })
	}
	for propagation, want := range map[engine.Propagation]string{
		engine.PropagationPrivate: "", engine.PropagationSlave: " master:", engine.PropagationShared: " shared:",
	} {
		spec := c.spec("propagation" + string(propagation))
		spec.Mounts = []engine.Mount{{Type: engine.MountBind, Source: shared, Target: "/host", Propagation: propagation}}
		c.run(t, spec)
		mounts := strings.Split(c.tool(t, spec.Name, "read", "/proc/self/mountinfo"), "\n")
		at := slices.IndexFunc(mounts, func(line string) bool { return strings.Contains(line, " /host ") })
		if at < 0 {
			t.Fatalf("/host is not mounted: %q", mounts)
		}
		isPrivate := !strings.Contains(mounts[at], " master:") && !strings.Contains(mounts[at], " shared:")
		if isPrivate != (want == "") || !strings.Contains(mounts[at], want) {
			t.Errorf("propagation %q: %q, want %q", propagation, mounts[at], want)
		}
	}
}

// mounting is the spec of a container with the case's named volume.
func (c *fixture) mounting(t *testing.T, suffix, target string) engine.Spec {
	t.Helper()
	forget(t, c.RemoveVolume, c.named("vol"))
	spec := c.spec(suffix)
	spec.Mounts = []engine.Mount{{Type: engine.MountVolume, Source: c.named("vol"), Target: target}}
	return spec
}

func createsAndRemovesVolume(t *testing.T, c *fixture) {
	ctx, name := t.Context(), c.named("vol")
	forget(t, c.RemoveVolume, name)
	wantNoError(t, "create", c.CreateVolume(ctx, name, map[string]string{"first": "yes"}))
	wantNoError(t, "create again", c.CreateVolume(ctx, name, map[string]string{"second": "yes"}))
	found, err := c.InspectVolume(ctx, name)
	succeed(t, "inspect volume", err)
	if found.Name != name || found.Labels["first"] != "yes" || found.Labels["second"] != "" {
		t.Errorf("volume %+v, want its name and the labels it was created with first", found)
	}
	wantNoError(t, "remove", c.RemoveVolume(ctx, name))
	wantKind(t, "inspect what is removed", failure(c.InspectVolume(ctx, name)), engine.ErrNotFound)
}

func removesAnonymousVolumes(t *testing.T, c *fixture) {
	spec := c.mounting(t, "a", "/named")
	spec.Mounts = append(spec.Mounts, engine.Mount{Type: engine.MountVolume, Target: "/anonymous"})
	c.run(t, spec)
	volumes := c.VolumesOf(t, spec.Name)
	if len(volumes) != 2 || !slices.Contains(volumes, c.named("vol")) {
		t.Fatalf("volumes %v, want an anonymous one and %s", volumes, c.named("vol"))
	}
	c.remove(t, spec.Name)
	for _, volume := range volumes {
		var want error
		if volume != c.named("vol") {
			want = engine.ErrNotFound
		}
		wantKind(t, "inspect volume "+volume, failure(c.InspectVolume(t.Context(), volume)), want)
	}
}
