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
	"cmp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// reconcileTest reconciles a machine until nothing changes, twice if change is set.
type reconcileTest struct {
	reason string
	args   args
	want   want
	// check of a lost status.
	check world.Check
	// assert what want has no field for.
	assert func(t *testing.T, w *world.World)
}

type args struct {
	options []builders.Option
	// setup runs before the first reconcile, change after nothing changes any more.
	setup, change func(t *testing.T, w *world.World)
}

type want struct {
	// Conditions as Status/Reason; ready defaults to the first other one that is not True.
	containerReady, bootstrapCompleted, ready string
	// message is part of the message of Ready.
	message string
	// requeueAfter of the last reconcile; 0 = none.
	requeueAfter time.Duration
	// err = the last reconcile returns an error.
	err bool
	// containers of the machine on the engine, each of attempt (default 1).
	containers int
	attempt    string
	// provisioned = status.initialization.provisioned and the provider ID are set.
	provisioned bool
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]reconcileTest{
		waiting(), publishedPorts(), invalidInput(), running(), exited(), disrupted(), engineFailures(), interrupted(), lost(), adopted(), pooled(),
	} {
		for name, test := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test.run(t)
			})
		}
	}
}

func (test reconcileTest) run(t *testing.T) {
	t.Helper()
	w := world.New(t, builders.New(test.args.options...))
	if test.args.setup != nil {
		test.args.setup(t, w)
	}
	outcome := w.SettleMachine(builders.Machine)
	if test.args.change != nil {
		test.args.change(t, w)
		outcome = w.SettleMachine(builders.Machine)
	}
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	got := want{
		requeueAfter: outcome.Result.RequeueAfter, err: outcome.Err != nil,
		provisioned: object.Status.Initialization.Provisioned != nil && object.Spec.ProviderID != "",
	}
	got.containerReady, _ = world.State(object, infrav1.ContainerReadyCondition)
	got.bootstrapCompleted, _ = world.State(object, infrav1.BootstrapCompletedCondition)
	got.ready, got.message = world.State(object, infrav1.MachineReadyCondition)
	for _, container := range containers(t, w) {
		got.containers++
		got.attempt = container.Labels[identity.LabelAttempt]
	}
	if diff := gocmp.Diff(test.want.complete(got), got, gocmp.AllowUnexported(want{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nerror: %v", test.reason, diff, outcome.Err)
	}
	if volumes := w.Engine.VolumeNames(); len(volumes) > 0 && len(containersOf(t, w, nil)) == 0 {
		t.Errorf("%s\nleaked volumes: %v", test.reason, volumes)
	}
	w.CheckMachine(builders.Machine, test.check)
	if test.assert != nil {
		test.assert(t, w)
	}
}

// complete returns what is wanted, with its defaults, and with what of got it accepts.
func (w want) complete(got want) want {
	w.ready = cmp.Or(w.ready, first(w.containerReady, w.bootstrapCompleted))
	if strings.Contains(got.message, w.message) {
		w.message = got.message
	}
	if w.requeueAfter == anyDelay && got.requeueAfter > 0 {
		w.requeueAfter = got.requeueAfter
	}
	if w.containers > 0 {
		w.attempt = cmp.Or(w.attempt, "1")
	}
	return w
}

// first returns the first state that is not True, which Ready repeats.
func first(states ...string) string {
	for _, state := range states {
		switch {
		case state == "absent":
			return "Unknown/NotYetReported"
		case !strings.HasPrefix(state, "True/"):
			return state
		}
	}
	return "True/Ready"
}

// containers of the machine.
func containers(t *testing.T, w *world.World) []engine.Container {
	t.Helper()
	return containersOf(t, w, map[string]string{identity.LabelOwnerID: builders.OwnerID, identity.LabelMachine: builders.Machine})
}

func containersOf(t *testing.T, w *world.World, labels map[string]string) []engine.Container {
	t.Helper()
	found := must.Get(w.Engine.ListContainers(t.Context(), labels))(t)
	return found
}

func container() string { return builders.Container(builders.Machine) }

// record makes the node say how its bootstrap stands: state, then pairs of
// file and content.
func record(files ...string) func(*testing.T, *world.World) {
	return func(t *testing.T, w *world.World) {
		t.Helper()
		content := map[string]string{"": files[0]}
		for i := 1; i+1 < len(files); i += 2 {
			content[files[i]] = files[i+1]
		}
		must.Succeed(t, simulatednode.Record(w.Engine, container(), content))
	}
}

// all does one thing after another, with the controller looking in between.
func all(steps ...func(*testing.T, *world.World)) func(*testing.T, *world.World) {
	return func(t *testing.T, w *world.World) {
		t.Helper()
		for i, step := range steps {
			if i > 0 {
				w.SettleMachine(builders.Machine)
			}
			step(t, w)
		}
	}
}

// annotate returns an option that annotates the ContainerMachine.
func annotate(key, value string) builders.Option {
	return func(o *builders.Objects) {
		metav1.SetMetaDataAnnotation(&o.ContainerMachine.ObjectMeta, key, value)
	}
}

func secondsOf(count int) time.Duration { return time.Duration(count) * time.Second }

// Objects that are not ours to reconcile yet, or at all.
func TestHandsOff(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		options []builders.Option
		// writes that are allowed before nothing happens any more.
		writes []string
	}{
		"NoMachine": {
			reason: "It has no owner yet, and gets no finalizer.",
			options: []builders.Option{func(o *builders.Objects) {
				o.ContainerMachine.OwnerReferences, o.ContainerMachine.Finalizers = nil, nil
			}},
		},
		"ExternallyManaged": {reason: "Not even a condition.", options: []builders.Option{annotate(clusterv1.ManagedByAnnotation, "other")}},
		"Paused": {
			reason: "It says that it is paused, once.", options: []builders.Option{annotate(clusterv1.PausedAnnotation, "")},
			writes: []string{"patch status *v1beta2.ContainerMachine m1"},
		},
		"ClusterPaused": {
			reason:  "So does the machine of a paused Cluster.",
			options: []builders.Option{func(o *builders.Objects) { o.Cluster.Spec.Paused = ptr.To(true) }},
			writes:  []string{"patch status *v1beta2.ContainerMachine m1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New(tc.options...))
			outcome := w.SettleMachine(builders.Machine)
			if diff := diff(tc.writes, w.Mutations()); diff != "" {
				t.Errorf("%s\ndeeds (-want +got):\n%s", tc.reason, diff)
			}
			if outcome.Err != nil || outcome.Result.RequeueAfter != 0 {
				t.Errorf("%s\nit requeues: %v, %v", tc.reason, outcome.Result, outcome.Err)
			}
			if calls := w.Calls.Made(); len(calls) > 0 {
				t.Errorf("%s\nthe engine was asked: %v", tc.reason, calls)
			}
		})
	}
}

func TestFinalizerComesFirst(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(func(o *builders.Objects) { o.ContainerMachine.Finalizers = nil }))
	// An engine that does not answer ends the reconcile with its first call.
	w.Engine.Down()
	if _, err := w.ReconcileMachine(builders.Machine); err == nil {
		t.Error("the engine is down, and no error says so")
	}
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if diff := diff([]string{infrav1.MachineFinalizer}, object.Finalizers); diff != "" {
		t.Error(diff)
	}
}

func TestUnpaused(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(annotate(clusterv1.PausedAnnotation, "")))
	w.SettleMachine(builders.Machine)
	world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) { m.Annotations = nil })
	w.SettleMachine(builders.Machine)
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if state, _ := world.State(object, infrav1.ContainerReadyCondition); state != runs {
		t.Errorf("After the pause ContainerReady is %s", state)
	}
	if state, _ := world.State(object, clusterv1.PausedCondition); state != "False/"+clusterv1.NotPausedReason {
		t.Errorf("After the pause Paused is %s", state)
	}
	w.CheckMachine(builders.Machine, world.ByNewManager)
}

// A created container that was never started may lack its bootstrap, and is
// not started without.
func TestLeftoverWaitsForItsData(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.Calls.Hook(nil, func(call simulatedCall) error {
		if call.Method == "CreateContainer" {
			panic("the manager is killed")
		}
		return nil
	})
	lookUntilKilled(w)
	w.Calls.Hook(nil, nil)
	secret := builders.DataSecret(builders.Machine, builders.JoinWorkerData)
	world.Delete(w, secret.Name, secret.DeepCopy())
	w.Restart()
	w.SettleMachine(builders.Machine)
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if state, _ := world.State(object, infrav1.ContainerReadyCondition); state != "False/"+infrav1.WaitingForBootstrapDataReason {
		t.Errorf("Without its data ContainerReady is %s", state)
	}
	must.Succeed(t, w.Client.Create(t.Context(), secret))
	w.SettleMachine(builders.Machine)
	if _, err := w.Engine.ReadFile(container(), "/opt/cluster-api-bootstrap/bootstrap"); err != nil {
		t.Errorf("The container lacks its bootstrap: %v", err)
	}
	w.CheckMachine(builders.Machine, world.ByNewManager)
}

func lookUntilKilled(w *world.World) {
	defer func() { _ = recover() }()
	for range 5 {
		_, _ = w.ReconcileMachine(builders.Machine)
	}
}
