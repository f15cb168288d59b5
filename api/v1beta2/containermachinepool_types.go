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

const (
	// MachinePoolFinalizer keeps a ContainerMachinePool until all its
	// ContainerMachines are gone.
	MachinePoolFinalizer = "containermachinepool.infrastructure.cluster.x-k8s.io"

	// VersionAnnotation on a ContainerMachine of a pool is the Kubernetes
	// version that its container is made for. Cluster API gives the Machines
	// of a pool no version, data secret or failure domain: these annotations
	// do, from the MachinePool, when the ContainerMachine is made. They are
	// never changed; an instance that has another version or data secret
	// than the MachinePool wants is replaced.
	VersionAnnotation = "container.infrastructure.cluster.x-k8s.io/version"
	// BootstrapDataSecretAnnotation names the Secret that its node is
	// bootstrapped with.
	BootstrapDataSecretAnnotation = "container.infrastructure.cluster.x-k8s.io/bootstrap-data-secret"
	// BootstrapDataHashAnnotation identifies the content of that Secret, without what a
	// bootstrap provider renews in it. An instance with another hash than the present one
	// is replaced; one without it counts as up to date, and gets the present one.
	BootstrapDataHashAnnotation = "container.infrastructure.cluster.x-k8s.io/bootstrap-data-hash"
	// StorageAnnotation in the metadata of a template is the storage type of the cluster. It
	// changes nothing else: a template with another one rolls out Machines, and replaces the
	// instances of a pool.
	StorageAnnotation = "container.infrastructure.cluster.x-k8s.io/storage"
	// FailureDomainAnnotation is the failure domain that it is in.
	FailureDomainAnnotation = "container.infrastructure.cluster.x-k8s.io/failure-domain"
)

// ContainerMachinePoolSpec is the desired state of a ContainerMachinePool.
type ContainerMachinePoolSpec struct {
	// providerIDList are the provider IDs of all instances, sorted. The
	// provider fills it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	ProviderIDList []string `json:"providerIDList,omitempty"`

	// template of the ContainerMachines of the pool.
	// +optional
	Template ContainerMachinePoolMachineTemplate `json:"template,omitempty,omitzero"`
}

// ContainerMachinePoolMachineTemplate is what the ContainerMachines of a pool
// are made from.
type ContainerMachinePoolMachineTemplate struct {
	// metadata: labels and annotations of the ContainerMachines. Changes
	// reach those there are.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the ContainerMachines.
	// +optional
	Spec ContainerMachineCommonSpec `json:"spec,omitempty,omitzero"`
}

// ContainerMachinePoolStatus is the observed state of a ContainerMachinePool.
// +kubebuilder:validation:MinProperties=1
type ContainerMachinePoolStatus struct {
	// conditions of the pool: Ready, ReplicasReady, ReplicasUpToDate and
	// Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization reports to Cluster API what was provisioned for the first time.
	// +optional
	Initialization Initialization `json:"initialization,omitempty,omitzero"`

	// ready is initialization.provisioned once more: Cluster API 1.14 takes
	// replicas and provider IDs only from pools that have it.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// replicas is how many instances there are, those that are being removed
	// included: as many as provider IDs.
	// +optional
	Replicas int32 `json:"replicas"`

	// infrastructureMachineKind makes Cluster API create a Machine for each
	// ContainerMachine of the pool.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	InfrastructureMachineKind string `json:"infrastructureMachineKind,omitempty"`

	// instances of the pool, for users to read.
	// +optional
	// +listType=map
	// +listMapKey=instanceName
	// +kubebuilder:validation:MaxItems=10000
	Instances []ContainerMachinePoolInstance `json:"instances,omitempty"`
}

// ContainerMachinePoolInstance is one instance of a pool.
type ContainerMachinePoolInstance struct {
	// instanceName is the name of the ContainerMachine and of its Machine.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	InstanceName string `json:"instanceName,omitempty"`

	// providerID of the instance.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// version of Kubernetes it was made for.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// addresses of the instance.
	// +optional
	Addresses clusterv1.MachineAddresses `json:"addresses,omitempty"`

	// ready is true while its container runs, its bootstrap is done and its
	// Node is ready.
	// +optional
	Ready *bool `json:"ready,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=containermachinepools,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1_v1beta2"
// +kubebuilder:metadata:labels="visualizer.cluster.x-k8s.io="
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster this belongs to"
// +kubebuilder:printcolumn:name="MachinePool",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="MachinePool")].name`,description="MachinePool this belongs to",priority=1
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas",description="How many instances there are"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the desired number of instances is ready"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not"
// +kubebuilder:printcolumn:name="Up-to-date",type="string",JSONPath=`.status.conditions[?(@.type=="ReplicasUpToDate")].status`,description="Whether all instances match the current spec"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// ContainerMachinePool is the infrastructure of a MachinePool: as many
// ContainerMachines as the MachinePool wants replicas, each with a Machine of
// its own.
type ContainerMachinePool struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec ContainerMachinePoolSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state.
	// +optional
	Status ContainerMachinePoolStatus `json:"status,omitempty,omitzero"`
}

// GetConditions implements conditions.Getter of Cluster API.
func (p *ContainerMachinePool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions implements conditions.Setter of Cluster API.
func (p *ContainerMachinePool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// ContainerMachinePoolList is a list of ContainerMachinePool.
type ContainerMachinePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerMachinePool `json:"items"`
}
