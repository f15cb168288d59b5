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

package world

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
)

// ReconcilePool lets the pool controller look once.
func (w *World) ReconcilePool() (result ctrl.Result, err error) {
	w.Calls.during(func() { result, err = w.Pool.Reconcile(w.TB.Context(), request(builders.Pool)) })
	return result, err
}

// SettlePool lets Cluster API and the controllers of pools and machines look
// at everything until that changes nothing any more.
func (w *World) SettlePool() Outcome {
	w.TB.Helper()
	return w.settle(w.LookAtPool)
}

// LookAtPool lets each of them look once. The outcome is that of the pool.
func (w *World) LookAtPool() Outcome {
	w.TB.Helper()
	w.ActAsClusterAPI()
	result, err := w.ReconcilePool()
	for _, machine := range w.ContainerMachines() {
		// What is wrong with a machine is in its conditions.
		_, _ = w.ReconcileMachine(machine.Name)
	}
	return Outcome{Result: result, Err: err}
}

// CheckPool is CheckMachine for the pool.
func (w *World) CheckPool(kind Check) {
	w.TB.Helper()
	object, there := Get(w, builders.Pool, &infrav1.ContainerMachinePool{})
	if !there {
		return
	}
	check(w, builders.Pool, object, checks[*infrav1.ContainerMachinePool]{
		kind:     kind,
		settle:   func() { w.SettlePool() },
		forget:   func(object *infrav1.ContainerMachinePool) { object.Status = infrav1.ContainerMachinePoolStatus{} },
		status:   func(object *infrav1.ContainerMachinePool) any { return withoutTimes(object.DeepCopy()).Status },
		summedUp: []string{infrav1.ReplicasReadyCondition},
	})
}

// ContainerMachines returns all there are, sorted by name.
func (w *World) ContainerMachines() []infrav1.ContainerMachine {
	w.TB.Helper()
	list := &infrav1.ContainerMachineList{}
	w.list(list)
	return list.Items
}

// Machines returns all there are, sorted by name.
func (w *World) Machines() []clusterv1.Machine {
	w.TB.Helper()
	list := &clusterv1.MachineList{}
	w.list(list)
	return list.Items
}

func (w *World) list(list client.ObjectList) {
	w.TB.Helper()
	if err := w.Client.List(context.WithoutCancel(w.TB.Context()), list, client.InNamespace(builders.Namespace)); err != nil {
		w.TB.Fatal(err)
	}
}

// ActAsClusterAPI does once what Cluster API does for the pool: it makes a
// Machine for each ContainerMachine, finds the Nodes of those that are ready,
// and lets Machines that are deleted take their ContainerMachines with them.
func (w *World) ActAsClusterAPI() {
	w.TB.Helper()
	machinePool, _ := Get(w, builders.Pool, &clusterv1.MachinePool{})
	pool, _ := Get(w, builders.Pool, &infrav1.ContainerMachinePool{})
	for _, containerMachine := range w.ContainerMachines() {
		_, claimed := Get(w, containerMachine.Name, &clusterv1.Machine{})
		wanted := machinePool.DeletionTimestamp.IsZero() && containerMachine.DeletionTimestamp.IsZero()
		if !claimed && wanted && pool.Status.InfrastructureMachineKind == "ContainerMachine" {
			w.claim(machinePool, containerMachine.Name)
		}
	}
	for _, machine := range w.Machines() {
		containerMachine, there := Get(w, machine.Name, &infrav1.ContainerMachine{})
		switch {
		case !machine.DeletionTimestamp.IsZero() && !there:
			Edit(w, machine.Name, &clusterv1.Machine{}, func(m *clusterv1.Machine) { m.Finalizers = nil })
		case !machine.DeletionTimestamp.IsZero() && containerMachine.DeletionTimestamp.IsZero():
			Delete(w, machine.Name, containerMachine)
		case machine.DeletionTimestamp.IsZero():
			w.setHealth(machine.Name, containerMachine)
		}
	}
}

// claim makes the Machine of a ContainerMachine, without version, data or
// failure domain.
func (w *World) claim(machinePool *clusterv1.MachinePool, name string) {
	w.TB.Helper()
	machine, _ := builders.MachinePair(name)
	machine.Spec = clusterv1.MachineSpec{
		ClusterName: builders.Cluster, InfrastructureRef: machine.Spec.InfrastructureRef,
		Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("")},
	}
	machine.Labels[clusterv1.MachinePoolNameLabel] = machinePool.Name
	machine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(machinePool, clusterv1.GroupVersion.WithKind("MachinePool"))}
	if err := w.Client.Create(context.WithoutCancel(w.TB.Context()), machine); err != nil {
		w.TB.Fatal(err)
	}
	Edit(w, name, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
		if err := controllerutil.SetControllerReference(machine, m, w.Client.Scheme()); err != nil {
			w.TB.Fatal(err)
		}
	})
}

// setHealth is what Cluster API says of a Machine: that it has a Node, and
// whether it can be counted on.
func (w *World) setHealth(name string, containerMachine *infrav1.ContainerMachine) {
	w.TB.Helper()
	machine, _ := Get(w, name, &clusterv1.Machine{})
	before := machine.DeepCopy()
	available := metav1.Condition{Type: clusterv1.MachineAvailableCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotAvailableReason}
	if conditions.IsTrue(containerMachine, infrav1.MachineReadyCondition) {
		machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
		available.Status, available.Reason = metav1.ConditionTrue, clusterv1.AvailableReason
	}
	conditions.Set(machine, available)
	if conditions.GetReason(before, available.Type) == available.Reason && before.Status.NodeRef == machine.Status.NodeRef {
		return
	}
	if err := w.Client.Status().Update(context.WithoutCancel(w.TB.Context()), machine); err != nil {
		w.TB.Fatal(err)
	}
}

// PoolSecret makes another data secret for pools.
func (w *World) PoolSecret(name string) {
	w.TB.Helper()
	secret := builders.DataSecret(builders.Pool, builders.JoinWorkerData)
	secret.Name = name
	if err := w.Client.Create(context.WithoutCancel(w.TB.Context()), secret); err != nil {
		w.TB.Fatal(err)
	}
}
