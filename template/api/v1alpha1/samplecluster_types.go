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

// ClusterFinalizer keeps a SampleCluster until its server is deleted.
const ClusterFinalizer = "samplecluster.infrastructure.cluster.x-k8s.io"

// SampleClusterSpec is the desired state.
type SampleClusterSpec struct {
	// controlPlaneEndpoint is where the API server is reached. The controller sets it.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`
}

// APIEndpoint of a control plane.
// +kubebuilder:validation:MinProperties=1
type APIEndpoint struct {
	// host is a name or an address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`
	// port of the API server.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// SampleClusterStatus is the observed state.
// +kubebuilder:validation:MinProperties=1
type SampleClusterStatus struct {
	// conditions are Ready and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// initialization is read by Cluster API.
	// +optional
	Initialization Initialization `json:"initialization,omitempty,omitzero"`
}

// SampleCluster is the infrastructure of a Cluster: a server that balances the load of the control plane.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type SampleCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Spec SampleClusterSpec `json:"spec,omitempty,omitzero"`
	// +optional
	Status SampleClusterStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions.
func (c *SampleCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions sets the conditions.
func (c *SampleCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// SampleClusterList is a list of SampleClusters.
// +kubebuilder:object:root=true
type SampleClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SampleCluster `json:"items"`
}

// SampleClusterTemplate is what a ClusterClass creates SampleClusters from.
// +kubebuilder:object:root=true
type SampleClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec SampleClusterTemplateSpec `json:"spec,omitzero"`
}

// SampleClusterTemplateSpec has the template.
type SampleClusterTemplateSpec struct {
	// +required
	Template SampleClusterTemplateResource `json:"template,omitzero"`
}

// SampleClusterTemplateResource is the SampleCluster to create. It has no field of a single cluster.
// +kubebuilder:validation:MinProperties=1
type SampleClusterTemplateResource struct {
	// metadata of the SampleClusters.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the SampleClusters.
	// +optional
	Spec *SampleClusterTemplateResourceSpec `json:"spec,omitempty"`
}

// SampleClusterTemplateResourceSpec is the spec without what belongs to a single cluster.
type SampleClusterTemplateResourceSpec struct{}

// SampleClusterTemplateList is a list of SampleClusterTemplates.
// +kubebuilder:object:root=true
type SampleClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SampleClusterTemplate `json:"items"`
}
