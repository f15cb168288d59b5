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
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// Two management clusters have a cluster of the same namespace and name, with a machine of
// the same name, on one engine. Each has its own containers, and deletes only these.
func TestSameNameInTwoManagementClusters(t *testing.T) {
	t.Parallel()
	generated := func(o *builders.Objects) { o.ContainerCluster.Spec.OwnerID = "" }
	one := world.New(t, builders.New(generated))
	other := one.OtherManagement(builders.New(generated))
	first, second := becomesReady(one), becomesReady(other)
	if first.ID == second.ID {
		t.Fatalf("Both clusters have the owner ID %q", first.ID)
	}
	left := containersOf(one, second)
	deleteAll(one)
	for range 3 {
		one.SettleMachine(builders.Machine)
		one.SettleCluster()
	}
	if _, there := world.Get(one, builders.Cluster, &infrav1.ContainerCluster{}); there {
		t.Error("The first cluster is not deleted")
	}
	settle(other)
	if diff := cmp.Diff(left, containersOf(one, identity.Owner{})); diff != "" {
		t.Errorf("Containers after the first cluster was deleted (-of the second +all):\n%s", diff)
	}
	if _, err := one.Engine.InspectNetwork(t.Context(), network.DefaultName); err != nil {
		t.Errorf("The network that the second cluster is on: %v", err)
	}
	machineIsReady(other)
}

// becomesReady lets a cluster come up, and returns its identity.
func becomesReady(w *world.World) identity.Owner {
	w.TB.Helper()
	settle(w)
	cluster, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	owner := identity.Owner{Namespace: builders.Namespace, Cluster: builders.Cluster, ID: cluster.Spec.OwnerID}
	if err := simulatednode.Record(w.Engine, owner.NodeContainer(builders.Machine), map[string]string{"": "done"}); err != nil {
		w.TB.Fatal(err)
	}
	world.EditStatus(w, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{Name: builders.Machine}
	})
	settle(w)
	machineIsReady(w)
	return owner
}

func machineIsReady(w *world.World) {
	w.TB.Helper()
	machine, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if state, message := world.State(machine, infrav1.MachineReadyCondition); state != "True/Ready" {
		w.TB.Errorf("The machine is %s: %s", state, message)
	}
}

// containersOf an owner, or all if it is empty, with what would show that one was replaced
// or restarted.
func containersOf(w *world.World, owner identity.Owner) []string {
	w.TB.Helper()
	selector := owner.Labels()
	if owner == (identity.Owner{}) {
		selector = nil
	}
	containers, err := w.Engine.ListContainers(w.TB.Context(), selector)
	if err != nil {
		w.TB.Fatal(err)
	}
	var found []string
	for _, container := range containers {
		found = append(found, fmt.Sprint(container.Name, container.ID, container.Status, container.StartedAt))
	}
	slices.Sort(found)
	return found
}
