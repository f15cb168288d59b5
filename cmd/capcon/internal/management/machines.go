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

package management

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

func summarizeMachines(o Observed) []Machine {
	ordered := slices.Clone(o.Machines)
	slices.SortFunc(ordered, func(a, b clusterv1.Machine) int {
		first, second := util.IsControlPlaneMachine(&a), util.IsControlPlaneMachine(&b)
		if first != second {
			if first {
				return -1
			}
			return 1
		}
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	machines := make([]Machine, 0, len(ordered))
	for i := range ordered {
		machine := &ordered[i]
		summary := summarizeMachine(machine, o.container(machine))
		summary.Ready = o.machineComplete(machine)
		machines = append(machines, summary)
	}
	return machines
}

// container of a machine; nil where there is none.
func (o Observed) container(machine *clusterv1.Machine) *infrav1.ContainerMachine {
	named := func(container infrav1.ContainerMachine) bool {
		return container.Name == machine.Spec.InfrastructureRef.Name
	}
	if i := slices.IndexFunc(o.Containers, named); i >= 0 {
		return &o.Containers[i]
	}
	return nil
}

// summarizeMachine says what the machine waits for, if it is not ready: what its container knows
// first, because that is where a cause is, then what Cluster API makes of it.
func summarizeMachine(machine *clusterv1.Machine, container *infrav1.ContainerMachine) Machine {
	summary := Machine{Name: machine.Name}
	if !machine.DeletionTimestamp.IsZero() {
		summary.Detail = cmp.Or(OneLine(conditions.GetMessage(machine, clusterv1.MachineDeletingCondition)), "being deleted")
		return summary
	}
	if machineReady(machine) {
		summary.Detail = "ready"
		return summary
	}
	if container != nil {
		summary.Detail = firstNotTrue(container.Status.Conditions,
			infrav1.ContainerReadyCondition, infrav1.BootstrapCompletedCondition)
	}
	if summary.Detail == "" {
		summary.Detail = firstNotTrue(machine.Status.Conditions,
			clusterv1.MachineInfrastructureReadyCondition, clusterv1.MachineBootstrapConfigReadyCondition,
			clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition, clusterv1.MachineReadyCondition)
	}
	if strings.Contains(summary.Detail, podNetworkNotReady) {
		summary.Detail = "waiting for the Pod network"
	}
	summary.Detail = cmp.Or(summary.Detail, "created")
	return summary
}

// machineReady: its container runs, its bootstrap is done and its Node is
// Ready.
func machineReady(machine *clusterv1.Machine) bool {
	return provisioned(machine) && conditions.IsTrue(machine, clusterv1.MachineNodeReadyCondition)
}

// provisioned: the container runs, and its Node is registered.
func provisioned(machine *clusterv1.Machine) bool {
	return machine.DeletionTimestamp.IsZero() && machine.Status.NodeRef.IsDefined() &&
		conditions.IsTrue(machine, clusterv1.MachineInfrastructureReadyCondition)
}
