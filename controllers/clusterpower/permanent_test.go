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

package clusterpower_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestPermanentFault: what an engine never does is named, and keeps nothing paused that is to run.
func TestPermanentFault(t *testing.T) {
	t.Parallel()
	failing := func(method, name string, err error) func(*world) {
		return func(w *world) {
			w.engine.OnCall(func(call simulated.Call) error {
				if call.Method == method && (name == "" || call.Name == name) {
					return err
				}
				return nil
			})
		}
	}
	cases := map[string]struct {
		reason    string
		operation string
		fault     func(*world)
		want      end
		message   string
	}{
		"worker does not stop": {
			"A MachineHealthCheck must not remediate the workers that are stopped.", "stop",
			failing("StopContainer", "worker-1", errors.New("did not exit")), end{state{1, true, true}, infrav1.StopFailedReason},
			"4 of 5 containers are stopped; container worker-1 did not stop: did not exit",
		},
		"paused container": {
			"An engine does not stop what is paused.", "stop",
			func(w *world) { must.Succeed(w.t, w.engine.Pause("lb")) }, end{state{0, true, true}, infrav1.StopFailedReason},
			"4 of 5 containers are stopped; container lb is paused; unpause it",
		},
		"engine gone while stopping": {
			"What runs is not known.", "stop",
			failing("ListContainers", "", engine.ErrUnavailable), end{state{5, false, false}, infrav1.EngineUnavailableReason},
			"list containers of the cluster: unavailable",
		},
		"control plane does not start": {
			"The API server does not answer, and the cluster is left to its control plane's controller.", "start",
			failing("StartContainer", "control-plane", &engine.ConflictError{Resource: engine.ResourceAddress, Value: "172.18.0.9", Holder: "other"}),
			end{state{4, false, false}, infrav1.StartFailedReason},
			"container control-plane did not start: address 172.18.0.9 is in use by container other; stop or remove that container",
		},
		"worker exits": {
			"A MachineHealthCheck is to act.", "start",
			func(w *world) {
				w.engine.OnStart(func(name string) {
					if name == "worker-1" {
						must.Succeed(w.t, w.engine.KillContainer(name, 3, false))
					}
				})
			}, end{state{4, false, false}, infrav1.StartFailedReason},
			"4 of 5 containers are running; container worker-1 exited with code 3 after it was started",
		},
		"Service load balancer exits": {
			"Its controller recreates it, which does not act while the Cluster is paused.", "start",
			failing("StartContainer", "service", errors.New("port in use")), end{state{4, false, false}, infrav1.StartedReason}, "4 of 5",
		},
		"Node stays NotReady": {
			"A MachineHealthCheck is to act.", "start",
			func(w *world) { w.node.Status.Conditions[0].Status = "False" }, end{state{5, false, false}, infrav1.StartFailedReason},
			"5 of 5 containers are running; node m1: not Ready",
		},
		"Node reports nothing": {
			"Ready is of before the stop.", "start",
			func(w *world) { w.heartbeat = w.clock.Now().Add(-time.Hour) }, end{state{5, false, false}, infrav1.StartFailedReason},
			"5 of 5 containers are running; node m1: not Ready",
		},
		"API server does not answer": {
			"The message does not change with each retry.", "start",
			func(w *world) { w.workload = errors.New("dial tcp 127.0.0.1:34567: refused") }, end{state{5, false, false}, infrav1.StartFailedReason},
			"5 of 5 containers are running; waiting for the API server of the cluster",
		},
		"engine gone while starting": {
			"Without the engine nothing is started: the limit does not run.", "start",
			failing("ListContainers", "", engine.ErrUnavailable), end{state{0, true, true}, infrav1.EngineUnavailableReason},
			"list containers of the cluster: unavailable",
		},
		"container removed": {
			"The Machine is to be replaced.", "start",
			func(w *world) { must.Succeed(w.t, w.engine.RemoveContainer(w.t.Context(), "worker-1")) },
			end{state{4, false, false}, infrav1.StartFailedReason},
			"4 of 4 containers are running; container worker-1 of ContainerMachine m1 not found",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			o := operations()[c.operation]
			o.prepare(w)
			c.fault(w)
			o.begin(w)
			w.settle()
			w.expectEnd(c.want)
			if _, message := w.condition(); !strings.Contains(message, c.message) {
				t.Errorf("%s\nmessage %q, want %q", c.reason, message, c.message)
			}
			if t.Failed() {
				t.Log(c.reason)
			}
			if sent := w.sent(); c.want.reason == infrav1.StartFailedReason && len(sent) > 3 {
				t.Errorf("Events: %q", sent)
			}
		})
	}
}

// addControlPlaneMachine is the ContainerMachine of the control plane.
func (w *world) addControlPlaneMachine() {
	w.t.Helper()
	must.Succeed(w.t, w.client.Create(w.t.Context(), &infrav1.ContainerMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: "m0", Labels: map[string]string{
			clusterv1.ClusterNameLabel: builders.Cluster, clusterv1.MachineControlPlaneLabel: "",
		}},
		Spec: infrav1.ContainerMachineSpec{ProviderID: identity.ProviderID("control-plane")},
	}))
}

// TestControlPlaneRemoved: a cluster whose only control plane was removed while it was stopped
// is lost. That is reported immediately, and the other containers run.
func TestControlPlaneRemoved(t *testing.T) {
	t.Parallel()
	const missing = "4 of 4 containers are running; container control-plane of ContainerMachine m0 not found"
	const lost = "; no control plane is left, and the data of the cluster is lost with it: " +
		"delete the cluster and create it again (capcon down c1, then capcon up c1), or restore a backup of its etcd"
	cases := map[string]struct {
		reason string
		change func(*builders.Objects)
		left   bool
		want   string
	}{
		"the only one": {"Nothing can replace it.", nil, false, missing + lost},
		"never initialized": {
			"It is recreated.", func(o *builders.Objects) { o.Cluster.Status.Initialization.ControlPlaneInitialized = nil }, false, missing,
		},
		"one is left": {"It can be replaced.", nil, true, "5 of 5" + missing[len("4 of 4"):]},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.change)
			w.addControlPlaneMachine()
			if c.left {
				must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{
					Name: "control-plane-2", Image: builders.NodeImage, Labels: builders.Owner().ContainerLabels(identity.RoleControlPlane, "m00"),
				}))(t)
				must.Succeed(t, w.engine.StartContainer(t.Context(), "control-plane-2"))
			}
			w.edit(stopped)
			w.settle()
			must.Succeed(t, w.engine.RemoveContainer(t.Context(), "control-plane"))
			began := w.clock.Now()
			w.edit(started)
			for reason, _ := w.condition(); reason != infrav1.StartFailedReason && w.clock.Now().Sub(began) < time.Hour; reason, _ = w.condition() {
				w.clock.Step(max(w.reconcile().RequeueAfter, time.Second))
			}
			if waited := w.clock.Now().Sub(began); waited > time.Minute {
				t.Errorf("%s It is reported after %s", c.reason, waited)
			}
			w.reconcile()
			running := 4
			if c.left {
				running = 5
			}
			w.expect("in the end", state{running, false, false})
			if reason, message := w.condition(); reason != infrav1.StartFailedReason || message != c.want {
				t.Errorf("%s Condition %s:\n%s\nwant\n%s", c.reason, reason, message, c.want)
			}
		})
	}
}

// TestLoadBalancerRemoved: the start continues once its controller has recreated the load balancer,
// which it does as soon as the Cluster is not paused.
func TestLoadBalancerRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) { o.ContainerCluster.Spec.LoadBalancer.HostPort = 40001 })
	name := builders.Owner().LoadBalancerContainer()
	create := func() {
		must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{
			Name: name, Image: builders.NodeImage, Labels: builders.Owner().ContainerLabels(identity.RoleLoadBalancer, ""),
		}))(t)
		must.Succeed(t, w.engine.StartContainer(t.Context(), name))
	}
	create()
	w.edit(stopped)
	w.settle()
	must.Succeed(t, w.engine.RemoveContainer(t.Context(), name))
	w.edit(started)
	for range 3 {
		w.clock.Step(w.reconcile().RequeueAfter)
	}
	w.expect("without it", state{5, false, false})
	const want = "5 of 5 containers are running; load balancer %s not found"
	if reason, message := w.condition(); reason != infrav1.StartFailedReason || message != fmt.Sprintf(want, name) {
		t.Errorf("condition %s: %s", reason, message)
	}
	create()
	w.settle()
	w.expectEnd(end{state{6, false, false}, infrav1.StartedReason})
}

// TestRemovedFromPaused: nothing of a Cluster that its user has paused is recreated, which the
// message says.
func TestRemovedFromPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) { o.Cluster.Spec.Paused = ptr.To(true) })
	w.edit(stopped)
	w.settle()
	must.Succeed(t, w.engine.RemoveContainer(t.Context(), "worker-1"))
	w.edit(started)
	for range 3 {
		w.clock.Step(w.reconcile().RequeueAfter)
	}
	w.expect("started", state{4, true, false})
	const want = "container worker-1 of ContainerMachine m1 not found; nothing is recreated or replaced while the Cluster is paused: unset its spec.paused"
	if reason, message := w.condition(); reason != infrav1.StartFailedReason || !strings.Contains(message, want) {
		t.Errorf("condition %s: %s", reason, message)
	}
}

// TestNothingRunsWhileStopped: the condition does not say that a cluster is stopped of which
// containers are being started.
func TestNothingRunsWhileStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.edit(stopped)
	w.settle()
	w.edit(started)
	var reported []string
	w.engine.OnCall(func(call simulated.Call) error {
		if call.Method == "StartContainer" {
			reason, _ := w.condition()
			reported = append(reported, reason)
		}
		return nil
	})
	w.reconcile()
	if len(reported) != 5 || slices.Contains(reported, infrav1.StoppedReason) {
		t.Errorf("reported at the starts: %q", reported)
	}
}

// TestEngineComesBack: once an engine answers again, a stop and a start continue where they
// were, with all their time.
func TestEngineComesBack(t *testing.T) {
	t.Parallel()
	for operation, o := range operations() {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			o.prepare(w)
			w.engine.Down()
			o.begin(w)
			w.settle()
			w.engine.Up()
			w.node.Status.Conditions[0].Status = "Unknown"
			_, _ = w.survive()
			_, _ = w.survive()
			if reason, _ := w.condition(); reason == infrav1.StartFailedReason {
				t.Error("a Node had no time to become Ready")
			}
			w.node.Status.Conditions[0].Status = "True"
			w.settle()
			w.expectEnd(o.want)
		})
	}
}

// TestTakenAddress: a cluster starts soon after the container was removed that took an address
// while it was stopped, and says until then which one that is.
func TestTakenAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := t.Context()
	network := must.Get(w.engine.CreateNetwork(ctx, engine.NetworkSpec{Name: "capcon", Subnets: []netip.Prefix{netip.MustParsePrefix("172.18.0.0/24")}}))(t)
	attachment := engine.Attachment{Network: network.Name, Addresses: []netip.Addr{netip.MustParseAddr("172.18.0.9")}}
	must.Succeed(t, w.engine.ConnectNetwork(ctx, network.Name, "control-plane", attachment))
	w.edit(stopped)
	w.settle()
	image := must.Get(w.engine.InspectContainer(ctx, "lb"))(t).Image
	must.Get(w.engine.CreateContainer(ctx, engine.Spec{Name: "other", Image: image, Attachment: attachment}))(t)
	must.Succeed(t, w.engine.StartContainer(ctx, "other"))
	w.edit(started)
	result := w.reconcile()
	if _, message := w.condition(); !strings.Contains(message, "address 172.18.0.9 is in use by container other") {
		t.Errorf("message %q", message)
	}
	w.engine.ResetJournal()
	for waited := time.Duration(0); waited < time.Minute; waited += result.RequeueAfter {
		w.clock.Step(result.RequeueAfter)
		result = w.reconcile()
	}
	if tries := len(w.calls("StartContainer")); tries > 15 {
		t.Errorf("%d starts in a minute", tries)
	}
	must.Succeed(t, w.engine.RemoveContainer(ctx, "other"))
	for waited := time.Duration(0); waited < 30*time.Second; waited += max(result.RequeueAfter, time.Second) {
		w.clock.Step(result.RequeueAfter)
		result = w.reconcile()
	}
	w.expect("half a minute after its removal", state{5, false, false})
}

// TestAnotherEngine: what another engine does not have is neither stopped nor lost.
func TestAnotherEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) {
		metav1.SetMetaDataAnnotation(&o.ContainerCluster.ObjectMeta, infrav1.EngineAnnotation, "simulated")
	})
	look := func(what string, want state) {
		t.Helper()
		for range 10 {
			w.reconcile()
			w.clock.Step(time.Minute)
		}
		w.expect(what, want)
		if reason, message := w.condition(); reason != infrav1.EngineChangedReason {
			t.Errorf("%s: condition %s (%s), want %s", what, reason, message, infrav1.EngineChangedReason)
		}
	}
	w.setReported(metav1.ConditionFalse)
	w.edit(stopped)
	w.engine.SwitchStorage("another")
	look("stopped elsewhere", state{})

	w.engine.SwitchStorage("simulated")
	w.settle()
	w.expect("stopped", state{0, true, true})

	w.edit(started)
	w.engine.SwitchStorage("another")
	// A MachineHealthCheck would remediate the Machines of a Cluster that is not paused.
	look("started elsewhere", state{0, true, true})

	w.engine.SwitchStorage("simulated")
	w.settle()
	w.expect("started", state{5, false, false})
}
