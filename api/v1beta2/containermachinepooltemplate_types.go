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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// ContainerMachinePoolTemplateSpec is the content of a
// ContainerMachinePoolTemplate.
type ContainerMachinePoolTemplateSpec struct {
	// template of the ContainerMachinePool objects to be made.
	// +required
	Template ContainerMachinePoolTemplateResource `json:"template,omitempty,omitzero"`
}

// ContainerMachinePoolTemplateResource is what a ContainerMachinePool is made
// from.
type ContainerMachinePoolTemplateResource struct {
	// metadata: labels and annotations of the objects made.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the objects made.
	// +optional
	Spec ContainerMachinePoolTemplateResourceSpec `json:"spec,omitempty,omitzero"`
}

// ContainerMachinePoolTemplateResourceSpec is the part of a
// ContainerMachinePool's spec that many can share.
type ContainerMachinePoolTemplateResourceSpec struct {
	// template of the ContainerMachines of the pools.
	// +optional
	Template ContainerMachinePoolMachineTemplate `json:"template,omitempty,omitzero"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=containermachinepooltemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1_v1beta2"
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// ContainerMachinePoolTemplate is what a ClusterClass makes
// ContainerMachinePools from.
type ContainerMachinePoolTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the template.
	// +optional
	Spec ContainerMachinePoolTemplateSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// ContainerMachinePoolTemplateList is a list of ContainerMachinePoolTemplate.
type ContainerMachinePoolTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerMachinePoolTemplate `json:"items"`
}
