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
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// A reconcile that has nothing to do makes the same few calls of the engine in a large
// cluster as in a small one. That a call is one request, however many containers there
// are, is what the conformance suite of the engines proves.
func TestCallsDoNotGrowWithTheCluster(t *testing.T) {
	t.Parallel()
	calls := func(t *testing.T, machines int) map[string][]string {
		t.Helper()
		w := world.New(t, builders.New(builders.ControlPlane(builders.InitData), func(o *builders.Objects) {
			for i := range machines {
				machine, containerMachine := builders.MachinePair(fmt.Sprintf("w%d", i))
				o.Others = append(o.Others, machine, containerMachine, builders.DataSecret(machine.Name, builders.JoinWorkerData))
			}
		}))
		w.Nodes.FirstBoot(record.Done)
		w.SettleCluster()
		for _, machine := range w.ContainerMachines() {
			w.SettleMachine(machine.Name)
		}
		w.SettleCluster()
		made := map[string][]string{}
		during := func(what string, reconcile func() error) {
			before := len(w.Calls.Made())
			if err := reconcile(); err != nil {
				t.Errorf("%s, with %d machines: %v", what, machines, err)
			}
			for _, call := range w.Calls.Made()[before:] {
				made[what] = append(made[what], call.Method)
			}
		}
		during("cluster", func() error {
			_, err := w.ReconcileCluster()
			return err
		})
		during("machine", func() error {
			_, err := w.ReconcileMachine("w0")
			return err
		})
		return made
	}
	want := map[string][]string{
		// Exec asks the load balancer's process and reads its file.
		"cluster": {"InspectContainer", "InspectNetwork", "ListContainers", "Exec"},
		"machine": {"InspectContainer"},
	}
	for _, machines := range []int{1, 20} {
		// No time passes: what is known of the host is asked for again as it gets old.
		synctest.Test(t, func(t *testing.T) {
			if diff := cmp.Diff(want, calls(t, machines)); diff != "" {
				t.Errorf("calls with %d machines: -want +got:\n%s", machines, diff)
			}
		})
	}
}
