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

package clustervolume_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedvolumes"
)

const volume = "pvc-1"

// cluster has three nodes, a to c, and one PersistentVolume.
type cluster struct {
	*simulatedvolumes.Disk
	t      *testing.T
	engine *simulated.Engine
	nodes  clustervolume.Nodes
	// blocked is what the last Settle said.
	blocked []clustervolume.Decision
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	e := simulated.New()
	e.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
	c := &cluster{Disk: simulatedvolumes.New(e), t: t, engine: e}
	e.HandleExec(c.Handle)
	owner := builders.Owner()
	for _, name := range []string{"a", "b", "c"} {
		must.Get(e.CreateContainer(t.Context(), engine.Spec{
			Name: name, Image: builders.NodeImage, Labels: owner.ContainerLabels(identity.RoleWorker, name), Restart: engine.RestartAlways,
		}))(t)
		must.Succeed(t, e.StartContainer(t.Context(), name))
	}
	c.nodes = clustervolume.Nodes{Engine: e, List: func(ctx context.Context) ([]engine.Container, error) { return e.ListContainers(ctx, owner.Labels()) }}
	must.Succeed(t, clustervolume.Create(t.Context(), e, "a", volume))
	return c
}

// LoseStatus, Revive and RestartEngine implement faults.World.
func (c *cluster) LoseStatus()    {}
func (c *cluster) Revive()        {}
func (c *cluster) RestartEngine() { c.engine.RestartEngine() }

// settle for Pods on these nodes.
func (c *cluster) settle(containers ...string) {
	c.t.Helper()
	uses := []clustervolume.Use{{Volume: volume, Containers: containers}}
	if len(containers) == 0 {
		uses = nil
	}
	if _, blocked, err := c.nodes.Settle(c.t.Context(), uses); err == nil {
		c.blocked = blocked
	}
}

// run a Pod on a node that has the PersistentVolume bound.
func (c *cluster) run(container string) {
	c.t.Helper()
	c.settle(container)
	if !c.Mount(container, volume) {
		c.t.Fatalf("%s is not bound in %s: %+v", volume, container, c.blocked)
	}
}

func (c *cluster) expect(reason string, want ...string) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.Bound(volume)); diff != "" {
		c.t.Errorf("%s\nnodes with the PersistentVolume (-want +got):\n%s\nblocked: %+v", reason, diff, c.blocked)
	}
	if violations := c.Violations(); len(violations) > 0 {
		c.t.Errorf("%s\ntwo writers: %q", reason, violations)
	}
}

// TestOwner: a PersistentVolume goes to another node only if the one that has it is proven not
// to have it mounted.
func TestOwner(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		// change the cluster, in which a Pod on a has the PersistentVolume.
		change func(*cluster)
		// users are the nodes with Pods after that.
		users   []string
		want    []string
		blocked string
	}{
		"Stays":      {reason: "The Pod runs.", users: []string{"a"}, want: []string{"a"}},
		"OtherWaits": {reason: "Of two Pods, the one that has it keeps it.", users: []string{"b", "a"}, want: []string{"a"}},
		"Ended": {
			reason: "No Pod uses it on a any more.", change: func(c *cluster) { c.Unmount("a", volume) }, users: []string{"b"}, want: []string{"b"},
		},
		"EndedAndNotNeeded": {
			reason: "No other node needs it.", change: func(c *cluster) { c.Unmount("a", volume) }, want: []string{"a"},
		},
		"KubeletStopped": {
			reason: "The Pod object was deleted by force, and its processes run.", users: []string{"b"}, want: []string{"a"},
			blocked: "has it mounted at /var/lib/kubelet/pods/pvc-1",
		},
		"Paused": {
			reason: "What a paused node has mounted is not known, and it writes again when it is resumed.",
			change: func(c *cluster) { must.Succeed(c.t, c.engine.Pause("a")) }, users: []string{"b"}, want: []string{"a"},
			blocked: "may have it mounted, and is paused",
		},
		"DoesNotRespond": {
			reason: "Nor what one has in which no command runs.",
			change: func(c *cluster) {
				c.Before = func(container, _ string) error {
					if container == "a" {
						return engine.ErrUnavailable
					}
					return nil
				}
			},
			users: []string{"b"}, want: []string{"a"}, blocked: "may have it mounted, and does not respond",
		},
		"AnotherIsPaused": {
			reason: "A node that is not the one that has it does not matter.",
			change: func(c *cluster) { c.Unmount("a", volume); must.Succeed(c.t, c.engine.Pause("c")) }, users: []string{"b"}, want: []string{"b"},
		},
		"Killed": {
			reason: "Nothing runs in a container that has ended.",
			change: func(c *cluster) { must.Succeed(c.t, c.engine.KillContainer("a", 137, false)) }, users: []string{"a", "b"}, want: []string{"b"},
		},
		"Removed": {
			reason: "Nor in one that does not exist.",
			change: func(c *cluster) { must.Succeed(c.t, c.engine.RemoveContainer(c.t.Context(), "a")) }, users: []string{"b"}, want: []string{"b"},
		},
		"Restarted": {
			reason: "Mounts end with a container, and the Pod is still on it.",
			change: func(c *cluster) { must.Succeed(c.t, c.engine.CrashContainer("a", 1, false)) }, users: []string{"a"}, want: []string{"a"},
		},
		"RestartedAndMoved": {
			reason: "It has no mounts then.",
			change: func(c *cluster) { must.Succeed(c.t, c.engine.CrashContainer("a", 1, false)) }, users: []string{"b"}, want: []string{"b"},
		},
		"Older": {
			reason: "A node without the volume cannot have it.", change: func(c *cluster) { c.Unmount("a", volume); c.Older["b"] = true },
			users: []string{"b"}, want: []string{"a"}, blocked: "without the volume of the cluster",
		},
		"RemovedByHand": {
			reason: "There is no empty directory in its place.",
			change: func(c *cluster) {
				c.Unmount("a", volume)
				released := must.Get(c.nodes.Release(c.t.Context(), volume))(c.t)
				must.Succeed(c.t, clustervolume.RemoveDirectory(c.t.Context(), c.engine, "c", volume, released.Token))
			},
			users: []string{"b"}, blocked: "does not exist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.run("a")
			if tc.change != nil {
				tc.change(c)
			}
			for range 2 {
				c.settle(tc.users...)
			}
			c.expect(tc.reason, tc.want...)
			text := fmt.Sprint(c.blocked)
			if len(c.blocked) > 0 != (tc.blocked != "") || !strings.Contains(text, tc.blocked) {
				t.Errorf("%s\nblocked: %s, want %q", tc.reason, text, tc.blocked)
			}
		})
	}
}

// TestShared: a PersistentVolume that nodes share is bound into each that uses it.
func TestShared(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.Share(volume)
	for range 2 {
		_, blocked, err := c.nodes.Settle(t.Context(), []clustervolume.Use{{Volume: volume, Shared: true, Containers: []string{"a", "c"}}})
		if err != nil || len(blocked) > 0 {
			t.Errorf("Settle: %+v, %v", blocked, err)
		}
	}
	c.expect("Both have it.", "a", "c")
}

// TestFaults: whichever command fails, loses its answer or sees the manager killed, one node at
// most has the PersistentVolume, and the one that needs it gets it.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*cluster)
		users  []string
		want   string
	}{
		"First":     {users: []string{"b"}, want: "b"},
		"Move":      {change: func(c *cluster) { c.run("a"); c.Unmount("a", volume) }, users: []string{"b"}, want: "b"},
		"Killed":    {change: func(c *cluster) { c.run("a"); must.Succeed(c.t, c.engine.KillContainer("a", 137, false)) }, users: []string{"b"}, want: "b"},
		"Restarted": {change: func(c *cluster) { c.run("a"); must.Succeed(c.t, c.engine.CrashContainer("a", 1, false)) }, users: []string{"a"}, want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults.Each(t, func(f faults.Fault) bool { return f.Kind != faults.Forgotten }, func(t *testing.T, f faults.Fault) *faults.Injector {
				t.Helper()
				c := newCluster(t)
				if tc.change != nil {
					tc.change(c)
				}
				injector := f.Arm(c)
				injector.Engine(c.engine)
				if !injector.Settle(func() []string { return append(c.Bound(volume), c.Violations()...) }, func() { c.settle(tc.users...) }) {
					t.Fatal("the work does not end")
				}
				c.expect("One node has it.", tc.want)
				return injector
			})
		})
	}
}

// TestStalledManager: a manager that is stopped before any of its commands, while another one
// moves the PersistentVolume, does not bind it a second time when it continues.
func TestStalledManager(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"", "a", "b"} {
		for stalled := 1; stalled < 30; stalled++ {
			c := newCluster(t)
			if start != "" {
				c.run(start)
				c.Unmount(start, volume)
			}
			commands, isStalled := 0, false
			c.Before = func(_, operation string) error {
				if isStalled {
					return nil
				}
				if commands++; commands == stalled {
					isStalled = true
					c.settle("c")
					if c.Mount("c", volume) && operation == clustervolume.OperationObserve {
						return nil
					}
				}
				return nil
			}
			c.settle("b")
			if violations := c.Violations(); len(violations) > 0 {
				t.Errorf("from %q, stalled before command %d: two writers: %q", start, stalled, violations)
			}
			if have := c.Bound(volume); isStalled && !slices.Equal(have, []string{"c"}) {
				t.Errorf("from %q, stalled before command %d: %q have it", start, stalled, have)
			}
			if !isStalled {
				break
			}
		}
	}
}

// TestRelease: only what no node has mounted is removed or copied.
func TestRelease(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.run("a")
	if _, err := c.nodes.Release(t.Context(), volume); err == nil || !strings.Contains(err.Error(), "is in use: node container a") {
		t.Errorf("Release: %v", err)
	}
	c.Unmount("a", volume)
	released := must.Get(c.nodes.Release(t.Context(), volume))(t)
	c.expect("It is released.")
	must.Succeed(t, clustervolume.Copy(t.Context(), c.engine, released, "pvc-2"))
	c.settle("b")
	if err := clustervolume.RemoveDirectory(t.Context(), c.engine, "c", volume, released.Token); err == nil {
		t.Error("a node that got it meanwhile lost its data")
	}
	if got := c.Directories(); len(got) != 2 {
		t.Errorf("directories %v", got)
	}
}
