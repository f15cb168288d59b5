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
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

func TestDeletions(t *testing.T) {
	t.Parallel()
	managed := engine.NetworkSpec{Name: "mine", Labels: map[string]string{identity.LabelManaged: "true"}}
	onMine := spec(func(s *infrav1.ContainerClusterSpec) { s.Network.Name = "mine" })
	purgeCluster := func(_ *testing.T, w *world.World) { world.Purge(w, builders.Cluster, &clusterv1.Cluster{}) }
	pause := func(_ *testing.T, w *world.World) {
		world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, clusterv1.PausedAnnotation, "")
		})
		w.SettleCluster()
	}
	create := func(name string, labels map[string]string, networkName string) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) {
			t.Helper()
			must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{
				Name: name, Image: builders.NodeImage, Labels: labels, Attachment: engine.Attachment{Network: networkName},
			}))(t)
		}
	}
	cases := map[string]struct {
		reason  string
		options []builders.Option
		setup   func(t *testing.T, w *world.World)
		// machines stay instead of being deleted first.
		machines bool
		change   func(t *testing.T, w *world.World)
		// remains says that the object does; message is in its condition.
		remains bool
		message string
		// Left on the engine, by name.
		containers, networks []string
	}{
		"Whole":          {reason: "Load balancer and network go, then the object."},
		"NetworkCreated": {reason: "Also a network of its own; another cluster's stays.", options: onMine, networks: []string{"capcon"}},
		"NetworkGiven": {
			reason: "A network that we did not make is not ours to remove.", options: onMine,
			setup: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Get(w.Engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "mine"}))(t)
			},
			networks: []string{"capcon", "mine"},
		},
		"NetworkInUse": {
			reason: "Nor is one in use.", options: onMine,
			setup: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Get(w.Engine.CreateNetwork(t.Context(), managed))(t)
				create("other", nil, "mine")(t, w)
			},
			containers: []string{"other"}, networks: []string{"capcon", "mine"},
		},
		"Machines": {
			reason: "Machines go first, each with its own finalizer.", machines: true, remains: true, message: "1 ContainerMachines",
			containers: []string{balancer()}, networks: []string{"capcon"},
		},
		"Leftovers": {
			reason: "What machines left whose objects went without us is removed.",
			change: create("orphan", builders.Owner().ContainerLabels(identity.RoleWorker, "m9"), "capcon"),
		},
		"Foreign": {
			reason: "Another owner's container stays, and so its network.",
			change: create("foreign", identity.Owner{Namespace: builders.Namespace, Cluster: builders.Cluster, ID: "another"}.
				ContainerLabels(identity.RoleWorker, "m9"), "capcon"),
			containers: []string{"foreign"}, networks: []string{"capcon"},
		},
		"ClusterGone": {reason: "The Cluster may be gone already.", change: purgeCluster},
		"NoIdentity": {
			reason: "Without an identity nothing can have been created.", networks: []string{"capcon"},
			options: []builders.Option{func(o *builders.Objects) {
				o.ContainerCluster.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "another-controller"}
				o.ContainerCluster.Spec.OwnerID = ""
			}},
			change: func(_ *testing.T, w *world.World) {
				world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) { c.Annotations = nil })
			},
		},
		"MovedAway": {
			reason: "The annotation that clusterctl leaves says so.",
			change: func(_ *testing.T, w *world.World) {
				world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
					c.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
				})
			},
			remains: true, containers: []string{balancer()}, networks: []string{"capcon"},
		},
		"PausedAndClusterGone": {
			reason: "Also where the Cluster is gone.", change: func(t *testing.T, w *world.World) { t.Helper(); pause(t, w); purgeCluster(t, w) },
			remains: true, containers: []string{balancer()}, networks: []string{"capcon"},
		},
		"ClusterPaused": {
			reason: "And with its Cluster.",
			change: func(_ *testing.T, w *world.World) {
				world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
			},
			remains: true, containers: []string{balancer()}, networks: []string{"capcon"},
		},
		"ExternallyManaged": {
			reason: "An externally managed cluster is not deleted here.",
			change: func(_ *testing.T, w *world.World) {
				world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
					metav1.SetMetaDataAnnotation(&c.ObjectMeta, clusterv1.ManagedByAnnotation, "other")
				})
			},
			remains: true, containers: []string{balancer()}, networks: []string{"capcon"},
		},
		"EngineDown": {
			reason: "What may still be there is not forgotten.",
			change: func(_ *testing.T, w *world.World) {
				w.Calls.Hook(func(simulatedCall) error { return engine.ErrUnavailable }, nil)
			},
			remains: true, message: "unavailable", containers: []string{balancer()}, networks: []string{"capcon"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(tc.options...))
			if !tc.machines {
				world.Purge(w, builders.Machine, &infrav1.ContainerMachine{})
			}
			if tc.setup != nil {
				tc.setup(t, w)
			}
			w.SettleCluster()
			if tc.change != nil {
				tc.change(t, w)
			}
			world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
			w.SettleCluster()
			object, there := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
			if there != tc.remains {
				t.Errorf("%s\nthe object is there: %t, want %t", tc.reason, there, tc.remains)
			}
			if _, message := world.State(object, infrav1.LoadBalancerReadyCondition); !strings.Contains(message, tc.message) {
				t.Errorf("%s\nmessage %q lacks %q", tc.reason, message, tc.message)
			}
			checkLeft(t, w, tc.reason, tc.containers, tc.networks)
		})
	}
}

// While a Cluster is deleted and its machines go, its API servers stay
// reachable until the last one goes, and the engine gets no other calls.
func TestClusterDeleting(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		options []builders.Option
		change  func(w *world.World)
		// calls are all engine calls of one reconcile; nil = not counted.
		calls []string
		// containers are there afterwards, running.
		containers []string
	}{
		"Runs": {
			reason: "Nothing is to be done.", calls: []string{"InspectContainer"}, containers: []string{balancer()},
		},
		"Removed": {
			reason: "Also where it is gone.",
			change: func(w *world.World) { _ = w.Engine.RemoveContainer(w.TB.Context(), balancer()) }, containers: []string{balancer()},
		},
		"LastControlPlane": {
			reason: "Without a control plane it has nothing to balance.",
			change: func(w *world.World) { world.Delete(w, builders.Machine, &infrav1.ContainerMachine{}) },
			calls:  []string{"ListContainers"},
		},
		"External": {
			reason: "A load balancer that is managed externally is left alone.", calls: []string{},
			options: spec(func(s *infrav1.ContainerClusterSpec) {
				s.LoadBalancer.Type = infrav1.LoadBalancerNone
				s.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "192.0.2.1", Port: 6443}
			}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(append(tc.options, builders.ControlPlane(builders.InitData))...))
			w.SettleCluster()
			world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} })
			world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Finalizers = []string{clusterv1.ClusterFinalizer} })
			world.Delete(w, builders.Cluster, &clusterv1.Cluster{})
			if tc.change != nil {
				tc.change(w)
			}
			w.SettleCluster()
			if tc.calls != nil {
				before := len(w.Calls.Made())
				must.Get(w.ReconcileCluster())(t)
				methods := []string{}
				for _, call := range w.Calls.Made()[before:] {
					methods = append(methods, call.Method)
				}
				if diff := cmp.Diff(tc.calls, methods); diff != "" {
					t.Errorf("%s\nengine calls (-want, +got):\n%s", tc.reason, diff)
				}
			}
			running := []string{}
			containers := must.Get(w.Engine.ListContainers(t.Context(), nil))(t)
			for _, container := range containers {
				if container.Status == engine.StatusRunning {
					running = append(running, container.Name)
				}
			}
			if diff := cmp.Diff(tc.containers, running, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nrunning containers (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A manager that runs in a container of the engine is attached to the networks of its
// clusters, and leaves them with the last cluster, but not the one it lives on.
func TestManagerLeavesNetwork(t *testing.T) {
	t.Parallel()
	const self = "manager"
	managed := map[string]string{identity.LabelManaged: "true"}
	cases := map[string]struct {
		reason string
		// labels of the network of the cluster; nil = it does not exist before.
		labels map[string]string
		exists bool
		// lives is the network that the manager's container is created on.
		lives string
		// faults are calls that fail once.
		faults []string
		// networks that the manager's container is on afterwards, and all there are.
		on, networks []string
	}{
		"ItsOwn": {
			reason: "A network made for the cluster is left and removed; calls that fail are retried.", lives: "capcon", on: []string{"capcon"}, networks: []string{"capcon"},
			faults: []string{"InspectNetwork", "DisconnectNetwork"},
		},
		"GivenAndOnly": {
			reason: "The network of a kind cluster is that of its control plane.", exists: true, lives: "mine",
			on: []string{"mine"}, networks: []string{"capcon", "mine"},
		},
		"MadeAndOnly": {
			reason: "Without a network the manager is not reachable.", exists: true, labels: managed, lives: "mine",
			on: []string{"mine"}, networks: []string{"capcon", "mine"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(spec(func(s *infrav1.ContainerClusterSpec) { s.Network.Name = "mine" })...))
			world.Purge(w, builders.Machine, &infrav1.ContainerMachine{})
			if tc.exists {
				must.Get(w.Engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "mine", Labels: tc.labels}))(t)
			}
			must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{
				Name: self, Image: builders.NodeImage, Attachment: engine.Attachment{Network: tc.lives},
			}))(t)
			must.Succeed(t, w.Engine.StartContainer(t.Context(), self))
			w.Cluster.SelfContainer = self
			w.SettleCluster()
			world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
			for _, call := range tc.faults {
				w.Engine.FailNext(call, engine.ErrUnavailable)
				if _, err := w.ReconcileCluster(); !errors.Is(err, engine.ErrUnavailable) {
					t.Errorf("%s\nwithout %s the reconcile returned %v", tc.reason, call, err)
				}
			}
			w.SettleCluster()
			found := must.Get(w.Engine.InspectContainer(t.Context(), self))(t)
			if diff := cmp.Diff(tc.on, slices.Sorted(maps.Keys(found.Networks))); diff != "" {
				t.Errorf("%s\nnetworks of the manager (-want +got):\n%s", tc.reason, diff)
			}
			checkLeft(t, w, tc.reason, []string{self}, tc.networks)
		})
	}
}

// A manager that is killed while it probes the host leaves a container on the network
// of a cluster: the network is removed with the cluster all the same, after the probe.
func TestDeleteWaitsForProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, deleteWaitsForProbe)
}

func deleteWaitsForProbe(t *testing.T) {
	t.Helper()
	const self, probe = "manager", "capcon-probe-left"
	w := world.New(t, builders.New(spec(func(s *infrav1.ContainerClusterSpec) { s.Network.Name = "mine" })...))
	world.Purge(w, builders.Machine, &infrav1.ContainerMachine{})
	run := func(container engine.Spec) {
		container.Image = builders.NodeImage
		must.Get(w.Engine.CreateContainer(t.Context(), container))(t)
		must.Succeed(t, w.Engine.StartContainer(t.Context(), container.Name))
	}
	run(engine.Spec{Name: self, Attachment: engine.Attachment{Network: "capcon"}})
	w.Cluster.SelfContainer = self
	w.SettleCluster()
	w.Clock.SetTime(time.Now()) // that of the bubble, which the probe's age is measured by
	run(engine.Spec{
		Name: probe, Attachment: engine.Attachment{Network: "mine"},
		Labels: map[string]string{identity.LabelRole: string(identity.RoleProbe)},
	})
	world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
	w.SettleCluster()
	checkLeft(t, w, "The probe is on the network.", []string{probe, self}, []string{"capcon", "mine"})

	// Nothing but this deletion removes it.
	time.Sleep(time.Minute) // of the bubble's clock
	w.SettleCluster()
	checkLeft(t, w, "Nothing but the manager is on the network.", []string{self}, []string{"capcon"})
}

// checkLeft compares what is left on the engine of all that these tests make.
func checkLeft(t *testing.T, w *world.World, reason string, containers, networks []string) {
	t.Helper()
	found := must.Get(w.Engine.ListContainers(context.WithoutCancel(t.Context()), nil))(t)
	names := []string{}
	for _, container := range found {
		names = append(names, container.Name)
	}
	if strings.Join(names, " ") != strings.Join(containers, " ") {
		t.Errorf("%s\ncontainers left: %v, want %v", reason, names, containers)
	}
	names = []string{}
	for _, name := range []string{"capcon", "mine"} {
		if _, err := w.Engine.InspectNetwork(t.Context(), name); err == nil {
			names = append(names, name)
		}
	}
	if strings.Join(names, " ") != strings.Join(networks, " ") {
		t.Errorf("%s\nnetworks left: %v, want %v", reason, names, networks)
	}
	if volumes := w.Engine.VolumeNames(); len(volumes) > 0 {
		t.Errorf("%s\nvolumes left: %v", reason, volumes)
	}
}
