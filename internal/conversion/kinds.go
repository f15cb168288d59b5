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

package conversion

import (
	"slices"

	infrav1alpha1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// ContainerCluster converts objects of that kind.
func ContainerCluster() Kind[*infrav1.ContainerCluster, *infrav1alpha1.ContainerCluster] {
	return Kind[*infrav1.ContainerCluster, *infrav1alpha1.ContainerCluster]{
		hub: &infrav1.ContainerCluster{}, spoke: &infrav1alpha1.ContainerCluster{},
		restore: func(from, to *infrav1.ContainerCluster) {
			to.Spec.LoadBalancer.HostAddress = from.Spec.LoadBalancer.HostAddress
			to.Spec.LoadBalancer.AdditionalPorts = from.Spec.LoadBalancer.AdditionalPorts
			to.Spec.LoadBalancer.PortMappings = from.Spec.LoadBalancer.PortMappings
			to.Spec.EngineName = from.Spec.EngineName
			to.Spec.EngineSelector = from.Spec.EngineSelector
			to.Spec.EngineNames = from.Spec.EngineNames
			to.Spec.EngineReservation = from.Spec.EngineReservation
			to.Spec.Storage = from.Spec.Storage
			to.Spec.ServiceLoadBalancer = from.Spec.ServiceLoadBalancer
			to.Spec.Limits = from.Spec.Limits
			to.Spec.Resources = from.Spec.Resources
			to.Spec.Registries = from.Spec.Registries
			to.Spec.Images = from.Spec.Images
			to.Status.Network = from.Status.Network
		},
	}
}

// ContainerClusterTemplate converts objects of that kind.
func ContainerClusterTemplate() Kind[*infrav1.ContainerClusterTemplate, *infrav1alpha1.ContainerClusterTemplate] {
	return Kind[*infrav1.ContainerClusterTemplate, *infrav1alpha1.ContainerClusterTemplate]{
		hub: &infrav1.ContainerClusterTemplate{}, spoke: &infrav1alpha1.ContainerClusterTemplate{},
		restore: func(from, to *infrav1.ContainerClusterTemplate) {
			balancer := to.Spec.Template.Spec.LoadBalancer
			to.Spec.Template.Spec.LoadBalancer = from.Spec.Template.Spec.LoadBalancer
			to.Spec.Template.Spec.LoadBalancer.Type, to.Spec.Template.Spec.LoadBalancer.Image = balancer.Type, balancer.Image
			to.Spec.Template.Spec.EngineName = from.Spec.Template.Spec.EngineName
			to.Spec.Template.Spec.EngineSelector = from.Spec.Template.Spec.EngineSelector
			to.Spec.Template.Spec.EngineNames = from.Spec.Template.Spec.EngineNames
			to.Spec.Template.Spec.EngineReservation = from.Spec.Template.Spec.EngineReservation
			to.Spec.Template.Spec.Storage = from.Spec.Template.Spec.Storage
			to.Spec.Template.Spec.ServiceLoadBalancer = from.Spec.Template.Spec.ServiceLoadBalancer
			to.Spec.Template.Spec.Limits = from.Spec.Template.Spec.Limits
			to.Spec.Template.Spec.Resources = from.Spec.Template.Spec.Resources
			to.Spec.Template.Spec.Registries = from.Spec.Template.Spec.Registries
			to.Spec.Template.Spec.Images = from.Spec.Template.Spec.Images
		},
	}
}

// ContainerMachine converts objects of that kind.
func ContainerMachine() Kind[*infrav1.ContainerMachine, *infrav1alpha1.ContainerMachine] {
	return Kind[*infrav1.ContainerMachine, *infrav1alpha1.ContainerMachine]{
		hub: &infrav1.ContainerMachine{}, spoke: &infrav1alpha1.ContainerMachine{},
		restore: func(from, to *infrav1.ContainerMachine) {
			restoreMachine(from.Spec.ContainerMachineCommonSpec, &to.Spec.ContainerMachineCommonSpec)
			to.Spec.Bootstrap.Recreating = from.Spec.Bootstrap.Recreating
			to.Status.PortMappings = from.Status.PortMappings
			to.Status.Resources = from.Status.Resources
		},
	}
}

// ContainerMachineTemplate converts objects of that kind.
func ContainerMachineTemplate() Kind[*infrav1.ContainerMachineTemplate, *infrav1alpha1.ContainerMachineTemplate] {
	return Kind[*infrav1.ContainerMachineTemplate, *infrav1alpha1.ContainerMachineTemplate]{
		hub: &infrav1.ContainerMachineTemplate{}, spoke: &infrav1alpha1.ContainerMachineTemplate{},
		restore: func(from, to *infrav1.ContainerMachineTemplate) {
			restoreMachine(from.Spec.Template.Spec, &to.Spec.Template.Spec)
		},
	}
}

// ContainerMachinePool converts objects of that kind.
func ContainerMachinePool() Kind[*infrav1.ContainerMachinePool, *infrav1alpha1.ContainerMachinePool] {
	return Kind[*infrav1.ContainerMachinePool, *infrav1alpha1.ContainerMachinePool]{
		hub: &infrav1.ContainerMachinePool{}, spoke: &infrav1alpha1.ContainerMachinePool{},
		restore: func(from, to *infrav1.ContainerMachinePool) {
			restoreMachine(from.Spec.Template.Spec, &to.Spec.Template.Spec)
		},
	}
}

// ContainerMachinePoolTemplate converts objects of that kind.
func ContainerMachinePoolTemplate() Kind[*infrav1.ContainerMachinePoolTemplate, *infrav1alpha1.ContainerMachinePoolTemplate] {
	return Kind[*infrav1.ContainerMachinePoolTemplate, *infrav1alpha1.ContainerMachinePoolTemplate]{
		hub: &infrav1.ContainerMachinePoolTemplate{}, spoke: &infrav1alpha1.ContainerMachinePoolTemplate{},
		restore: func(from, to *infrav1.ContainerMachinePoolTemplate) {
			restoreMachine(from.Spec.Template.Spec.Template.Spec, &to.Spec.Template.Spec.Template.Spec)
		},
	}
}

// restoreMachine has the fields that users set for a machine and v1alpha1 lacks.
func restoreMachine(from infrav1.ContainerMachineCommonSpec, to *infrav1.ContainerMachineCommonSpec) {
	to.Resources = from.Resources
	to.PortMappings = from.PortMappings
	to.Environment = from.Environment
	to.Labels = from.Labels
	to.Devices = from.Devices
	to.DNSSearch = from.DNSSearch
	for i := range to.ExtraMounts {
		same := func(mount infrav1.Mount) bool { return mount.ContainerPath == to.ExtraMounts[i].ContainerPath }
		if at := slices.IndexFunc(from.ExtraMounts, same); at >= 0 {
			to.ExtraMounts[i].Propagation = from.ExtraMounts[at].Propagation
		}
	}
}
