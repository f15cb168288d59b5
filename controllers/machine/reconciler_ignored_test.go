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
	"testing"
	"time"

	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

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
