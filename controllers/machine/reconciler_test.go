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
