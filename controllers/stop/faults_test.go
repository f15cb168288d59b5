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

package stop_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// errKilled is what a manager that was killed gets for all that it still asks for.
var errKilled = errors.New("the manager is killed")

// settle reconciles until there is nothing more to do than to look once a minute, for half an
// hour at most, with the pauses that are asked for.
func (w *world) settle() {
	w.t.Helper()
	for end := w.clock.Now().Add(30 * time.Minute); w.clock.Now().Before(end); {
		result, err := w.survive()
		switch {
		case err != nil:
			w.clock.Step(5 * time.Second)
		case result.RequeueAfter == 0 || result.RequeueAfter == time.Minute:
			return
		default:
			w.clock.Step(result.RequeueAfter)
		}
	}
}

// survive reconciles once. A manager that was killed is started again.
func (w *world) survive() (ctrl.Result, error) {
	defer w.dead.Store(false)
	return w.reconciler.Reconcile(context.WithoutCancel(w.t.Context()), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.cluster())})
}

// end of a stop or a start.
type end struct {
	state
	reason string
}

func (w *world) expectEnd(want end) {
	w.t.Helper()
	w.engine.ResetHooks()
	w.expect("in the end", want.state)
	if reason, message := w.condition(); reason != want.reason {
		w.t.Errorf("condition %s (%s), want %s", reason, message, want.reason)
	}
}

// operations and their ends.
func operations() map[string]struct {
	prepare, begin func(w *world)
	want           end
} {
	stopIt := func(w *world) { w.edit(stopped) }
	return map[string]struct {
		prepare, begin func(w *world)
		want           end
	}{
		"stop": {func(*world) {}, stopIt, end{state{0, true, true}, infrav1.StoppedReason}},
		"start": {
			func(w *world) { stopIt(w); w.settle() }, func(w *world) { w.edit(started) },
			end{state{5, false, false}, infrav1.StartedReason},
		},
		// The annotation is removed before the stop has paused the Cluster.
		"start early": {
			func(w *world) { w.setReported("True"); stopIt(w); _, _ = w.survive() }, func(w *world) { w.edit(started) },
			end{state{5, false, false}, infrav1.StartedReason},
		},
	}
}

// side of the effect that a fault is on.
type side string

const (
	before side = "before"
	after  side = "after"
)

// TestOneFault: the end is the same whichever call of the engine fails once in whatever way, and
// wherever the manager is killed.
func TestOneFault(t *testing.T) {
	t.Parallel()
	faults := map[string]error{
		"killed":       errKilled,
		"unavailable":  fmt.Errorf("no answer: %w", engine.ErrUnavailable),
		"late":         fmt.Errorf("no answer: %w", context.DeadlineExceeded),
		"conflict":     fmt.Errorf("busy: %w", engine.ErrConflict),
		"invalid":      fmt.Errorf("refused: %w", engine.ErrInvalid),
		"address":      &engine.ConflictError{Resource: engine.ResourceAddress, Value: "172.18.0.9"},
		"host port":    &engine.ConflictError{Resource: engine.ResourceHostPort, Value: "40001"},
		"unauthorized": fmt.Errorf("refused: %w", engine.ErrUnauthorized),
		"unexpected":   errors.New("unexpected"),
	}
	for operation, o := range operations() {
		undisturbed := newWorld(t, nil)
		o.prepare(undisturbed)
		undisturbed.engine.ResetJournal()
		o.begin(undisturbed)
		undisturbed.settle()
		undisturbed.expectEnd(o.want)
		calls := len(undisturbed.engine.Journal()) - 1 // The last one is of expect.
		for name, fault := range faults {
			if operation == "start early" && name != "killed" && name != "unavailable" {
				continue // It makes the calls of a start.
			}
			t.Run(operation+"/"+name, func(t *testing.T) {
				t.Parallel()
				for number := 1; number <= calls; number++ {
					for _, at := range []side{before, after} {
						if at == after && !errors.Is(fault, errKilled) && !errors.Is(fault, engine.ErrUnavailable) {
							continue // What is refused has no effect.
						}
						w := newWorld(t, nil)
						o.prepare(w)
						w.engine.ResetJournal()
						w.disturbCalls(number, at, fault)
						o.begin(w)
						w.settle()
						w.expectEnd(o.want)
						if t.Failed() {
							t.Fatalf("fault at call %d, %s its effect", number, at)
						}
					}
				}
			})
		}
	}
}

// TestLostWrite: so it is whichever write to the API server fails, and wherever the manager is
// killed at one.
func TestLostWrite(t *testing.T) {
	t.Parallel()
	for operation, o := range operations() {
		for _, kill := range []bool{false, true} {
			for _, at := range []side{before, after} {
				t.Run(fmt.Sprintf("%s/kill=%t/%s", operation, kill, at), func(t *testing.T) {
					t.Parallel()
					for number, struck := 1, true; struck; number++ {
						w := newWorld(t, nil)
						o.prepare(w)
						struck = false
						w.disturbWrites(number, at, func() error {
							struck = true
							w.dead.Store(kill)
							return apierrors.NewTimeoutError("the API server does not answer", 1)
						})
						o.begin(w)
						w.settle()
						w.expectEnd(o.want)
						if t.Failed() {
							t.Fatalf("fault at write %d", number)
						}
					}
				})
			}
		}
	}
}

// disturbCalls lets the call of that number fail, before or after its effect.
func (w *world) disturbCalls(number int, at side, fault error) {
	strike := func(call simulated.Call) error {
		if call.Number != number {
			return nil
		}
		w.dead.Store(errors.Is(fault, errKilled))
		return fault
	}
	w.disturbWrites(0, before, nil)
	if at == after {
		w.engine.AfterCall(strike)
	} else {
		w.engine.OnCall(strike)
	}
}

// disturbWrites lets the write of that number strike, before or after its effect.
func (w *world) disturbWrites(number int, at side, strike func() error) {
	made := 0
	w.engine.OnCall(func(simulated.Call) error {
		if w.dead.Load() {
			return errKilled
		}
		return nil
	})
	do := func(write func() error) error {
		if w.dead.Load() {
			return errKilled
		}
		made++
		if made == number && at == before {
			return strike()
		}
		err := write()
		if made == number && at == after {
			return strike()
		}
		return err
	}
	w.reconciler.Client = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, p client.Patch, options ...client.PatchOption) error {
			return do(func() error { return c.Patch(ctx, object, p, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, subresource string, object client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			return do(func() error { return c.SubResource(subresource).Patch(ctx, object, p, options...) })
		},
	})
}

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
			"list containers: unavailable",
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
			"list containers: unavailable",
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

// sent are the Events so far.
func (w *world) sent() []string {
	var sent []string
	for {
		select {
		case event := <-w.recorded:
			sent = append(sent, event)
		default:
			return sent
		}
	}
}

// TestEvents: each end has one Event.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.edit(stopped)
	w.settle()
	w.edit(started)
	w.settle()
	want := []string{"Normal ClusterStopped 5 of 5 containers are stopped", "Normal ClusterStarted 5 of 5 containers are running"}
	if diff := gocmp.Diff(want, w.sent()); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}
