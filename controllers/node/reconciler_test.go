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

package node_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// nodeTest reconciles a machine until nothing changes, twice if change is set.
type nodeTest struct {
	reason string
	args   args
	want   want
	// check of a lost status.
	check  world.Check
	assert func(t *testing.T, w *world.World)
}

type args struct {
	options []builders.Option
	// setup runs before the first reconcile, change after nothing changes any more.
	setup, change func(t *testing.T, w *world.World)
}

type want struct {
	// Conditions as Status/Reason; those of a Node by default.
	containerReady, bootstrapCompleted string
	// message is part of the message of Ready.
	message string
	// requeueAfter of the last reconcile; 0 = none.
	requeueAfter time.Duration
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]nodeTest{named(), registries(), resources(), copied()} {
		for name, test := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test.run(t)
			})
		}
	}
}

func (test nodeTest) run(t *testing.T) {
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
	got, desired := want{requeueAfter: outcome.Result.RequeueAfter}, test.want
	got.containerReady, _ = world.State(object, infrav1.ContainerReadyCondition)
	got.bootstrapCompleted, _ = world.State(object, infrav1.BootstrapCompletedCondition)
	_, got.message = world.State(object, infrav1.MachineReadyCondition)
	desired.containerReady = cmp.Or(desired.containerReady, "True/"+infrav1.ContainerRunningReason)
	desired.bootstrapCompleted = cmp.Or(desired.bootstrapCompleted, "True/"+infrav1.BootstrapCompletedReason)
	if strings.Contains(got.message, desired.message) {
		desired.message = got.message
	}
	if diff := gocmp.Diff(desired, got, gocmp.AllowUnexported(want{})); diff != "" || outcome.Err != nil {
		t.Errorf("%s (-want +got):\n%s\nerror: %v", test.reason, diff, outcome.Err)
	}
	w.CheckMachine(builders.Machine, test.check)
	if test.assert != nil {
		test.assert(t, w)
	}
}

func container() string { return builders.Container(builders.Machine) }

// isDone makes the node say that its bootstrap is done.
func isDone(t *testing.T, w *world.World) {
	t.Helper()
	must.Succeed(t, simulatednode.Record(w.Engine, container(), map[string]string{"": "done"}))
}

func becomesNode(_ *testing.T, w *world.World) {
	world.EditStatus(w, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{Name: builders.Machine}
	})
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
