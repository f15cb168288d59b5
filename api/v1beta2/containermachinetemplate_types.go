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

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// ContainerMachineTemplateSpec is the content of a ContainerMachineTemplate.
type ContainerMachineTemplateSpec struct {
	// template of the ContainerMachine objects to be made.
	// +required
	Template ContainerMachineTemplateResource `json:"template,omitempty,omitzero"`
}

// ContainerMachineTemplateResource is what a ContainerMachine is made from.
type ContainerMachineTemplateResource struct {
	// metadata: labels and annotations of the objects made.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the objects made.
	// +optional
	Spec ContainerMachineCommonSpec `json:"spec,omitempty,omitzero"`
}

// ContainerMachineTemplateStatus is what an autoscaler reads to scale a group
// from zero: the capacity and properties its nodes would have.
// +kubebuilder:validation:MinProperties=1
type ContainerMachineTemplateStatus struct {
	// capacity of a node: cpu and memory, those of the template's resources, or else
	// of the engine's host.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo is what runs on a node.
	// +optional
	NodeInfo NodeInfo `json:"nodeInfo,omitempty,omitzero"`
}

// NodeInfo is what runs on a node.
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// architecture of the node's processors, as kubernetes.io/arch has it;
	// left out where it is none of these.
	// +optional
	Architecture Architecture `json:"architecture,omitempty"`

	// operatingSystem of the node, as kubernetes.io/os has it: linux.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// Architecture is one that Cluster API's contract knows.
// +kubebuilder:validation:Enum=amd64;arm64;s390x;ppc64le
type Architecture string

// Architectures are all that Cluster API's contract knows.
func Architectures() []Architecture { return []Architecture{"amd64", "arm64", "s390x", "ppc64le"} }

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=containermachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1_v1beta2"
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// ContainerMachineTemplate is what control planes and MachineDeployments make
// ContainerMachines from.
type ContainerMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the template.
	// +optional
	Spec ContainerMachineTemplateSpec `json:"spec,omitempty,omitzero"`

	// status is for autoscalers.
	// +optional
	Status ContainerMachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// ContainerMachineTemplateList is a list of ContainerMachineTemplate.
type ContainerMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerMachineTemplate `json:"items"`
}
