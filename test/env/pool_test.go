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

package env_test

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// poolLives: a pool is filled, rolled out, emptied and deleted, each because
// something its controller watches changed.
func (s *story) poolLives() {
	s.t.Helper()
	begin := builders.New(builders.MachinePool(2))
	s.create(begin.Secret)
	machinePool, pool := s.createPool(begin)
	s.eventually("two instances are made", nil, func() bool { return len(s.instances()) == 2 })
	s.bringUp(machinePool)
	s.eventually("the pool is ready", pool, func() bool {
		state, _ := world.State(pool, infrav1.MachinePoolReadyCondition)
		return state == "True/Ready" && len(pool.Spec.ProviderIDList) == 2 && pool.Status.Replicas == 2 && ptr.Deref(pool.Status.Ready, false)
	})
	checkRow(s.t, s.config, s.api, "containermachinepools/"+builders.Pool, map[string]string{
		"Cluster": builders.Cluster, "MachinePool": builders.Pool, "Replicas": "2", "Ready": "True", "Reason": "Ready", "Up-to-date": "True",
	})
	s.nothingHappens()

	s.edit(machinePool, func() { machinePool.Spec.Template.Spec.Version = "v1.36.4" })
	s.eventually("a third one is made for the rollout", nil, func() bool { return len(s.instances()) == 3 })
	s.bringUp(machinePool)
	s.eventually("an old one's Machine is deleted", nil, func() bool { return len(s.machines(leaving)) == 1 })

	s.edit(machinePool, func() { machinePool.Spec.Replicas = ptr.To[int32](0) })
	s.eventually("all Machines are deleted", nil, func() bool {
		s.bringUp(machinePool)
		return len(s.machines(leaving)) == len(s.instances())
	})
	s.takeDown()
	s.eventually("the pool is empty", pool, func() bool { return len(pool.Spec.ProviderIDList) == 0 && pool.Status.Replicas == 0 })

	must.Succeed(s.t, s.api.Delete(s.t.Context(), pool))
	s.eventually("the pool is gone", nil, func() bool {
		return apierrors.IsNotFound(s.api.Get(s.t.Context(), client.ObjectKeyFromObject(pool), &infrav1.ContainerMachinePool{}))
	})
	must.Succeed(s.t, s.api.Delete(s.t.Context(), machinePool))
}

func (s *story) createPool(begin *builders.Objects) (*clusterv1.MachinePool, *infrav1.ContainerMachinePool) {
	s.t.Helper()
	var machinePool *clusterv1.MachinePool
	var pool *infrav1.ContainerMachinePool
	for _, object := range begin.Others {
		object.SetUID("")
		switch object := object.(type) {
		case *clusterv1.MachinePool:
			machinePool = object
			s.create(machinePool)
		case *infrav1.ContainerMachinePool:
			pool = object
			pool.OwnerReferences[0].UID = machinePool.UID
			s.create(pool)
		}
	}
	return machinePool, pool
}

// bringUp does Cluster API's part, and that of the nodes.
func (s *story) bringUp(machinePool *clusterv1.MachinePool) {
	s.t.Helper()
	for _, instance := range s.instances() {
		name := instance.Name
		if metav1.GetControllerOf(&instance) == nil {
			machine, _ := builders.MachinePair(name)
			machine.UID = ""
			machine.Spec = clusterv1.MachineSpec{
				ClusterName: builders.Cluster, InfrastructureRef: machine.Spec.InfrastructureRef,
				Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("")},
			}
			machine.Labels[clusterv1.MachinePoolNameLabel] = machinePool.Name
			s.create(machine)
			s.edit(&instance, func() {
				instance.OwnerReferences = append(instance.OwnerReferences,
					*metav1.NewControllerRef(machine, clusterv1.GroupVersion.WithKind("Machine")))
			})
		}
		s.eventually("its container is made", &instance, func() bool { return instance.Spec.ProviderID != "" })
		must.Succeed(s.t, simulatednode.Record(s.engine, s.owner.NodeContainer(name), map[string]string{"": "done"}))
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: name}}
		s.editStatus(machine, func() {
			machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
			conditions.Set(machine, metav1.Condition{
				Type: clusterv1.MachineAvailableCondition, Status: metav1.ConditionTrue, Reason: clusterv1.AvailableReason,
			})
		})
	}
}

// takeDown does Cluster API's part of deleting Machines.
func (s *story) takeDown() {
	s.t.Helper()
	for _, machine := range s.machines(leaving) {
		must.Succeed(s.t, client.IgnoreNotFound(s.api.Delete(s.t.Context(), &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{
			Namespace: machine.Namespace, Name: machine.Name,
		}})))
	}
	s.eventually("the instances are gone", nil, func() bool { return len(s.instances()) == 0 })
	for _, machine := range s.machines(leaving) {
		s.edit(&machine, func() { machine.Finalizers = nil })
	}
}

func leaving(machine clusterv1.Machine) bool { return !machine.DeletionTimestamp.IsZero() }

// machines of the pool that are so.
func (s *story) machines(so func(clusterv1.Machine) bool) []clusterv1.Machine {
	s.t.Helper()
	all := &clusterv1.MachineList{}
	must.Succeed(s.t, s.api.List(s.t.Context(), all, client.MatchingLabels{clusterv1.MachinePoolNameLabel: builders.Pool}))
	return slices.DeleteFunc(all.Items, func(machine clusterv1.Machine) bool { return !so(machine) })
}

// instances of the pool.
func (s *story) instances() []infrav1.ContainerMachine {
	s.t.Helper()
	all := &infrav1.ContainerMachineList{}
	must.Succeed(s.t, s.api.List(s.t.Context(), all, client.MatchingLabels{clusterv1.MachinePoolNameLabel: builders.Pool}))
	return all.Items
}
