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

package cluster_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

const self = "manager"

// attachedWorld has a cluster on a network that its user made, and a manager in a
// container that was created on another one.
func attachedWorld(t *testing.T) *world.World {
	t.Helper()
	w := world.New(t, builders.New(spec(func(s *infrav1.ContainerClusterSpec) { s.Network.Name = "mine" })...))
	world.Purge(w, builders.Machine, &infrav1.ContainerMachine{})
	must.Get(w.Engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "mine"}))(t)
	must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{
		Name: self, Image: builders.NodeImage, Attachment: engine.Attachment{Network: "capcon"},
	}))(t)
	must.Succeed(t, w.Engine.StartContainer(t.Context(), self))
	w.Cluster.SelfContainer = self
	return w
}

func wantNetworksOfManager(t *testing.T, w *world.World, reason string, want ...string) {
	t.Helper()
	found := must.Get(w.Engine.InspectContainer(t.Context(), self))(t)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found.Networks))); diff != "" {
		t.Errorf("%s\nnetworks of the manager (-want +got):\n%s", reason, diff)
	}
}

// The manager leaves a network of its user with the last cluster there, and only where the
// manager attached itself.
func TestManagerLeavesGivenNetwork(t *testing.T) {
	t.Parallel()
	attach := func(t *testing.T, w *world.World) {
		t.Helper()
		must.Succeed(t, w.Engine.ConnectNetwork(t.Context(), "mine", self, engine.Attachment{Network: "mine"}))
	}
	other := func(network string, annotations map[string]string, finalizers ...string) *infrav1.ContainerCluster {
		return &infrav1.ContainerCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "another", Name: "other", Annotations: annotations, Finalizers: finalizers},
			Spec:       infrav1.ContainerClusterSpec{Network: infrav1.Network{Name: network}},
		}
	}
	recorded := map[string]string{infrav1.AttachedManagerAnnotation: self}
	cases := map[string]struct {
		reason string
		// before and after the cluster has its network.
		before, after func(t *testing.T, w *world.World)
		on            []string
	}{
		"attached by its user": {reason: "The user may need it there.", before: attach, on: []string{"capcon", "mine"}},
		"attached by another manager": {
			reason: "What another container was attached for says nothing.",
			before: func(t *testing.T, w *world.World) {
				t.Helper()
				attach(t, w)
				must.Succeed(t, w.Client.Create(t.Context(), other("mine", map[string]string{infrav1.AttachedManagerAnnotation: "another"})))
			},
			on: []string{"capcon", "mine"},
		},
		"another cluster": {
			reason: "Its API servers could not be reached.",
			after: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Client.Create(t.Context(), other("mine", recorded)))
			},
			on: []string{"capcon", "mine"},
		},
		"another cluster elsewhere": {
			reason: "It is not reached through this network.",
			after: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Client.Create(t.Context(), other("", nil)))
			},
			on: []string{"capcon"},
		},
		"another cluster that goes": {
			reason: "The last of both leaves, and its machines are gone.",
			after: func(t *testing.T, w *world.World) {
				t.Helper()
				going := other("mine", recorded, infrav1.ClusterFinalizer)
				must.Succeed(t, w.Client.Create(t.Context(), going))
				must.Succeed(t, w.Client.Delete(t.Context(), going))
			},
			on: []string{"capcon"},
		},
		"attached for another cluster": {
			reason: "It was the first of both and may be deleted first.",
			before: func(t *testing.T, w *world.World) {
				t.Helper()
				attach(t, w)
				must.Succeed(t, w.Client.Create(t.Context(), other("mine", recorded)))
			},
			after: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Client.Delete(t.Context(), other("mine", nil)))
			},
			on: []string{"capcon"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := attachedWorld(t)
			if tc.before != nil {
				tc.before(t, w)
			}
			w.SettleCluster()
			wantNetworksOfManager(t, w, "API servers are reached there.", "capcon", "mine")
			if tc.after != nil {
				tc.after(t, w)
			}
			world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
			w.SettleCluster()
			if _, there := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{}); there {
				t.Error("the object is still there")
			}
			wantNetworksOfManager(t, w, tc.reason, tc.on...)
			checkLeft(t, w, tc.reason, []string{self}, []string{"capcon", "mine"})
		})
	}
}

// A manager that dies before or after any call or write leaves the network all the same.
func TestManagerThatDiedLeavesGivenNetwork(t *testing.T) {
	t.Parallel()
	died := errors.New("died")
	// life of a cluster; the nth call and write is the manager's last one.
	life := func(t *testing.T, hook func(w *world.World, die func() error)) {
		t.Helper()
		w, dead := attachedWorld(t), false
		hook(w, func() error { dead = true; return died })
		step := func() {
			w.SettleCluster()
			if dead {
				dead = false
				w.Calls.Hook(nil, nil)
				w.Writes.Hook(nil, nil)
				w.Restart()
				w.Cluster.SelfContainer = self
				w.SettleCluster()
			}
		}
		step()
		world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
		step()
		wantNetworksOfManager(t, w, "The cluster is gone.", "capcon")
		checkLeft(t, w, "The cluster is gone.", []string{self}, []string{"capcon", "mine"})
	}
	var calls, writes int
	life(t, func(w *world.World, _ func() error) {
		w.Calls.Hook(func(call simulated.Call) error { calls = call.Number; return nil }, nil)
		w.Writes.Hook(func(write world.Write) error { writes = write.Number; return nil }, nil)
	})
	if calls == 0 || writes == 0 {
		t.Fatal("nothing was called or written")
	}
	for what, count := range map[string]int{"call": calls, "write": writes} {
		for n := range count {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %d, after %t", what, n+1, after), func(t *testing.T) {
					t.Parallel()
					life(t, func(w *world.World, die func() error) {
						at := func(number int) error {
							if number < n+1 {
								return nil
							}
							return die()
						}
						call := func(call simulated.Call) error { return at(call.Number) }
						write := func(write world.Write) error { return at(write.Number) }
						switch {
						case what == "call" && after:
							w.Calls.Hook(nil, call)
						case what == "call":
							w.Calls.Hook(call, nil)
						case after:
							w.Writes.Hook(nil, write)
						default:
							w.Writes.Hook(write, nil)
						}
					})
				})
			}
		}
	}
}
