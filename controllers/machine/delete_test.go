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

package machine_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// deletion is a situation in which a machine is deleted.
type deletion struct {
	reason  string
	options []builders.Option
	// change after the machine runs and before it is deleted.
	change func(t *testing.T, w *world.World)
	// remains says that the object is still there in the end; gone, that the
	// container is not.
	remains          bool
	containerRemoved bool
	// ready is what Ready says of an object that stays.
	ready string
	// untouched says that nothing may have been done since the deletion.
	untouched bool
	assert    func(t *testing.T, w *world.World)
}

func TestDeletions(t *testing.T) {
	t.Parallel()
	for name, d := range deletions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(d.options...))
			w.SettleMachine(builders.Machine)
			if d.change != nil {
				d.change(t, w)
			}
			world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
			before := len(w.Mutations())
			w.SettleMachine(builders.Machine)

			object, there := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
			if there != d.remains {
				t.Errorf("%s\nthe object is there: %t, want %t", d.reason, there, d.remains)
			}
			if state, _ := world.State(object, infrav1.MachineReadyCondition); d.ready != "" && state != d.ready {
				t.Errorf("%s\nReady is %s, want %s", d.reason, state, d.ready)
			}
			if _, err := w.Engine.InspectContainer(t.Context(), container()); (engine.IgnoreNotFound(err) == nil && err != nil) != d.containerRemoved {
				t.Errorf("%s\ninspecting the container: %v, want gone %t", d.reason, err, d.containerRemoved)
			}
			if d.containerRemoved && len(w.Engine.VolumesOf(container())) > 0 {
				t.Errorf("%s\nvolumes are left: %v", d.reason, w.Engine.VolumeNames())
			}
			if mutations := w.Mutations()[before:]; d.untouched && len(mutations) > 0 {
				t.Errorf("%s\nsomething was done: %v", d.reason, mutations)
			}
			if d.assert != nil {
				d.assert(t, w)
			}
		})
	}
}

func deletions() map[string]deletion {
	paused := func(_ *testing.T, w *world.World) {
		world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, clusterv1.PausedAnnotation, "")
		})
		w.SettleMachine(builders.Machine)
	}
	clusterPaused := func(_ *testing.T, w *world.World) {
		world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
		w.SettleMachine(builders.Machine)
	}
	movedAway := func(_ *testing.T, w *world.World) {
		world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
			m.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
		})
		w.SettleMachine(builders.Machine)
	}
	clusterGone := func(_ *testing.T, w *world.World) {
		world.Purge(w, builders.Cluster, &clusterv1.Cluster{})
	}
	containerClusterGone := func(_ *testing.T, w *world.World) {
		world.Purge(w, builders.Cluster, &infrav1.ContainerCluster{})
	}
	machineGone := func(_ *testing.T, w *world.World) {
		world.Purge(w, builders.Machine, &clusterv1.Machine{})
	}
	return map[string]deletion{
		"Worker":               {reason: "Container and volumes go, then the object.", containerRemoved: true, assert: event("ContainerRemoved")},
		"Node":                 {reason: "Where it was a Node too.", change: all(record("done"), becomesNode), containerRemoved: true},
		"ClusterGone":          {reason: "The Cluster may be gone already.", change: clusterGone, containerRemoved: true},
		"ContainerClusterGone": {reason: "Its ContainerCluster too.", change: containerClusterGone, containerRemoved: true},
		"AllGone":              {reason: "All owners may be gone, after a forced deletion.", change: all(clusterGone, containerClusterGone, machineGone), containerRemoved: true},
		"LabelsGone": {
			reason: "Also where the object has nothing left but its provider ID.",
			change: all(machineGone, func(_ *testing.T, w *world.World) {
				world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) { m.Labels = nil })
			}),
			containerRemoved: true,
		},
		"MachineGone": {reason: "The Machine may be gone already.", change: machineGone, containerRemoved: true},
		"ContainerGone": {
			reason: "A container that is gone already is as good.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.RemoveContainer(t.Context(), container()))
			},
			containerRemoved: true,
		},
		"EngineDown": {
			reason: "What may still be there is not forgotten.",
			change: func(_ *testing.T, w *world.World) {
				w.Calls.Hook(func(simulatedCall) error { return engine.ErrUnavailable }, nil)
			},
			remains: true, ready: "Unknown/" + infrav1.EngineUnavailableReason,
		},
		"Paused": {
			reason: "Pausing holds while deleting: an object that is moved away is deleted here.", change: paused, remains: true, untouched: true,
		},
		"ClusterPaused": {reason: "Of the Cluster too.", change: clusterPaused, remains: true, untouched: true},
		"MovedAway": {
			reason: "The object says so itself, before the pause of its Cluster is seen, and has lost all other annotations.",
			change: movedAway, remains: true, untouched: true,
		},
		"PausedAndClusterGone": {
			reason: "Also where the Cluster is gone.", change: all(paused, clusterGone), remains: true, untouched: true,
		},
		"ExternallyManaged": {
			reason: "An externally managed machine is not deleted here.",
			change: func(_ *testing.T, w *world.World) {
				world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
					metav1.SetMetaDataAnnotation(&m.ObjectMeta, clusterv1.ManagedByAnnotation, "other")
				})
			},
			remains: true, untouched: true,
		},
		"NothingYet": {
			reason:           "A machine that waits has nothing to remove.",
			options:          []builders.Option{func(o *builders.Objects) { o.Machine.Spec.Bootstrap.DataSecretName = nil }},
			containerRemoved: true,
		},
		"ControlPlaneWithoutLoadBalancer": {
			reason: "It is no backend any more.", options: []builders.Option{builders.ControlPlane(builders.InitData)}, containerRemoved: true,
		},
		"ControlPlaneOfExternalEndpoint": {
			reason: "What serves the endpoint is not ours to ask: the container goes immediately.",
			options: []builders.Option{builders.ControlPlane(builders.InitData), func(o *builders.Objects) {
				o.ContainerCluster.Spec.LoadBalancer.Type = infrav1.LoadBalancerNone
			}},
			change: func(_ *testing.T, w *world.World) {
				w.Calls.Hook(func(call simulatedCall) error {
					if call.Name == builders.Owner().LoadBalancerContainer() {
						return errors.New("the load balancer was asked for")
					}
					return nil
				}, nil)
			},
			containerRemoved: true,
		},
	}
}

// While its Cluster is deleted, the object of a machine goes before the container. What a
// manager that fails leaves of that is removed with the ContainerCluster, or the object stays.
func TestObjectGoesBeforeContainer(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(w *world.World)
		// remains says that the object stays until its container is removed.
		remains bool
	}{
		"ClusterGoes":  {reason: "The ContainerCluster waits for the container.", change: clusterGoes},
		"ClusterStays": {reason: "Nothing else would remove it.", change: func(*world.World) {}, remains: true},
		"ContainerClusterGone": {
			reason: "Nor without the ContainerCluster.", remains: true,
			change: func(w *world.World) { clusterGoes(w); world.Purge(w, builders.Cluster, &infrav1.ContainerCluster{}) },
		},
		"ContainerClusterReleased": {
			reason: "Nor if it goes without us.", remains: true,
			change: func(w *world.World) {
				clusterGoes(w)
				world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) { c.Finalizers = nil })
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New())
			w.SettleCluster()
			w.SettleMachine(builders.Machine)
			tc.change(w)
			world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
			w.Engine.FailNext("RemoveContainer", engine.ErrUnavailable)
			if _, err := w.ReconcileMachine(builders.Machine); !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("%s\nthe reconcile returned %v", tc.reason, err)
			}
			if _, there := world.Get(w, builders.Machine, &infrav1.ContainerMachine{}); there != tc.remains {
				t.Errorf("%s\nthe object is there: %t, want %t", tc.reason, there, tc.remains)
			}
			if !tc.remains {
				world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
				w.SettleCluster()
			}
			w.SettleMachine(builders.Machine)
			if containers := must.Get(w.Engine.ListContainers(t.Context(), map[string]string{identity.LabelMachine: builders.Machine}))(t); len(containers) > 0 {
				t.Errorf("%s\nleft is %v", tc.reason, containers)
			}
		})
	}
}

func TestForeignContainerIsNeverRemoved(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{Name: container(), Image: builders.NodeImage}))(t)
	w.SettleMachine(builders.Machine)
	world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
	w.SettleMachine(builders.Machine)
	if _, there := world.Get(w, builders.Machine, &infrav1.ContainerMachine{}); there {
		t.Error("The object waits for a container that is not its own.")
	}
	if _, err := w.Engine.InspectContainer(t.Context(), container()); err != nil {
		t.Errorf("A container of our name and not ours is containerRemoved: %v", err)
	}
}

// A control plane is removed when the load balancer has drained it, or after
// ten seconds.
func TestControlPlaneWaitsForLoadBalancer(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		// follows lets the cluster controller see the deletion.
		follows bool
		change  func(w *world.World)
		// waits is for how many seconds the container stays.
		waits int
	}{
		"Drained":      {reason: "Weight 0 is enough.", follows: true, waits: 1},
		"NeverDrained": {reason: "The wait has a limit.", waits: 11},
		"LastStanding": {reason: "The last usable one is never drained.", follows: true, change: othersDown, waits: 11},
		"ClusterGoes":  {reason: "The control plane of a deleted cluster is not drained.", change: clusterGoes, waits: 0},
		"LoadBalancerStopped": {reason: "A load balancer that does not run sends nothing.", change: func(w *world.World) {
			_ = w.Engine.KillContainer(builders.Owner().LoadBalancerContainer(), 137, false)
		}, waits: 0},
		"LoadBalancerGone": {reason: "Nor does one that is gone.", change: func(w *world.World) {
			_ = w.Engine.RemoveContainer(w.TB.Context(), builders.Owner().LoadBalancerContainer())
		}, waits: 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := twoControlPlanes(t)
			if tc.change != nil {
				tc.change(w)
			}
			others := func() {}
			if tc.follows {
				others = func() { w.SettleCluster() }
			}
			waited := secondsUntilGone(t, w, others)
			if waited != tc.waits {
				t.Errorf("%s\nit waited for %d seconds, want %d", tc.reason, waited, tc.waits)
			}
			if _, err := w.Engine.InspectContainer(t.Context(), container()); engine.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("%s\ninspecting the container: %v", tc.reason, err)
			}
		})
	}
}

// secondsUntilGone deletes the machine and returns after how many seconds its object is
// gone; -1 where it stays longer than etcd and the load balancer are waited for. The other
// controllers run each second.
func secondsUntilGone(t *testing.T, w *world.World, others func()) int {
	t.Helper()
	world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	for second := range 100 {
		w.Clock.SetTime(object.DeletionTimestamp.Add(secondsOf(second)))
		must.Get(w.ReconcileMachine(builders.Machine))(t)
		others()
		if _, there := world.Get(w, builders.Machine, &infrav1.ContainerMachine{}); !there {
			return second
		}
	}
	return -1
}

const second, third = "m2", "m3"

// twoControlPlanes returns a world with a load balancer before two control
// planes, m1 and m2.
func twoControlPlanes(t *testing.T) *world.World {
	t.Helper()
	return controlPlanes(t, second)
}

// controlPlanes returns a world with a load balancer before m1 and the others.
func controlPlanes(t *testing.T, others ...string) *world.World {
	t.Helper()
	objects := builders.New(builders.ControlPlane(builders.InitData))
	for _, name := range others {
		machine, containerMachine := builders.MachinePair(name)
		builders.MakeControlPlane(machine)
		objects.Others = append(objects.Others, machine, containerMachine, builders.DataSecret(name, builders.JoinControlPlaneData))
	}
	w := world.New(t, objects)
	w.SettleCluster()
	want := map[string]int{}
	for _, name := range append([]string{builders.Machine}, others...) {
		w.SettleMachine(name)
		want[builders.Container(name)] = haproxy.FullWeight
	}
	w.SettleCluster()
	if diff := diff(want, w.LoadBalancers.Weights(builders.Owner().LoadBalancerContainer())); diff != "" {
		t.Fatalf("backends (-want +got):\n%s", diff)
	}
	return w
}

func othersDown(w *world.World) {
	w.LoadBalancers.SetHealth(builders.Container(second), haproxy.StatusDown)
}

func clusterGoes(w *world.World) {
	world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Finalizers = []string{clusterv1.ClusterFinalizer} })
	world.Delete(w, builders.Cluster, &clusterv1.Cluster{})
}
