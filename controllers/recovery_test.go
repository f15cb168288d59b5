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

package controllers_test

import (
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// recovery is a bootstrap whose node is restarted, and what becomes of it.
type recovery struct {
	reason  string
	options []builders.Option
	// setup, once the bootstrap runs.
	setup func(*testing.T, *world.World)
	want  recovered
}

// recovered is the end of a recovery, whatever disturbs it.
type recovered struct {
	// bootstrap is the condition BootstrapCompleted.
	bootstrap string
	// attempt of the bootstrap, by the record and by the container.
	attempt int
	// began is how many bootstraps began, the first one included.
	began int
	// recorded as completed.
	completed bool
}

func recoveries() map[string]recovery {
	controlPlane := func(data string) []builders.Option { return []builders.Option{builders.ControlPlane(data)} }
	ofPool := func(o *builders.Objects) {
		o.Machine.Spec.Version, o.Machine.Spec.Bootstrap.DataSecretName = "", ptr.To("")
		o.Machine.Labels[clusterv1.MachinePoolNameLabel] = builders.Pool
		o.ContainerMachine.Annotations = map[string]string{
			infrav1.VersionAnnotation: "v1.36.3", infrav1.BootstrapDataSecretAnnotation: builders.Machine + "-data",
		}
	}
	becomesNode := func(_ *testing.T, w *world.World) {
		world.EditStatus(w, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
			m.Status.NodeRef = clusterv1.MachineNodeReference{Name: builders.Machine}
		})
		settle(w)
	}
	restarts := func(count int) func(*testing.T, *world.World) {
		return func(_ *testing.T, w *world.World) {
			for range count {
				w.Engine.RestartEngine()
				settle(w)
			}
		}
	}
	kubernetesUp := func(t *testing.T, w *world.World) {
		t.Helper()
		must.Succeed(t, simulatednode.Record(w.Engine, builders.Container(builders.Machine), map[string]string{"kubernetes-up": "true"}))
	}
	// At the boot the node finds that kubeadm has written its ConfigMap.
	completes := func(t *testing.T, w *world.World) {
		t.Helper()
		must.Succeed(t, simulatednode.Record(w.Engine, builders.Container(builders.Machine), map[string]string{"": "done"}))
	}
	const repeats, fails = "False/" + infrav1.BootstrappingReason, "False/" + infrav1.BootstrapInterruptedReason
	again, kept := recovered{repeats, 2, 2, false}, recovered{fails, 1, 1, false}
	return map[string]recovery{
		"Init": {reason: "It left nothing behind.", options: controlPlane(builders.InitData), want: again},
		"InitNode": {
			reason: "Its Node registers before it ends.", options: controlPlane(builders.InitData), setup: becomesNode,
			want: recovered{repeats, 2, 2, true},
		},
		"InitThrice": {reason: "The engine has another problem.", options: controlPlane(builders.InitData), setup: restarts(2), want: recovered{fails, 3, 3, false}},
		"InitKubernetesUp": {
			reason: "Only commands after it did not run.", options: controlPlane(builders.InitData), setup: kubernetesUp, want: kept,
		},
		"InitCompleted":    {reason: "The node completes it.", options: controlPlane(builders.InitData), setup: completes, want: recovered{"True/" + infrav1.BootstrapCompletedReason, 1, 1, true}},
		"JoinControlPlane": {reason: "It may be a member of etcd.", options: controlPlane(builders.JoinControlPlaneData), want: kept},
		"JoinWorker":       {reason: "It left nothing behind.", want: again},
		"JoinWorkerNode":   {reason: "Pods may run in it.", setup: becomesNode, want: recovered{fails, 1, 1, true}},
		"PoolInstance":     {reason: "It is a worker.", options: []builders.Option{ofPool}, want: again},
	}
}

// TestRecovery restarts the engine while a node bootstraps, and disturbs what follows, once
// for each call of the engine and each write to the API server: the manager is killed before
// or after it, its answer is lost, or the engine refuses it. A bootstrap that may not run
// again never does, and any other exactly once for each attempt; it always ends as stated,
// with nothing left of the container that was removed.
func TestRecovery(t *testing.T) {
	t.Parallel()
	for name, r := range recoveries() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scenario{options: r.options, setup: func(w *world.World) {
				settle(w)
				if r.setup != nil {
					r.setup(t, w)
				}
				w.Engine.RestartEngine()
			}}
			var want state
			faults.Each(t, faults.Of(faults.Killed, faults.Unavailable, faults.Refused), func(t *testing.T, f faults.Fault) *faults.Injector {
				t.Helper()
				s := s
				if f.Kind == faults.Refused {
					// It is cached for 15 seconds.
					s.patience = 17
				}
				w, injector := s.run(t, f, nil)
				r.check(t, w)
				got := snapshot(t, w)
				if f == (faults.Fault{}) {
					want = got
				}
				if diff := difference(want, got); diff != "" {
					t.Errorf("The end differs (-undisturbed +disturbed):\n%s", diff)
				}
				return injector
			})
		})
	}
}

func (r recovery) check(t *testing.T, w *world.World) {
	t.Helper()
	w.Calls.Hook(nil, nil)
	machine, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	state, message := world.State(machine, infrav1.BootstrapCompletedCondition)
	record := machine.Spec.Bootstrap
	got := recovered{bootstrap: state, attempt: int(record.Attempt), began: w.Calls.Begins()[builders.Container(builders.Machine)], completed: ptr.Deref(record.Completed, false)}
	if diff := gocmp.Diff(r.want, got, gocmp.AllowUnexported(recovered{})); diff != "" {
		t.Errorf("%s The end differs (-want +got):\n%s\n%s", r.reason, diff, message)
	}
	if record.Recreating != nil {
		t.Error("the recreation has not ended")
	}
	found := must.Get(w.Engine.ListContainers(t.Context(), map[string]string{identity.LabelMachine: builders.Machine}))(t)
	if len(found) != 1 || found[0].Labels[identity.LabelAttempt] != strconv.Itoa(r.want.attempt) || found[0].Status != engine.StatusRunning ||
		found[0].Labels[identity.LabelAddress] != record.Addresses[0] {
		t.Errorf("containers %v, want one that runs, of attempt %d, with the address %s", found, r.want.attempt, record.Addresses[0])
	}
	// Those of the load balancer and of one node.
	if volumes := w.Engine.VolumeNames(); len(volumes) != 1 {
		t.Errorf("volumes %v", volumes)
	}
}
