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
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// A new cluster gets its finalizer, its identity, and then everything else;
// no look on the way ends with an error, and the identity stays.
func TestIdentityComesFirst(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(func(o *builders.Objects) {
		o.ContainerCluster.Finalizers, o.ContainerCluster.Spec.OwnerID = nil, ""
	}))
	for range 6 {
		if _, err := w.ReconcileCluster(); err != nil {
			t.Errorf("reconcile of a new cluster: %v", err)
		}
	}
	object := get(w)
	if state, _ := world.State(object, infrav1.ClusterReadyCondition); state != usable {
		t.Errorf("Ready is %s", state)
	}
	id := object.Spec.OwnerID
	containers, err := w.Engine.ListContainers(t.Context(), map[string]string{identity.LabelOwnerID: id})
	if err != nil || len(containers) != 1 || len(id) < 10 {
		t.Errorf("containers of owner %q: %v, %v", id, containers, err)
	}
	mutations := strings.Join(w.Mutations(), "\n")
	if creates := strings.Count(mutations, "CreateContainer"); creates != 1 {
		t.Errorf("%d containers were created:\n%s", creates, mutations)
	}
	w.CheckCluster(world.ByNewManager)
	if again := get(w).Spec.OwnerID; again != id {
		t.Errorf("the owner ID changed from %q to %q", id, again)
	}
}

// Objects that are not ours to reconcile yet, or at all.
func TestHandsOff(t *testing.T) {
	t.Parallel()
	annotate := func(key string) builders.Option {
		return func(o *builders.Objects) {
			metav1.SetMetaDataAnnotation(&o.ContainerCluster.ObjectMeta, key, "other")
		}
	}
	paused := []string{"patch status *v1beta2.ContainerCluster c1"}
	cases := map[string]struct {
		reason  string
		options []builders.Option
		writes  []string
	}{
		"NoCluster": {
			reason: "It has no owner yet.",
			options: []builders.Option{func(o *builders.Objects) {
				o.ContainerCluster.OwnerReferences, o.ContainerCluster.Finalizers = nil, nil
			}},
		},
		"ExternallyManaged": {
			reason:  "Neither finalizer nor condition nor identity.",
			options: []builders.Option{annotate(clusterv1.ManagedByAnnotation), func(o *builders.Objects) { o.ContainerCluster.Finalizers = nil }},
		},
		"Paused":        {reason: "It says so, once.", options: []builders.Option{annotate(clusterv1.PausedAnnotation)}, writes: paused},
		"ClusterPaused": {reason: "Also with its Cluster.", options: []builders.Option{func(o *builders.Objects) { o.Cluster.Spec.Paused = ptr.To(true) }}, writes: paused},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(tc.options...))
			outcome := w.SettleCluster()
			if diff := gocmp.Diff(tc.writes, w.Mutations()); diff != "" {
				t.Errorf("%s\ndeeds (-want +got):\n%s", tc.reason, diff)
			}
			if outcome.Err != nil || outcome.Result.RequeueAfter != 0 || len(w.Calls.Made()) > 0 {
				t.Errorf("%s\nit continues: %v, %v, %v", tc.reason, outcome.Result, outcome.Err, w.Calls.Made())
			}
		})
	}
}

// The backends are the control planes that run, and those that stay.
func TestBackends(t *testing.T) {
	t.Parallel()
	first, second := builders.Container(builders.Machine), builders.Container("m2")
	both := func(a, b int) map[string]int { return map[string]int{first: a, second: b} }
	deleteMachine := func(w *world.World, name string) { world.Delete(w, name, &clusterv1.Machine{}) }
	cases := map[string]struct {
		reason string
		change func(t *testing.T, w *world.World)
		want   map[string]int
		// requeue says that the controller has to requeue the cluster.
		requeue bool
	}{
		"Both": {reason: "All that run share the connections.", want: both(haproxy.FullWeight, haproxy.FullWeight)},
		"MachineDeleted": {
			reason: "The Machine's deletion is enough: its etcd member goes before its container.",
			change: func(_ *testing.T, w *world.World) { deleteMachine(w, builders.Machine) },
			want:   both(0, haproxy.FullWeight),
		},
		"ContainerMachineDeleted": {
			reason: "Who deletes the ContainerMachine alone is understood too.",
			change: func(_ *testing.T, w *world.World) { world.Delete(w, "m2", &infrav1.ContainerMachine{}) },
			want:   both(haproxy.FullWeight, 0),
		},
		"LastUsable": {
			reason: "The last usable one keeps its weight, even if it is being deleted.",
			change: func(_ *testing.T, w *world.World) {
				w.LoadBalancers.SetHealth(second, haproxy.StatusDown)
				deleteMachine(w, builders.Machine)
			},
			want: both(haproxy.FullWeight, haproxy.FullWeight), requeue: true,
		},
		"AllDeleted": {
			reason: "One of the deleted machines serves until it is removed.",
			change: func(_ *testing.T, w *world.World) { deleteMachine(w, builders.Machine); deleteMachine(w, "m2") },
			want:   both(haproxy.FullWeight, 0), requeue: true,
		},
		"Stopped": {
			reason: "One that is stopped needs no reload to come back.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.KillContainer(first, 137, false))
			},
			want: both(haproxy.FullWeight, haproxy.FullWeight),
		},
		"Gone": {
			reason: "One that is gone is no backend.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.RemoveContainer(t.Context(), first))
			},
			want: map[string]int{second: haproxy.FullWeight},
		},
		"OtherCluster": {
			reason: "Another cluster's machines are none of ours.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				other := builders.Owner()
				other.ID = "another"
				labels := other.ContainerLabels(identity.RoleControlPlane, "m3")
				labels[identity.LabelNetwork], labels[identity.LabelAddress] = "capcon", "172.18.230.1"
				must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{Name: "other", Image: builders.NodeImage, Labels: labels}))(t)
				must.Succeed(t, w.Engine.StartContainer(t.Context(), "other"))
			},
			want: both(haproxy.FullWeight, haproxy.FullWeight),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := twoControlPlanes(t)
			if tc.change != nil {
				tc.change(t, w)
			}
			outcome := w.SettleCluster()
			if diff := gocmp.Diff(tc.want, w.LoadBalancers.Weights(balancer())); diff != "" {
				t.Errorf("%s\nbackends (-want +got):\n%s", tc.reason, diff)
			}
			if outcome.Err != nil || (outcome.Result.RequeueAfter > 0) != tc.requeue {
				t.Errorf("%s\nit ends with %v, %v; want again %t", tc.reason, outcome.Result, outcome.Err, tc.requeue)
			}
			reloads := w.LoadBalancers.Reloads()
			w.CheckCluster(world.ByNewManager)
			if more := w.LoadBalancers.Reloads() - reloads; more > 0 {
				t.Errorf("%s\nit was reloaded %d more times without a change", tc.reason, more)
			}
		})
	}
}

// twoControlPlanes returns a world with a load balancer before two control
// planes, m1 and m2.
func twoControlPlanes(t *testing.T, options ...builders.Option) *world.World {
	t.Helper()
	machine, containerMachine := builders.MachinePair("m2")
	builders.MakeControlPlane(machine)
	w := world.New(t, builders.New(append(options, builders.ControlPlane(builders.InitData), func(o *builders.Objects) {
		o.Others = append(o.Others, machine, containerMachine, builders.DataSecret("m2", builders.JoinControlPlaneData))
	})...))
	w.SettleCluster()
	w.SettleMachine(builders.Machine)
	w.SettleMachine("m2")
	w.SettleCluster()
	return w
}

// Cluster API reads the endpoint when the infrastructure is reported as provisioned:
// an endpoint that was refused is tried again first.
func TestProvisionedComesLast(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.Writes.Hook(func(write world.Write) error {
		if write.Verb == "patch" {
			return errors.New("the spec is refused")
		}
		return nil
	}, nil)
	if _, err := w.ReconcileCluster(); err == nil {
		t.Fatal("nothing was refused")
	}
	if object := get(w); object.Status.Initialization.Provisioned != nil {
		t.Errorf("it is provisioned with the endpoint %q", object.Spec.ControlPlaneEndpoint)
	}
	w.Writes.Hook(nil, nil)
	w.SettleCluster()
	if object := get(w); object.Status.Initialization.Provisioned == nil || object.Spec.ControlPlaneEndpoint.Host == "" {
		t.Errorf("afterwards it is provisioned: %v, with the endpoint %q", object.Status.Initialization.Provisioned, object.Spec.ControlPlaneEndpoint)
	}
}

// What vanishes between two calls is not pinned: an endpoint is for life.
func TestVanishedLoadBalancerIsNotPinned(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	started, vanish := false, true
	w.Calls.Hook(func(call simulatedCall) error {
		if call.Method != "Exec" || call.Name != balancer() || !started || !vanish {
			return nil
		}
		vanish = false
		return w.Engine.RemoveContainer(t.Context(), balancer())
	}, func(call simulatedCall) error {
		started = started || call.Method == "StartContainer"
		return nil
	})
	result, err := w.ReconcileCluster()
	object := get(w)
	if object.Spec.ControlPlaneEndpoint.Host != "" || object.Status.Initialization.Provisioned != nil {
		t.Errorf("the endpoint is %+v, provisioned %v; looking ended with %v, %v", object.Spec.ControlPlaneEndpoint, object.Status, result, err)
	}
	if vanish || err == nil && result.RequeueAfter == 0 {
		t.Errorf("it is not tried requeue: %v, %v (vanished %t)", result, err, !vanish)
	}
	w.SettleCluster()
	if state, _ := world.State(get(w), infrav1.ClusterReadyCondition); state != usable {
		t.Errorf("afterwards Ready is %s", state)
	}
}

// TestEndIsReported: that a load balancer ended is seen of its conditions even
// where the same reconcile starts it again, or where the engine was quicker.
func TestEndIsReported(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(t *testing.T, w *world.World)
		// reported by the first reconcile, with the text in its message.
		reported, message string
	}{
		"Killed": {
			reason: "One that stays down is started by the reconcile that reports it.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.KillContainer(balancer(), 137, true))
			},
			reported: "False/" + infrav1.LoadBalancerNotRunningReason, message: "exited with code 137 (OOMKilled) and has been started again",
		},
		"Removed": {
			reason: "One that is not found is recreated.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.RemoveContainer(t.Context(), balancer()))
			},
			reported: "False/" + infrav1.LoadBalancerNotRunningReason, message: "was not found and has been recreated",
		},
		"Disconnected": {
			reason: "One that lost its network is recreated.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.DisconnectNetwork(t.Context(), "capcon", balancer()))
			},
			reported: "False/" + infrav1.LoadBalancerNotRunningReason, message: "lost its network or address and has been recreated",
		},
		"RestartedByTheEngine": {
			reason: "The engine's restart policy is quicker than a reconcile; its event reports the exit.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				found := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
				w.Exits.Observe(engine.Event{Kind: engine.EventDie, ContainerID: found.ID, ExitCode: 1})
			},
			reported: "False/" + infrav1.LoadBalancerRestartedReason, message: "exited with code 1 and was restarted",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New())
			w.SettleCluster()
			c.change(t, w)
			result, err := w.ReconcileCluster()
			if err != nil || result.RequeueAfter == 0 {
				t.Errorf("%s\ngot %v, %v, want another look", c.reason, result, err)
			}
			object := get(w)
			if state, message := world.State(object, infrav1.LoadBalancerReadyCondition); state != c.reported || !strings.Contains(message, c.message) {
				t.Errorf("%s\nLoadBalancerReady is %s (%s), want %s (%s)", c.reason, state, message, c.reported, c.message)
			}
			if state, _ := world.State(object, infrav1.ClusterReadyCondition); !strings.HasPrefix(state, "False/") {
				t.Errorf("%s\nReady is %s", c.reason, state)
			}
			w.Clock.SetTime(w.Clock.Now().Add(result.RequeueAfter))
			w.SettleCluster()
			if state, message := world.State(get(w), infrav1.ClusterReadyCondition); !strings.HasPrefix(state, "True/") {
				t.Errorf("%s\nReady is %s (%s) in the end", c.reason, state, message)
			}
		})
	}
}
