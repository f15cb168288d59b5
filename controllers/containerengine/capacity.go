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

package containerengine

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// resources of which zero is none, and not unknown.
type resources struct{ cpu, memory resource.Quantity }

func (r *resources) add(cpu, memory resource.Quantity) {
	r.cpu.Add(cpu)
	r.memory.Add(memory)
}

// What a machine counts that has no limits, where the engine does not say: the minimum of kubeadm for a
// control plane, and what a worker uses with some room for Pods.
func defaultControlPlane() resources {
	return resources{cpu: resource.MustParse("2"), memory: resource.MustParse("2Gi")}
}

func defaultWorker() resources {
	return resources{cpu: resource.MustParse("1"), memory: resource.MustParse("1Gi")}
}

// counts of a machine: its limits, those of its role in the cluster, those of its role on the engine, or
// the default; each of CPU and memory by itself.
func counts(machine *infrav1.ContainerMachine, cluster *infrav1.ContainerCluster, capacity infrav1.EngineCapacity) resources {
	role, onEngine, counted := cluster.Spec.Resources.Workers, capacity.Workers, defaultWorker()
	if _, isControlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]; isControlPlane {
		role, onEngine, counted = cluster.Spec.Resources.ControlPlane, capacity.ControlPlane, defaultControlPlane()
	}
	own := machine.Spec.Resources
	return resources{
		cpu:    first(counted.cpu, own.CPU, role.CPU, onEngine.CPU),
		memory: first(counted.memory, own.Memory, role.Memory, onEngine.Memory),
	}
}

func first(otherwise resource.Quantity, candidates ...*resource.Quantity) resource.Quantity {
	for _, candidate := range candidates {
		if candidate != nil {
			return candidate.DeepCopy()
		}
	}
	return otherwise
}

// total of an engine: what its object says, or else what its host has; nil = unknown.
func total(capacity infrav1.EngineCapacity, info *engine.Info) infrav1.EngineResources {
	out := infrav1.EngineResources{CPU: capacity.CPU, Memory: capacity.Memory}
	if out.CPU == nil && info != nil && info.CPUs > 0 {
		out.CPU = resource.NewQuantity(int64(info.CPUs), resource.DecimalSI)
	}
	if out.Memory == nil && info != nil && info.MemoryBytes > 0 {
		out.Memory = resource.NewQuantity(info.MemoryBytes, resource.BinarySI)
	}
	return out
}

// free is what is left of the total; nil = unknown.
func free(total infrav1.EngineResources, reserved resources) infrav1.EngineResources {
	return infrav1.EngineResources{CPU: left(total.CPU, reserved.cpu), Memory: left(total.Memory, reserved.memory)}
}

func left(total *resource.Quantity, reserved resource.Quantity) *resource.Quantity {
	if total == nil {
		return nil
	}
	remaining := total.DeepCopy()
	if remaining.Sub(reserved); remaining.Sign() < 0 {
		return ptr.To(resource.MustParse("0"))
	}
	return &remaining
}
