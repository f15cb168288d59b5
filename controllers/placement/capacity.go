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

package placement

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Resources of which zero is none, and not unknown.
type Resources struct{ CPU, Memory resource.Quantity }

// add other resources, times each.
func (r *Resources) add(other Resources, times int32) {
	for range times {
		r.CPU.Add(other.CPU)
		r.Memory.Add(other.Memory)
	}
}

// most of both, each of CPU and memory by itself.
func (r Resources) most(other Resources) Resources {
	if other.CPU.Cmp(r.CPU) > 0 {
		r.CPU = other.CPU
	}
	if other.Memory.Cmp(r.Memory) > 0 {
		r.Memory = other.Memory
	}
	return r
}

// What a machine counts that has no limits, where the engine does not say: the minimum of kubeadm for a
// control plane, and what a worker uses with some room for Pods.
func defaultControlPlane() Resources {
	return Resources{CPU: resource.MustParse("2"), Memory: resource.MustParse("2Gi")}
}

func defaultWorker() Resources {
	return Resources{CPU: resource.MustParse("1"), Memory: resource.MustParse("1Gi")}
}

// role of a machine.
type role struct {
	inCluster infrav1.MachineResources
	onEngine  infrav1.EngineResources
	otherwise Resources
}

func controlPlane(cluster *infrav1.ContainerCluster, capacity infrav1.EngineCapacity) role {
	return role{cluster.Spec.Resources.ControlPlane, capacity.ControlPlane, defaultControlPlane()}
}

func worker(cluster *infrav1.ContainerCluster, capacity infrav1.EngineCapacity) role {
	return role{cluster.Spec.Resources.Workers, capacity.Workers, defaultWorker()}
}

// counts of a machine with limits of its own: these, those of its role in the cluster, those of its role on the
// engine, or the default; each of CPU and memory by itself.
func (r role) counts(own infrav1.MachineResources) Resources {
	return Resources{
		CPU:    first(r.otherwise.CPU, own.CPU, r.inCluster.CPU, r.onEngine.CPU),
		Memory: first(r.otherwise.Memory, own.Memory, r.inCluster.Memory, r.onEngine.Memory),
	}
}

func countsOf(machine *infrav1.ContainerMachine, cluster *infrav1.ContainerCluster, capacity infrav1.EngineCapacity) Resources {
	if _, isControlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]; isControlPlane {
		return controlPlane(cluster, capacity).counts(machine.Spec.Resources)
	}
	return worker(cluster, capacity).counts(machine.Spec.Resources)
}

func first(otherwise resource.Quantity, candidates ...*resource.Quantity) resource.Quantity {
	for _, candidate := range candidates {
		if candidate != nil {
			return candidate.DeepCopy()
		}
	}
	return otherwise
}

// Total of an engine: what its object says, or else what its host has; nil = unknown.
func Total(capacity infrav1.EngineCapacity, info *engine.Info) infrav1.EngineResources {
	out := infrav1.EngineResources{CPU: capacity.CPU, Memory: capacity.Memory}
	if out.CPU == nil && info != nil && info.CPUs > 0 {
		out.CPU = resource.NewQuantity(int64(info.CPUs), resource.DecimalSI)
	}
	if out.Memory == nil && info != nil && info.MemoryBytes > 0 {
		out.Memory = resource.NewQuantity(info.MemoryBytes, resource.BinarySI)
	}
	return out
}

// Free is what is left of the total; nil = unknown.
func Free(total infrav1.EngineResources, reserved Resources) infrav1.EngineResources {
	return infrav1.EngineResources{CPU: left(total.CPU, reserved.CPU), Memory: left(total.Memory, reserved.Memory)}
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

// Needs are what a cluster reserves of an engine: what its object says, or else what the machines of its topology
// count.
func Needs(cluster *clusterv1.Cluster, containerCluster *infrav1.ContainerCluster, capacity infrav1.EngineCapacity) Resources {
	var sum Resources
	controlPlanes, workers := replicas(cluster)
	sum.add(controlPlane(containerCluster, capacity).counts(infrav1.MachineResources{}), controlPlanes)
	sum.add(worker(containerCluster, capacity).counts(infrav1.MachineResources{}), workers)
	reserve := containerCluster.Spec.EngineReservation
	return Resources{CPU: first(sum.CPU, reserve.CPU), Memory: first(sum.Memory, reserve.Memory)}
}

// replicas of a Cluster. Without a topology, objects that come later say how many there are.
func replicas(cluster *clusterv1.Cluster) (controlPlanes, workers int32) {
	if !cluster.Spec.Topology.IsDefined() {
		return 1, 0
	}
	topology := cluster.Spec.Topology
	for _, deployment := range topology.Workers.MachineDeployments {
		workers += ptr.Deref(deployment.Replicas, 1)
	}
	for _, pool := range topology.Workers.MachinePools {
		workers += ptr.Deref(pool.Replicas, 1)
	}
	return ptr.Deref(topology.ControlPlane.Replicas, 1), workers
}
