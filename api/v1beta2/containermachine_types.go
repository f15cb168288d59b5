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
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	// MachineFinalizer keeps a ContainerMachine until its container and the
	// container's volumes are gone from the engine.
	MachineFinalizer = "containermachine.infrastructure.cluster.x-k8s.io"

	// MaintenanceAnnotation on a ContainerMachine keeps the provider from
	// starting its container again when it was stopped on purpose. The value
	// does not matter.
	MaintenanceAnnotation = "container.infrastructure.cluster.x-k8s.io/maintenance"

	// UpdateRequestedAnnotation on a ContainerMachine says that Cluster API asked the Runtime Extension of this
	// provider for the in-place update that is in progress. Its controller carries it out, and removes the
	// annotation afterwards.
	UpdateRequestedAnnotation = "container.infrastructure.cluster.x-k8s.io/update-requested"

	// InPlaceUpdatesLabel on a Namespace, with the value InPlaceUpdatesEnabled, lets the Runtime Extension of this
	// provider update the Machines in it, if it is installed.
	InPlaceUpdatesLabel = "container.infrastructure.cluster.x-k8s.io/in-place-updates"
	// InPlaceUpdatesEnabled is the value of InPlaceUpdatesLabel.
	InPlaceUpdatesEnabled = "enabled"

	// InPlaceUpdatesExtension is the name of the ExtensionConfig of that extension.
	InPlaceUpdatesExtension = "capcon-in-place-updates"

	// EngineNameAnnotation on a ContainerMachine names the ContainerEngine that its container is on. The
	// controller sets it before it creates anything there, to that of the ContainerCluster, which may
	// be gone before the machine is.
	EngineNameAnnotation = "container.infrastructure.cluster.x-k8s.io/engine-name"
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

	// resources limit what the machine may use of the engine's host, and are what its
	// Node offers to Pods.
	// +optional
	Resources MachineResources `json:"resources,omitempty,omitzero"`

	// portMappings publish ports of the machine on the engine's host. A host port that
	// is set can be published by one machine only.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	PortMappings []PortMapping `json:"portMappings,omitempty"`

	// environment are variables of the machine's container. Its entrypoint and each command
	// that is executed in it have them; its services have HTTP_PROXY, HTTPS_PROXY and
	// NO_PROXY. Who may read this object or the container can read the values: they are no
	// place for a secret.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Environment []EnvironmentVariable `json:"environment,omitempty"`

	// labels of the machine's container on the engine, in addition to those of the provider. Labels
	// of the Machine and the Node are others.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=100
	Labels map[string]string `json:"labels,omitempty"`

	// devices of the engine's host to make available in the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Devices []Device `json:"devices,omitempty"`

	// dnsSearch are the domains in which the machine's resolver looks for short names, such as
	// corp.example.com; those that the engine takes from its host by default. A "." alone is
	// no domain.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z0-9_][A-Za-z0-9_.-]*|[.])$`
	DNSSearch []string `json:"dnsSearch,omitempty"`

	// bootstrapTimeout is how long a bootstrap may run before the condition
	// BootstrapCompleted says that it takes too long; 10m by default.
	// It does not stop anything: a MachineHealthCheck decides what follows. It
	// can change at any time, and a pool changes that of its instances.
	// +optional
	BootstrapTimeout *metav1.Duration `json:"bootstrapTimeout,omitempty"`
}

// SetMutable copies the fields that may change while a machine's container lives.
func (s *ContainerMachineCommonSpec) SetMutable(from *ContainerMachineCommonSpec) {
	s.BootstrapTimeout = from.DeepCopy().BootstrapTimeout
}

// Immutable is a copy of the fields that a machine's container is created from, in
// which equal values are written in the same way.
func (s *ContainerMachineCommonSpec) Immutable() *ContainerMachineCommonSpec {
	immutable := s.DeepCopy()
	immutable.SetMutable(&ContainerMachineCommonSpec{})
	for i, mount := range immutable.ExtraMounts {
		if mount.ReadOnly != nil && !*mount.ReadOnly {
			immutable.ExtraMounts[i].ReadOnly = nil
		}
		if mount.Propagation == MountPropagationNone {
			immutable.ExtraMounts[i].Propagation = ""
		}
	}
	for i := range immutable.PortMappings {
		mapping := &immutable.PortMappings[i]
		mapping.Address, mapping.Protocol = cmp.Or(mapping.Address, DefaultPortAddress), cmp.Or(mapping.Protocol, PortProtocolTCP)
	}
	for i := range immutable.Devices {
		device := &immutable.Devices[i]
		device.ContainerPath = cmp.Or(device.ContainerPath, device.Path)
	}
	return immutable
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

	// completed is true once the node has finished its bootstrap, or Cluster API has
	// found its Node. The container then holds the node's state and is not recreated
	// if it is missing.
	// +optional
	Completed *bool `json:"completed,omitempty"`

	// recreating is true while the container of an interrupted bootstrap is replaced by
	// one for the attempt: from before it is removed until the new one has started. A
	// reconcile that finds no container then creates it, whatever completed is.
	// +optional
	Recreating *bool `json:"recreating,omitempty"`
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

	// portMappings are the ports that the machine's container publishes, with the host
	// ports that were chosen.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	PortMappings []PortMapping `json:"portMappings,omitempty"`

	// resources are the limits that the container has, where spec.resources of the
	// ContainerCluster limits the role of the machine.
	// +optional
	Resources *MachineResources `json:"resources,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=containermachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1_v1beta2"
// +kubebuilder:metadata:labels="visualizer.cluster.x-k8s.io="
// +kubebuilder:storageversion
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

// GetConditions implements conditions.Getter of Cluster API.
func (m *ContainerMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions implements conditions.Setter of Cluster API.
func (m *ContainerMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// ContainerMachineList is a list of ContainerMachine.
type ContainerMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerMachine `json:"items"`
}
