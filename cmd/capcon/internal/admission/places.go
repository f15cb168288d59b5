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

package admission

import (
	"fmt"

	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Place in a topology that has variables: of all nodes, or of a role.
type Place struct {
	// Machines that have them.
	Machines  int32
	Variables []clusterv1.ClusterVariable

	list string
}

// Field of the value of a variable.
func (p Place) Field(variable string) string { return p.named(variable) + ".value" }

func (p Place) named(variable string) string { return fmt.Sprintf("%s[%s]", p.list, variable) }

// Places of a topology: the first one is of all nodes, the others are of roles.
func Places(topology *clusterv1.Topology) []Place {
	const overrides = ".variables.overrides"
	controlPlanes := ptr.Deref(topology.ControlPlane.Replicas, 1)
	all := Place{controlPlanes, topology.Variables, "spec.topology.variables"}
	roles := []Place{{controlPlanes, topology.ControlPlane.Variables.Overrides, "spec.topology.controlPlane" + overrides}}
	add := func(list, name string, replicas *int32, variables []clusterv1.ClusterVariable) {
		count := ptr.Deref(replicas, 1)
		all.Machines += count
		roles = append(roles, Place{count, variables, fmt.Sprintf("spec.topology.workers.%s[%s]%s", list, name, overrides)})
	}
	for i := range topology.Workers.MachineDeployments {
		deployment := &topology.Workers.MachineDeployments[i]
		add("machineDeployments", deployment.Name, deployment.Replicas, deployment.Variables.Overrides)
	}
	for i := range topology.Workers.MachinePools {
		pool := &topology.Workers.MachinePools[i]
		add("machinePools", pool.Name, pool.Replicas, pool.Variables.Overrides)
	}
	return append([]Place{all}, roles...)
}
