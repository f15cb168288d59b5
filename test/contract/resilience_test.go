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

package contract_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestResilience removes the finalizers of the provider's objects. They come
// back, and nothing else changes.
func TestResilience(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		name   string
		object client.Object
	}{
		"FinalizerOfCluster": {"Without it load balancer and network would be left.", builders.Cluster, &infrav1.ContainerCluster{}},
		"FinalizerOfMachine": {"Without it the container would be left.", worker, &infrav1.ContainerMachine{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := live(t)
			before, since := observe(w), len(w.Calls.Effects())
			world.Edit(w, c.name, c.object, func(object client.Object) { object.SetFinalizers(nil) })
			settle(w)
			check(t, c.reason+"\nThe cluster", before, observe(w))
			check(t, "what was done to the engine", []string{}, effects(w, since))
		})
	}
}

// TestNothingIsWrittenWithoutAChange reconciles a whole cluster and a pool again and
// again, as time passes and managers come and go: no object gets another
// resourceVersion.
func TestNothingIsWrittenWithoutAChange(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) (*world.World, func()){
		"Cluster": func(t *testing.T) (*world.World, func()) {
			t.Helper()
			w := live(t)
			return w, func() {
				_, _ = w.ReconcileCluster()
				for _, made := range w.ContainerMachines() {
					_, _ = w.ReconcileMachine(made.Name)
				}
			}
		},
		"Pool": func(t *testing.T) (*world.World, func()) {
			t.Helper()
			w := world.New(t, builders.New(builders.MachinePool(2)))
			w.Nodes.FirstBoot(record.Done)
			w.SettlePool()
			return w, func() { w.LookAtPool() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, look := begin(t)
			before := w.Versions()
			for round := range 10 {
				look()
				w.Clock.SetTime(w.Clock.Now().Add(10 * time.Minute))
				if round%3 == 2 {
					w.Restart()
				}
			}
			check(t, "versions of the objects", before, w.Versions())
		})
	}
}

// TestProvisionedComesWithTheRest: Cluster API waits for seconds where it is
// a machine is reported as provisioned before its provider ID is there, and
// indefinitely where a cluster is without its endpoint.
func TestProvisionedComesWithTheRest(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(builders.ControlPlane(builders.InitData)))
	writes := 0
	w.Writes.Hook(nil, func(world.Write) error {
		writes++
		cluster, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
		if endpoint := cluster.Spec.ControlPlaneEndpoint; cluster.Status.Initialization.Provisioned != nil && (endpoint.Host == "" || endpoint.Port == 0) {
			t.Errorf("after write %d the cluster is provisioned and has the endpoint %+v", writes, endpoint)
		}
		machine, _ := world.Get(w, controlPlane, &infrav1.ContainerMachine{})
		if machine.Status.Initialization.Provisioned != nil && (machine.Spec.ProviderID == "" || len(machine.Status.Addresses) < 2) {
			t.Errorf("after write %d the machine is provisioned and has provider ID %q and addresses %v", writes, machine.Spec.ProviderID, machine.Status.Addresses)
		}
		return nil
	})
	settle(w)
	machine, _ := world.Get(w, controlPlane, &infrav1.ContainerMachine{})
	if machine.Status.Initialization.Provisioned == nil || writes < 4 {
		t.Errorf("after %d writes the machine's status is %+v", writes, machine.Status)
	}
}
