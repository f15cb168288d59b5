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

package command

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/clusterpower"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// power lets the provider stop and start the cluster, once each time that a command waits.
func (w *world) power() func() {
	recorder := events.NewFakeRecorder(10000)
	reconciler := &clusterpower.Reconciler{
		Engine: w.engine, Events: recorder, Clock: clock{w},
		// A fake client knows the status of the kinds only that it was made with.
		Client: interceptor.NewClient(w.client, interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, _ string, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
				return c.Patch(ctx, object, patch)
			},
		}),
		Workload: func(context.Context, client.ObjectKey) (client.Client, error) { return w.workload, nil },
	}
	return func() {
		key := client.ObjectKey{Namespace: "default", Name: "demo"}
		// What it could not do yet it does the next time.
		_, _ = reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: key})
	}
}

// clock of the commands, for controllers.
type clock struct{ *world }

func (c clock) Now() time.Time                  { return c.time() }
func (c clock) Since(t time.Time) time.Duration { return c.time().Sub(t) }

// newRunning is a world with the cluster demo, which the provider stops and starts.
func newRunning(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	labels := identity.Owner{Namespace: "default", Cluster: "demo", ID: "owner"}
	must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{
		Name: labels.LoadBalancerContainer(), Image: "localhost/capcon/haproxy:2.6", Labels: labels.ContainerLabels(identity.RoleLoadBalancer, ""),
	}))(t)
	must.Succeed(t, w.engine.StartContainer(t.Context(), labels.LoadBalancerContainer()))
	w.controllers = w.power()
	return w
}

func TestStopAndStart(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	if code, out, errs := w.run("start", "demo"); code != 0 {
		t.Fatalf("start of what was never stopped ended with %d:\n%s%s", code, out, errs)
	} else {
		mustContain(t, errs, "done    containers: running")
	}
	// A second stop finds it done.
	for range 2 {
		code, out, errs := w.run("stop", "demo")
		if code != 0 {
			t.Fatalf("stop ended with %d:\n%s%s", code, out, errs)
		}
		mustContain(t, out+errs, "containers: 2 of 2 containers are stopped", "Cluster demo is stopped after", "capcon start demo")
	}
	if code, out, _ := w.run("status", "demo"); code != 0 {
		t.Errorf("status ended with %d", code)
	} else {
		mustContain(t, out, `The cluster is stopped. Start it with "capcon start demo".`)
	}
	_, table, _ := w.run("status")
	mustContain(t, table, "stopped")
	for _, command := range []string{"start", "up"} {
		code, out, errs := w.run(command, "demo")
		if code != 0 {
			t.Fatalf("%s ended with %d:\n%s%s", command, code, out, errs)
		}
		mustContain(t, out, "Cluster demo is ready")
		if found := must.Get(w.engine.InspectContainer(t.Context(), "demo-a-1234"))(t); found.Status != engine.StatusRunning {
			t.Errorf("after %s the container is %s", command, found.Status)
		}
		w.run("stop", "demo")
	}
}

// TestStopFails: a cluster is not called stopped that has a container which is not.
func TestStopFails(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	must.Succeed(t, w.engine.Pause("demo-a-1234"))
	code, out, errs := w.run("stop", "demo")
	if code != 1 || strings.Contains(out, "is stopped after") {
		t.Errorf("ended with %d:\n%s", code, out)
	}
	const message = "1 of 2 containers are stopped; container demo-a-1234 is paused; unpause it"
	mustContain(t, errs, "waiting containers: "+message, `cluster "demo" is not stopped: StopFailed: `+message, "remedy:", `run "capcon stop demo" again`)
	_, table, _ := w.run("status")
	mustContain(t, table, "stopping", "StopFailed: "+message)

	// The user does what the message says, and the same command succeeds.
	must.Succeed(t, w.engine.Unpause("demo-a-1234"))
	if code, out, errs := w.run("stop", "demo"); code != 0 {
		t.Errorf("ended with %d:\n%s%s", code, out, errs)
	}
}

// pauseCluster as its user does.
func (w *world) pauseCluster() {
	w.t.Helper()
	cluster := w.cluster()
	cluster.Spec.Paused = ptr.To(true)
	must.Succeed(w.t, w.client.Update(w.t.Context(), cluster))
}

// TestStartOfPaused: the objects of a paused Cluster report what was before. The containers
// are waited for, and the command says that the Cluster stays paused.
func TestStartOfPaused(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	w.pauseCluster()
	if code, out, errs := w.run("stop", "demo"); code != 0 {
		t.Fatalf("stop ended with %d:\n%s%s", code, out, errs)
	}
	// A Machine that was not ready when its user paused the Cluster stays so.
	machine := &clusterv1.Machine{}
	must.Succeed(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo-a"}, machine))
	machine.Status.Conditions[1].Status = metav1.ConditionFalse
	must.Succeed(t, w.client.Update(t.Context(), machine))
	code, out, errs := w.run("start", "demo", "--timeout", "1m")
	if code != 0 {
		t.Fatalf("start ended with %d:\n%s%s", code, out, errs)
	}
	mustContain(t, out, "Cluster demo is started after", "is paused (spec.paused) and stays paused")
	if !ptr.Deref(w.cluster().Spec.Paused, false) {
		t.Error("the Cluster is not paused any more")
	}
}

// TestStartOfPausedFails: no controller does anything about it, and no command waits for one.
func TestStartOfPausedFails(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	w.pauseCluster()
	w.run("stop", "demo")
	w.engine.OnCall(func(call simulated.Call) error {
		if call.Method == "StartContainer" && call.Name == "demo-a-1234" {
			return errors.New("no space left")
		}
		return nil
	})
	code, out, errs := w.run("start", "demo")
	if code != 1 || strings.Contains(out, "demo is") {
		t.Errorf("ended with %d:\n%s", code, out)
	}
	mustContain(t, errs, `cluster "demo" is not started: StartFailed: 1 of 2 containers are running; container demo-a-1234 did not start: no space left`,
		"remedy:", `run "capcon start demo" again`)
}

// TestPowerIsRevoked: a command does not wait for what another one has revoked.
func TestPowerIsRevoked(t *testing.T) {
	t.Parallel()
	remove := func(cluster *clusterv1.Cluster) { delete(cluster.Annotations, infrav1.StoppedAnnotation) }
	add := func(cluster *clusterv1.Cluster) {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.StoppedAnnotation, "")
	}
	cases := map[string]struct {
		reason  string
		command string
		revoke  func(*clusterv1.Cluster)
		want    string
	}{
		"stop":  {"The cluster is started meanwhile.", "stop", remove, `cluster "demo" is not stopped: it was started again meanwhile`},
		"start": {"The cluster is stopped meanwhile.", "start", add, `cluster "demo" is not started: it was stopped again meanwhile`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRunning(t)
			if tc.command == "start" {
				w.run("stop", "demo")
			}
			w.controllers = func() {
				cluster := w.cluster()
				tc.revoke(cluster)
				must.Succeed(t, w.client.Update(t.Context(), cluster))
			}
			code, _, errs := w.run(tc.command, "demo")
			if code != 1 {
				t.Errorf("%s ended with %d", tc.reason, code)
			}
			mustContain(t, errs, tc.want, "capcon "+tc.command+" demo")
		})
	}
}

// TestPowerTimesOut: what a command waited for is in its error.
func TestPowerTimesOut(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	w.engine.OnCall(func(call simulated.Call) error {
		if call.Method == "StopContainer" && call.Name == "demo-a-1234" {
			return errors.New("did not exit")
		}
		return nil
	})
	code, _, errs := w.run("stop", "demo", "--timeout", "1s")
	if code != 1 {
		t.Errorf("ended with %d", code)
	}
	mustContain(t, errs, "1 of 2 containers are stopped; container demo-a-1234 did not stop: did not exit", "did not stop within 1s")
}

func TestStopRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, args := range [][]string{{"stop", "demo"}, {"start", "demo"}} {
		if code, _, errs := w.run(args...); code != 1 {
			t.Errorf("%v without a plane ended with %d", args, code)
		} else {
			mustContain(t, errs, "no management cluster found")
		}
	}
	if code, _, errs := w.run("plane", "stop"); code != 1 {
		t.Errorf("plane stop without one ended with %d", code)
	} else {
		mustContain(t, errs, `no management cluster found on`, `start it with "capcon plane up"`)
	}
	w.run("plane", "up")
	code, _, errs := w.run("stop", "demo")
	if code != 1 {
		t.Errorf("stop of no cluster ended with %d", code)
	}
	mustContain(t, errs, `"demo"`, "not found")
}
