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

// ContainerMachineSpec is the desired state of a ContainerMachine.
type ContainerMachineSpec struct {
	// providerID is container:///<container name>, the same as the Node's.
	// The provider fills it; a value set by a user names a container of
	// the same ContainerCluster to adopt.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	ContainerMachineCommonSpec `json:",inline"`

	// bootstrap is what the provider records about this machine's bootstrap.
	// It is in the spec because it must survive the loss of status, labels and
	// annotations: it decides whether a missing container may be recreated.
	// Do not set it.
	// +optional
	Bootstrap MachineBootstrap `json:"bootstrap,omitempty,omitzero"`
}

// ContainerMachineCommonSpec has the fields that users set for a machine. They are the
// same in ContainerMachines, in templates and in pools. A field that is not marked as
// mutable needs another container: a ContainerMachine and a template refuse the
// change, a ContainerMachinePool replaces its instances one after the other.
type ContainerMachineCommonSpec struct {
	// image of the node, such as kindest/node; by default the one known for
	// the Kubernetes version of the Machine or MachinePool.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// extraMounts make paths of the engine's host visible in the node.
	// +optional
	// +listType=map
	// +listMapKey=containerPath
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	ExtraMounts []Mount `json:"extraMounts,omitempty"`

	// bootstrapTimeout is how long a bootstrap may run before the condition
	// BootstrapCompleted says that it takes too long; 10m by default.
	// It does not stop anything: a MachineHealthCheck decides what follows. It
	// can change at any time, and a pool changes that of its instances.
	// +optional
	BootstrapTimeout *metav1.Duration `json:"bootstrapTimeout,omitempty"`
}

// MachineBootstrap is what the provider records about a machine's bootstrap.
// +kubebuilder:validation:MinProperties=1
type MachineBootstrap struct {
	// attempt of the bootstrap that the container is created for: 1 for the
	// first, at most 3. It is increased before the container of an interrupted
	// bootstrap is removed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3
	Attempt int32 `json:"attempt,omitempty"`

	// addresses of the container on the cluster's network. A container that is
	// recreated gets the same ones.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=45
	Addresses []string `json:"addresses,omitempty"`

	// completed is true once the node has finished its bootstrap. The container
	// then holds the node's state and is never recreated.
	// +optional
	Completed *bool `json:"completed,omitempty"`
}

// Mount makes a path of the engine's host visible in a node.
type Mount struct {
	// containerPath is an absolute path in the node.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^/`
	ContainerPath string `json:"containerPath,omitempty"`

	// hostPath is an absolute path on the engine's host that exists.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^/`
	HostPath string `json:"hostPath,omitempty"`

	// readOnly keeps the node from writing below the path; false by default.
	// +optional
	ReadOnly *bool `json:"readOnly,omitempty"`
}

// ContainerMachineStatus is the observed state of a ContainerMachine.
// +kubebuilder:validation:MinProperties=1
type ContainerMachineStatus struct {
	// conditions of the machine: Ready, ContainerReady, BootstrapCompleted
	// and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization reports to Cluster API what was provisioned for the first time.
	// +optional
	Initialization Initialization `json:"initialization,omitempty,omitzero"`

	// addresses of the machine: its host name and its addresses on the
	// cluster's network.
	// +optional
	Addresses clusterv1.MachineAddresses `json:"addresses,omitempty"`

	// failureDomain the machine was placed in.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=containermachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1_v1beta2"
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1alpha1 is deprecated; use infrastructure.cluster.x-k8s.io/v1beta2"
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster this belongs to"
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="Machine")].name`,description="Machine this belongs to",priority=1
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the container runs and its bootstrap is done"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not"
// +kubebuilder:printcolumn:name="Provider ID",type="string",JSONPath=".spec.providerID",description="Names the container"
// +kubebuilder:printcolumn:name="Internal IP",type="string",JSONPath=`.status.addresses[?(@.type=="InternalIP")].address`,description="Address on the cluster's network"
// +kubebuilder:printcolumn:name="Failure domain",type="string",JSONPath=".status.failureDomain",description="Failure domain the machine is in",priority=1
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// ContainerMachine is the infrastructure of a Machine: one container that
// runs systemd, containerd and the kubelet.
type ContainerMachine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec ContainerMachineSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state.
	// +optional
	Status ContainerMachineStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// ContainerMachineList is a list of ContainerMachine.
type ContainerMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerMachine `json:"items"`
}
