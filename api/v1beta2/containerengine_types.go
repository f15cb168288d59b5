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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EngineFinalizer keeps a ContainerEngine while clusters are on it: without it, the
// manager would not reach their containers to remove them.
const EngineFinalizer = "containerengine.infrastructure.cluster.x-k8s.io"

// Keys of the Secret that a ContainerEngine names.
const (
	// EngineCAKey is the certificate, in PEM, of the authority that signs the certificate of an
	// engine reached by tcp. No other authority is trusted.
	EngineCAKey = "ca.crt"
	// EngineCertificateKey is the certificate of the manager, in PEM, for an engine reached by tcp.
	EngineCertificateKey = "tls.crt"
	// EngineKeyKey is the private key of that certificate, in PEM.
	EngineKeyKey = "tls.key"
	// EngineSSHKeyKey is the private key of the SSH user, without a passphrase, for an engine
	// reached by ssh.
	EngineSSHKeyKey = "ssh-privatekey"
	// EngineKnownHostsKey has the public keys of the SSH server, in the format of OpenSSH's
	// known_hosts. A server with another key is not trusted.
	EngineKnownHostsKey = "known_hosts"
)

// ContainerEngineSpec says where a container engine is, and what may be placed on it.
type ContainerEngineSpec struct {
	// endpoint of the engine's API: tcp://HOST[:PORT], always with TLS, port 2376 by default; or
	// ssh://USER@HOST[:PORT][/SOCKET], where SOCKET is the engine's socket on that host,
	// /var/run/docker.sock by default. Docker and Podman are distinguished by their response. Sockets
	// of the manager's host are not reached by objects: the engine there needs none. The manager
	// must allow the endpoint, by its flag --allowed-engine-endpoints.
	// +required
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=512
	Endpoint string `json:"endpoint,omitempty"`

	// credentialsSecretName is a Secret in the namespace of the engine. For tcp it has the keys ca.crt,
	// tls.crt and tls.key, all in PEM; for ssh it has ssh-privatekey and known_hosts. A change is
	// used within half a minute, for new connections. "clusterctl move" moves a Secret that has the label
	// clusterctl.cluster.x-k8s.io/move, and waits for that label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CredentialsSecretName string `json:"credentialsSecretName,omitempty"`

	// advertiseAddress is the address or DNS name by which the management cluster, users and nodes reach
	// ports that containers publish on the engine's host. It is the host of the endpoint of
	// each cluster that is created on the engine; clusters that exist keep theirs. By default it is the
	// host of the engine's endpoint.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	AdvertiseAddress string `json:"advertiseAddress,omitempty"`

	// failureDomain of machines on the engine that ask for none: their Nodes have it as label
	// topology.kubernetes.io/zone. Machines that exist keep theirs. None by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	FailureDomain string `json:"failureDomain,omitempty"`

	// capacity that machines may have in total.
	// +optional
	Capacity EngineCapacity `json:"capacity,omitempty,omitzero"`

	// reservations of clusters. The provider adds that of a cluster before it creates anything of it on the engine, so that
	// clusters that are created concurrently do not get the same capacity, and removes it after the cluster.
	// +optional
	// +listType=map
	// +listMapKey=clusterName
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Reservations []EngineReservation `json:"reservations,omitempty"`

	// maintenance says that no cluster is created on the engine; false by default. Those that exist
	// continue.
	// +optional
	Maintenance *bool `json:"maintenance,omitempty"`

	// lost says that the engine and all that was on it is gone; false by default. The manager no longer
	// connects to it, and objects that are deleted do not wait for it: what they leave there is recorded in debts. Only
	// an administrator can know that a host that does not respond runs nothing: the provider never sets it.
	// +optional
	Lost *bool `json:"lost,omitempty"`

	// debts of the engine: what clusters and machines left there that were deleted while it was lost. The provider
	// adds a debt before it removes the finalizer of the object. When the engine is no longer lost and responds, the provider
	// removes what is left, and the debt after it; until then, it creates nothing on the engine. Remove a debt yourself
	// only if nothing of it will ever run again.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Debts []EngineDebt `json:"debts,omitempty"`
}

// EngineCapacity is what machines on an engine may have in total, and what each counts.
// +kubebuilder:validation:MinProperties=1
type EngineCapacity struct {
	// cpu that machines may have in total; by default the CPUs of the engine's host.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory that machines may have in total; by default the memory of the engine's host.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`

	// controlPlane is what a control plane counts that has no limits; by default 2 CPUs and 2Gi, the minimum
	// of kubeadm.
	// +optional
	ControlPlane EngineResources `json:"controlPlane,omitempty,omitzero"`

	// workers is what another machine counts that has no limits; by default 1 CPU and 1Gi.
	// +optional
	Workers EngineResources `json:"workers,omitempty,omitzero"`
}

// EngineResources are CPUs and memory of an engine.
// +kubebuilder:validation:MinProperties=1
type EngineResources struct {
	// cpu is a number of CPUs, such as 2 or 500m.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory in bytes, such as 4Gi.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// EngineReservation is what a cluster has reserved of an engine.
type EngineReservation struct {
	// clusterName is the name of the ContainerCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClusterName string `json:"clusterName,omitempty"`

	// cpu is a number of CPUs, such as 2 or 500m.
	// +required
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory in bytes, such as 4Gi.
	// +required
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// EngineDebt is what a cluster or a machine left on an engine that was lost when its object was deleted.
type EngineDebt struct {
	// name of the debt: the owner ID of the cluster, or the name of the container of a machine whose ContainerCluster
	// was gone before it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// clusterName is the name of the Cluster, which all that it has on the engine has as a label.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClusterName string `json:"clusterName,omitempty"`

	// ownerID of the ContainerCluster, which all that it has on the engine has as a label. It is not set if the
	// ContainerCluster was gone before its machine.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	OwnerID string `json:"ownerID,omitempty"`

	// networkName is the network of a cluster that was deleted. If it is set, all containers of the cluster, its
	// volume, and the network, unless others use it, are to be removed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	NetworkName string `json:"networkName,omitempty"`

	// addresses on the network of a cluster that is over several engines: no other container gets them until
	// the debt is paid.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=39
	Addresses []string `json:"addresses,omitempty"`

	// volumeRetained says that the volume of the cluster is kept, because it has PersistentVolumes whose reclaim policy is
	// Retain; false by default.
	// +optional
	VolumeRetained *bool `json:"volumeRetained,omitempty"`

	// containers of machines that were deleted, by their names, if the cluster was not.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Containers []string `json:"containers,omitempty"`
}

// ContainerEngineStatus is the observed state of a container engine.
// +kubebuilder:validation:MinProperties=1
type ContainerEngineStatus struct {
	// conditions of the engine: Ready, Reachable and HostReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// id of what the engine stores, as it responded last. Clusters record it: another engine at the
	// same endpoint has another one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ID string `json:"id,omitempty"`

	// product is Docker or Podman.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Product string `json:"product,omitempty"`

	// version of the engine.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// clusters is the number of ContainerClusters on the engine.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Clusters *int32 `json:"clusters,omitempty"`

	// machines is the number of ContainerMachines of these clusters.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Machines *int32 `json:"machines,omitempty"`

	// debts is the number of debts in the spec.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Debts *int32 `json:"debts,omitempty"`

	// capacity that machines may have in total: that of the spec, or else that of the engine's host once the
	// engine responded.
	// +optional
	Capacity EngineResources `json:"capacity,omitempty,omitzero"`

	// reserved is the sum over all clusters of what they have reserved, or of what their machines count if that is
	// more.
	// +optional
	Reserved EngineResources `json:"reserved,omitempty,omitzero"`

	// free is the capacity that is not reserved; 0 if more is reserved. It is known once the engine
	// responded, or if spec.capacity has it.
	// +optional
	Free EngineResources `json:"free,omitempty,omitzero"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=containerengines,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:metadata:labels="clusterctl.cluster.x-k8s.io/move-hierarchy="
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.endpoint",description="Where the engine is reached"
// +kubebuilder:printcolumn:name="Reachable",type="string",JSONPath=`.status.conditions[?(@.type=="Reachable")].status`,description="Whether the engine responds"
// +kubebuilder:printcolumn:name="Host ready",type="string",JSONPath=`.status.conditions[?(@.type=="HostReady")].status`,description="Whether the host has what nodes need"
// +kubebuilder:printcolumn:name="Machines",type="integer",JSONPath=".status.machines",description="Machines on the engine"
// +kubebuilder:printcolumn:name="Free CPU",type="string",JSONPath=".status.free.cpu",description="CPUs that are not reserved"
// +kubebuilder:printcolumn:name="Free memory",type="string",JSONPath=".status.free.memory",description="Memory that is not reserved"
// +kubebuilder:printcolumn:name="Engine",type="string",JSONPath=".status.product",description="Docker or Podman",priority=1
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.version",description="Version of the engine",priority=1
// +kubebuilder:printcolumn:name="Maintenance",type="boolean",JSONPath=".spec.maintenance",description="Whether no cluster is created on the engine",priority=1
// +kubebuilder:printcolumn:name="Lost",type="boolean",JSONPath=".spec.lost",description="Whether the engine is gone",priority=1
// +kubebuilder:printcolumn:name="Debts",type="integer",JSONPath=".status.debts",description="Deleted clusters that left something on the engine",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// ContainerEngine is a container engine on another host, for clusters of its namespace.
// The engine whose socket the manager has needs no object.
type ContainerEngine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec ContainerEngineSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state.
	// +optional
	Status ContainerEngineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions implements conditions.Getter of Cluster API.
func (e *ContainerEngine) GetConditions() []metav1.Condition { return e.Status.Conditions }

// SetConditions implements conditions.Setter of Cluster API.
func (e *ContainerEngine) SetConditions(conditions []metav1.Condition) {
	e.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// ContainerEngineList is a list of ContainerEngine.
type ContainerEngineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerEngine `json:"items"`
}
