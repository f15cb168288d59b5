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
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/controllers/clusterpower"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// power lets the provider stop and start the cluster, once each time that a command waits.
func power(w *commandtest.World) func() {
	recorder := events.NewFakeRecorder(10000)
	reconciler := &clusterpower.Reconciler{
		Engines: engines.New(&engines.Connection{Engine: w.Engine}, engines.Options{}), Events: recorder, Clock: clock{w},
		// A fake client knows the status of the kinds only that it was made with.
		Client: interceptor.NewClient(w.Client, interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, _ string, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
				return c.Patch(ctx, object, patch)
			},
		}),
		Workload: func(context.Context, client.ObjectKey) (client.Client, error) { return w.Workload, nil },
	}
	return func() {
		key := client.ObjectKey{Namespace: "default", Name: "demo"}
		// What it could not do yet it does the next time.
		_, _ = reconciler.Reconcile(w.T.Context(), ctrl.Request{NamespacedName: key})
	}
}

// clock of the commands, for controllers.
type clock struct{ *commandtest.World }

func (c clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// newRunning is a world with the cluster demo, which the provider stops and starts.
func newRunning(t *testing.T) *commandtest.World {
	t.Helper()
	w := commandtest.Created(t)
	owner := identity.Owner{Namespace: "default", Cluster: "demo", ID: "owner"}
	w.AddContainer(owner.LoadBalancerContainer(), "demo", "owner", identity.RoleLoadBalancer)
	w.Controllers = power(w)
	return w
}

// failCall fails all calls of a method for the container of the control plane.
func failCall(w *commandtest.World, method, message string) {
	w.Engine.OnCall(func(call simulated.Call) error {
		if call.Method == method && call.Name == "demo-a-1234" {
			return errors.New(message)
		}
		return nil
	})
}

func TestStopAndStart(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	commandtest.Contains(t, w.MustRun("start", "demo"), "done    containers: running")
	// A second stop finds it done.
	for range 2 {
		commandtest.Contains(t, w.MustRun("stop", "demo"), "containers: 2 of 2 containers are stopped", "Cluster demo is stopped after", "capcon start demo")
	}
	commandtest.Contains(t, w.MustNotYet("status", "demo"), `The cluster is stopped. Start it with "capcon start demo".`)
	commandtest.Contains(t, w.MustNotYet("status"), "stopped")
	for _, command := range []string{"start", "up"} {
		commandtest.Contains(t, w.MustRun(command, "demo"), "Cluster demo is ready")
		if found := must.Get(w.Engine.InspectContainer(t.Context(), "demo-a-1234"))(t); found.Status != engine.StatusRunning {
			t.Errorf("after %s the container is %s", command, found.Status)
		}
		w.Run("stop", "demo")
	}
}

// TestStopInMemory: clusters in memory are stopped and started by the same controller.
func TestStopInMemory(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	w.Plane.Current.InMemory = true
	commandtest.Contains(t, w.MustRun("stop", "demo"), "Cluster demo is stopped after")
	commandtest.Contains(t, w.MustRun("start", "demo"), "Cluster demo is ready", "capcon tunnel")
}

// TestStopFails: a cluster is not called stopped that has a container which is not.
func TestStopFails(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	must.Succeed(t, w.Engine.Pause("demo-a-1234"))
	out := w.MustFail("stop", "demo")
	commandtest.Lacks(t, out, "is stopped after")
	const message = "1 of 2 containers are stopped; container demo-a-1234 is paused; unpause it"
	commandtest.Contains(t, out, "waiting containers: "+message, `cluster "demo" is not stopped: StopFailed: `+message, "remedy:", `run "capcon stop demo" again`)
	commandtest.Contains(t, w.MustNotYet("status"), "stopping", "StopFailed: "+message)

	// The user does what the message says, and the same command succeeds.
	must.Succeed(t, w.Engine.Unpause("demo-a-1234"))
	w.MustRun("stop", "demo")
}

// pause the Cluster as its user does.
func pause(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) }

// TestStartOfPaused: the objects of a paused Cluster report what was before. The containers
// are waited for, and the command says that the Cluster stays paused.
func TestStartOfPaused(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	commandtest.Update(w, "demo", &clusterv1.Cluster{}, pause)
	w.MustRun("stop", "demo")
	// A Machine that was not ready when its user paused the Cluster stays so.
	commandtest.Update(w, "demo-a", &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
		machine.Status.Conditions[1].Status = metav1.ConditionFalse
	})
	commandtest.Contains(t, w.MustRun("start", "demo", "--timeout", "1m"), "Cluster demo is started after", "is paused (spec.paused) and stays paused")
	if !ptr.Deref(w.Cluster().Spec.Paused, false) {
		t.Error("the Cluster is not paused any more")
	}
}

// TestStartOfPausedFails: no controller does anything about it, and no command waits for one.
func TestStartOfPausedFails(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	commandtest.Update(w, "demo", &clusterv1.Cluster{}, pause)
	w.Run("stop", "demo")
	failCall(w, "StartContainer", "no space left")
	out := w.MustFail("start", "demo")
	commandtest.Lacks(t, out, "demo is ready", "demo is started")
	commandtest.Contains(t, out, `cluster "demo" is not started: StartFailed: 1 of 2 containers are running; container demo-a-1234 did not start: no space left`,
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
				w.Run("stop", "demo")
			}
			w.Controllers = func() {
				cluster := w.Cluster()
				tc.revoke(cluster)
				must.Succeed(t, w.Client.Update(t.Context(), cluster))
			}
			commandtest.Contains(t, w.MustFail(tc.command, "demo"), tc.want, "capcon "+tc.command+" demo")
		})
	}
}

// TestPowerTimesOut: what a command waited for is in its error.
func TestPowerTimesOut(t *testing.T) {
	t.Parallel()
	w := newRunning(t)
	failCall(w, "StopContainer", "did not exit")
	commandtest.Contains(t, w.MustFail("stop", "demo", "--timeout", "1s"), "1 of 2 containers are stopped; container demo-a-1234 did not stop: did not exit", "did not stop within 1s")
}

func TestStopRefuses(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	for _, args := range [][]string{{"stop", "demo"}, {"start", "demo"}} {
		commandtest.Contains(t, w.MustFail(args...), "no management cluster found")
	}
	w.Run("plane", "up")
	commandtest.Contains(t, w.MustFail("stop", "demo"), `"demo"`, "not found")
}

// TestStopOfUnreached: nothing is changed where containers of the cluster could not be stopped.
func TestStopOfUnreached(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"build", "other"} {
		w, _, _ := commandtest.Spread(t)
		w.BreakEngine(broken, "connection refused")
		w.Writes = 0
		commandtest.Contains(t, w.MustFail("stop", "demo"), `cluster "demo" is not stopped: engine "`+broken+`": the management plane does not reach it`, "capcon engine list -o wide")
		if _, stopped := w.Cluster().Annotations[infrav1.StoppedAnnotation]; stopped || w.Writes > 0 {
			t.Errorf("%d writes, stopped %t", w.Writes, stopped)
		}
	}
}
