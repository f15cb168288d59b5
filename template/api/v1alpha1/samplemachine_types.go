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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineFinalizer keeps a SampleMachine until its server is deleted.
const MachineFinalizer = "samplemachine.infrastructure.cluster.x-k8s.io"

// SampleMachineSpec is the desired state.
type SampleMachineSpec struct {
	// providerID is the same as that of the Node. The controller sets it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`
	// size of the server.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Size string `json:"size,omitempty"`
}

// SampleMachineStatus is the observed state.
// +kubebuilder:validation:MinProperties=1
type SampleMachineStatus struct {
	// conditions are Ready and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// initialization is read by Cluster API.
	// +optional
	Initialization Initialization `json:"initialization,omitempty,omitzero"`
	// addresses of the server.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`
}

// SampleMachine is a server.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type SampleMachine struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Spec SampleMachineSpec `json:"spec,omitempty,omitzero"`
	// +optional
	Status SampleMachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions.
func (m *SampleMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions sets the conditions.
func (m *SampleMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// SampleMachineList is a list of SampleMachines.
// +kubebuilder:object:root=true
type SampleMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SampleMachine `json:"items"`
}

// SampleMachineTemplate is what control planes and MachineDeployments create SampleMachines from.
// +kubebuilder:object:root=true
type SampleMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec SampleMachineTemplateSpec `json:"spec,omitzero"`
}

// SampleMachineTemplateSpec has the template.
type SampleMachineTemplateSpec struct {
	// +required
	Template SampleMachineTemplateResource `json:"template,omitzero"`
}

// SampleMachineTemplateResource is the SampleMachine to create.
type SampleMachineTemplateResource struct {
	// metadata of the SampleMachines.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the SampleMachines.
	// +required
	Spec SampleMachineSpec `json:"spec,omitempty,omitzero"`
}

// SampleMachineTemplateList is a list of SampleMachineTemplates.
// +kubebuilder:object:root=true
type SampleMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SampleMachineTemplate `json:"items"`
}
