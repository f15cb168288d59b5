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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// interrupted tests nodes that were stopped during
// their bootstrap.
func interrupted() map[string]reconcileTest {
	restart := func(_ *testing.T, w *world.World) { w.Engine.RestartEngine() }
	const again, failed = "BootstrapRepeated", "False/" + infrav1.BootstrapInterruptedReason
	initOptions := []builders.Option{builders.ControlPlane(builders.InitData)}
	repeats := want{containerReady: runs, bootstrapCompleted: "False/" + infrav1.BootstrappingReason, requeueAfter: atARecord, containers: 1, provisioned: true, attempt: "2"}
	stays := want{containerReady: runs, bootstrapCompleted: failed, containers: 1, provisioned: true}
	initialized := func(_ *testing.T, w *world.World) {
		world.EditStatus(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) {
			c.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
		})
	}
	otherControlPlane := func(o *builders.Objects) {
		other, containerMachine := builders.MachinePair("other")
		builders.MakeControlPlane(other)
		other.Status.NodeRef = clusterv1.MachineNodeReference{Name: "other"}
		o.Others = append(o.Others, other, containerMachine)
	}
	recreating := func(_ *testing.T, w *world.World) {
		world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
			m.Spec.Bootstrap.Attempt, m.Spec.Bootstrap.Recreating = 2, ptr.To(true)
		})
	}
	return map[string]reconcileTest{
		"WorkerInterrupted": {
			reason: "A worker's interrupted join is retried in a new container of the same name.",
			args:   args{change: restart},
			want:   repeats,
			assert: event(again),
		},
		"InitInterrupted": {
			reason: "The first control plane is retried in a new container.",
			args:   args{options: initOptions, change: restart},
			want:   repeats,
			assert: event(again),
		},
		"InitInterruptedAsNode": {
			reason: "Its Node registers before kubeadm init ends, and no other control plane can replace it.",
			args:   args{options: initOptions, change: all(becomesNode, restart)},
			want:   repeats,
			assert: event(again),
		},
		"InitInterruptedAfterKubeadm": {
			reason: "A cluster that kubeadm init completed is kept.",
			args:   args{options: initOptions, change: all(becomesNode, record("interrupted", "kubernetes-up", "true"))},
			want:   stays,
		},
		"InitInterruptedBeforeItIsANode": {
			reason: "Kubernetes runs in it, although Cluster API has not found its Node: the provider ID may be the user's own.",
			args:   args{options: initOptions, change: all(initialized, record("interrupted", "kubernetes-up", "true"))},
			want:   stays,
			assert: recorded(infrav1.MachineBootstrap{Attempt: 1}),
		},
		"InitInterruptedInitialized": {
			reason: "The KubeadmControlPlane has found kubeadm's ConfigMap: the container holds the only member of etcd.",
			args:   args{options: initOptions, change: all(initialized, restart)},
			want:   stays,
			assert: recorded(infrav1.MachineBootstrap{Attempt: 1}),
		},
		"InitInterruptedWithANode": {
			reason: "The cluster lives in the other control plane.",
			args:   args{options: append(initOptions, otherControlPlane), change: restart},
			want:   stays,
			assert: recorded(infrav1.MachineBootstrap{Attempt: 1}),
		},
		"RecreationWithdrawn": {
			reason: "What an earlier reconcile intended does not count when the Cluster is initialized.",
			args:   args{options: initOptions, change: all(initialized, recreating, restart)},
			want:   stays,
			assert: recorded(infrav1.MachineBootstrap{Attempt: 2}),
		},
		"RecreationContinued": {
			reason: "A container whose removal was recorded is created again, whatever became of the Machine.",
			args:   args{options: initOptions, change: all(becomesNode, initialized, recreating, containerRemoved)},
			want:   repeats,
			assert: recorded(infrav1.MachineBootstrap{Attempt: 2, Completed: ptr.To(true)}),
		},
		"RecreationWithANode": {
			reason: "A record that was restored from a backup does not create a second etcd.",
			args:   args{options: append(initOptions, otherControlPlane), change: all(recreating, containerRemoved)},
			want:   want{containerReady: "False/" + infrav1.ContainerNotFoundReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "control plane other is a Node", provisioned: true},
		},
		"WorkerInterruptedBeforeItIsANode": {
			reason: "Pods may run in it.",
			args:   args{change: record("interrupted", "kubernetes-up", "true")},
			want:   stays,
		},
		"InterruptedThreeTimes": {
			reason: "Three times is enough.",
			args:   args{change: all(restart, restart, restart)},
			want:   want{containerReady: runs, bootstrapCompleted: failed, message: "Bootstrap was interrupted", containers: 1, provisioned: true, attempt: "3"},
		},
		"ControlPlaneJoinInterrupted": {
			reason: "Its etcd member may exist already: only KCP can replace it.",
			args:   args{options: []builders.Option{builders.ControlPlane(builders.JoinControlPlaneData)}, change: restart},
			want:   stays,
		},
		"OwnBootstrapInterrupted": {
			reason: "What a user's own script leaves behind only its user knows.",
			args:   args{options: []builders.Option{builders.ControlPlane(builders.OwnData)}, change: restart},
			want:   stays,
		},
		"InterruptedAsNode": {
			reason: "A container that became a Node is not recreated.",
			args:   args{change: all(becomesNode, restart)},
			want:   stays,
		},
		"InterruptedWithoutData": {
			reason: "Without bootstrap data the container is not recreated.",
			args:   args{change: all(func(_ *testing.T, w *world.World) { world.Purge(w, "m1-data", &corev1.Secret{}) }, restart)},
			want:   stays,
		},
	}
}

func containerRemoved(t *testing.T, w *world.World) {
	t.Helper()
	must.Succeed(t, w.Engine.RemoveContainer(t.Context(), container()))
}

// lost tests control planes whose container was removed after they were Nodes.
func lost() map[string]reconcileTest {
	gone := all(record("done"), becomesNode, containerRemoved)
	missing := func(message string) want {
		return want{
			containerReady: "False/" + infrav1.ContainerNotFoundReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason,
			message: message, provisioned: true,
		}
	}
	other := func(o *builders.Objects) {
		machine, containerMachine := builders.MachinePair("other")
		builders.MakeControlPlane(machine)
		o.Others = append(o.Others, machine, containerMachine, builders.DataSecret("other", builders.JoinControlPlaneData))
	}
	joins := func(_ *testing.T, w *world.World) { w.SettleMachine("other") }
	joined := func(t *testing.T, w *world.World) {
		t.Helper()
		joins(t, w)
		world.EditStatus(w, "other", &clusterv1.Machine{}, func(m *clusterv1.Machine) {
			m.Status.NodeRef = clusterv1.MachineNodeReference{Name: "other"}
		})
	}
	removed := func(t *testing.T, w *world.World) {
		t.Helper()
		must.Succeed(t, w.Engine.RemoveContainer(t.Context(), builders.Container("other")))
	}
	controlPlane := builders.ControlPlane(builders.InitData)
	const replace = "delete the Machine, or let a MachineHealthCheck remediate it"
	const create = "capcon down c1, then capcon up c1"
	return map[string]reconcileTest{
		"LostWorker": {
			reason: "Its Pods run elsewhere.",
			args:   args{change: gone}, want: missing(replace),
		},
		"LostOnlyControlPlane": {
			reason: "A Machine that replaces it has nothing to join.",
			args:   args{options: []builders.Option{controlPlane}, change: gone}, want: missing(create),
		},
		"LostControlPlane": {
			reason: "The others have the data.",
			args:   args{options: []builders.Option{controlPlane, other}, setup: joined, change: gone}, want: missing(replace),
		},
		"LostControlPlaneDuringAJoin": {
			reason: "What joins has no data.",
			args:   args{options: []builders.Option{controlPlane, other}, setup: joins, change: gone}, want: missing(create),
		},
		"LostLastControlPlane": {
			reason: "The container of the other one is gone too.",
			args:   args{options: []builders.Option{controlPlane, other}, setup: all(joined, removed), change: gone}, want: missing(create),
		},
	}
}

// recorded compares the record, except for the addresses.
func recorded(want infrav1.MachineBootstrap) func(*testing.T, *world.World) {
	return func(t *testing.T, w *world.World) {
		t.Helper()
		object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
		got := object.Spec.Bootstrap
		got.Addresses = nil
		if diff := diff(want, got); diff != "" {
			t.Errorf("spec.bootstrap (-want +got):\n%s", diff)
		}
	}
}

// TestRecordDoesNotConflict: a reconcile that writes the record ends with its conditions
// written, without an error and another try.
func TestRecordDoesNotConflict(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.SettleMachine(builders.Machine)
	record("done")(t, w)
	if _, err := w.ReconcileMachine(builders.Machine); err != nil {
		t.Fatalf("the reconcile that finds the bootstrap done: %v", err)
	}
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if state, _ := world.State(object, infrav1.BootstrapCompletedCondition); state != "True/"+infrav1.BootstrapCompletedReason {
		t.Errorf("BootstrapCompleted is %s", state)
	}
	recorded(infrav1.MachineBootstrap{Attempt: 1, Completed: ptr.To(true)})(t, w)
}

// The next cluster answers at the endpoint of the one before it, and caches do not notice.
func TestInitWaitsForDisconnect(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(builders.ControlPlane(builders.InitData)))
	w.SettleCluster()
	w.SettleMachine(builders.Machine)
	connect := func(cache clustercache.ClusterCache) {
		w.ClusterCache = cache
		w.Restart()
	}
	connect(clustercache.NewFakeClusterCache(fake.NewClientBuilder().WithScheme(builders.Scheme(t)).Build(),
		client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster}))
	w.Engine.RestartEngine()
	for range 5 {
		_, _ = w.ReconcileMachine(builders.Machine) // each continues the recreation
	}
	if left := containers(t, w); len(left) > 0 {
		t.Errorf("containers %v while the manager is connected to the earlier cluster", left)
	}
	machine, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if state, message := world.State(machine, infrav1.ContainerReadyCondition); state != "False/"+infrav1.ContainerCreatingReason {
		t.Errorf("ContainerReady is %s: %s", state, message)
	}
	connect(clustercache.NewFakeEmptyClusterCache())
	must.Get(w.ReconcileMachine(builders.Machine))(t)
	if created := containers(t, w); len(created) != 1 {
		t.Errorf("containers %v, want one once the connection has ended", created)
	}
}

// The join of a worker continues in the cluster that the manager is connected to.
func TestJoinDoesNotWaitForDisconnect(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.ClusterCache = clustercache.NewFakeClusterCache(fake.NewClientBuilder().WithScheme(builders.Scheme(t)).Build(),
		client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster})
	w.Restart()
	w.SettleCluster()
	w.SettleMachine(builders.Machine)
	if created := containers(t, w); len(created) != 1 {
		t.Errorf("containers %v, want one", created)
	}
}

// What ClusterResourceSets applied to a cluster is applied to the one that a later kubeadm
// init creates in its place.
func TestInitResetsResourceSets(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		data   string
		// change after the resources were applied.
		change  func(t *testing.T, w *world.World)
		applied bool
	}{
		"Interrupted": {
			reason: "The container is recreated, and its etcd is empty.", data: builders.InitData,
			change: record("interrupted"),
		},
		"Removed": {
			reason: "So is the one of a container that was removed during its init.", data: builders.InitData,
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.RemoveContainer(t.Context(), container()))
			},
		},
		"Completed": {
			reason: "A cluster that is complete keeps what it has.", data: builders.InitData,
			change: record("done"), applied: true,
		},
		"Join": {
			reason: "A control plane that joins has the etcd of the others.", data: builders.JoinControlPlaneData,
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.KillContainer(container(), 137, false))
			},
			applied: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := builders.New(builders.ControlPlane(tc.data))
			binding := &addonsv1.ClusterResourceSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: objects.Cluster.Namespace, Name: objects.Cluster.Name}}
			binding.Spec.Bindings = []addonsv1.ResourceSetBinding{{
				ClusterResourceSetName: "cni", Resources: []addonsv1.ResourceBinding{{Applied: ptr.To(false)}},
			}}
			objects.Others = append(objects.Others, binding)
			w := world.New(t, objects)
			w.SettleMachine(builders.Machine)
			world.Edit(w, builders.Cluster, &addonsv1.ClusterResourceSetBinding{}, func(b *addonsv1.ClusterResourceSetBinding) {
				b.Spec.Bindings[0].Resources[0].Applied = ptr.To(true)
			})
			tc.change(t, w)
			w.SettleMachine(builders.Machine)

			found, _ := world.Get(w, builders.Cluster, &addonsv1.ClusterResourceSetBinding{})
			if applied := ptr.Deref(found.Spec.Bindings[0].Resources[0].Applied, false); applied != tc.applied {
				t.Errorf("%s\nthe resource is marked as applied: %t, want %t", tc.reason, applied, tc.applied)
			}
		})
	}
}
