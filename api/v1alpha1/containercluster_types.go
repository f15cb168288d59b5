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

// LoadBalancerType says what stands before the API servers.
// +kubebuilder:validation:Enum=HAProxy;None
type LoadBalancerType string

// ContainerClusterSpec is the desired state of a ContainerCluster.
type ContainerClusterSpec struct {
	// ownerID identifies the cluster on the container engine. All containers,
	// networks and volumes of the cluster carry it as a label, so that two
	// management clusters with a cluster of the same name never touch each
	// other's containers. The provider generates it once; it is immutable, and
	// "clusterctl move" and backups preserve it. Set it only to adopt the
	// containers of a cluster whose objects were deleted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9._-]+$`
	OwnerID string `json:"ownerID,omitempty"`

	// controlPlaneEndpoint is where the API servers are reached from within
	// the engine's network. The provider fills it when it first chooses an
	// address for the load balancer (port 6443 by default) and never changes
	// it afterwards.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// network is the engine's network that the containers of the cluster are
	// on.
	// +optional
	Network Network `json:"network,omitempty,omitzero"`

	// loadBalancer stands before the API servers.
	// +optional
	LoadBalancer LoadBalancer `json:"loadBalancer,omitempty,omitzero"`

	// failureDomains are names for groups of machines. On one engine they
	// share its fate: they exist to declare and test the spreading of
	// machines. The Nodes have them as label topology.kubernetes.io/zone. A
	// Machine that asks for another one is not made.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
}

// APIEndpoint is a place where an API server is reached.
// +kubebuilder:validation:MinProperties=1
type APIEndpoint struct {
	// host is an IPv4 or IPv6 address or a DNS name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port is a TCP port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// Network is a bridge network of the engine.
// +kubebuilder:validation:MinProperties=1
type Network struct {
	// name of the network; "capcon" by default. A network that does not
	// exist is created, and removed with its last cluster; one that was
	// there before is used and left alone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`
	Name string `json:"name,omitempty"`

	// subnet in CIDR notation for a network to be created, such as
	// 172.30.0.0/16, or one of each IP family separated by a comma, such as
	// 172.30.0.0/16,fd00:30::/64. By default the engine chooses that of IPv4 so that it
	// fits the routes of its host, and that of IPv6, if the Cluster has IPv6
	// ranges, is a random one of fd00::/8.
	// +optional
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=87
	Subnet string `json:"subnet,omitempty"`
}

// LoadBalancer says what stands before the API servers.
// +kubebuilder:validation:MinProperties=1
type LoadBalancer struct {
	// type is HAProxy by default. With None the endpoint must be set and
	// served by another load balancer or provider.
	// +optional
	Type LoadBalancerType `json:"type,omitempty"`

	// image of haproxy 2.6 or newer that has bash; by default the one this
	// release of the provider was tested with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// hostPort on 127.0.0.1 of the engine's host that leads to the API
	// servers. The provider fills in the one the engine chose when the load
	// balancer was first started, and keeps it for life.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	HostPort int32 `json:"hostPort,omitempty"`
}

// ContainerClusterStatus is the observed state of a ContainerCluster.
// +kubebuilder:validation:MinProperties=1
type ContainerClusterStatus struct {
	// conditions of the cluster's infrastructure: Ready, PreflightPassed,
	// NetworkReady, LoadBalancerReady and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization reports to Cluster API what was provisioned for the first time.
	// +optional
	Initialization Initialization `json:"initialization,omitempty,omitzero"`

	// failureDomains mirror those of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
}

// Initialization reports what was provisioned for the first time.
// +kubebuilder:validation:MinProperties=1
type Initialization struct {
	// provisioned is true once the infrastructure was first complete. It is
	// never set to false again: the conditions report the current state.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=containerclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1_v1beta2"
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1alpha1 is deprecated; use infrastructure.cluster.x-k8s.io/v1beta2"
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster this belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether network and load balancer work now"
// +kubebuilder:printcolumn:name="Provisioned",type="string",JSONPath=".status.initialization.provisioned",description="Whether the infrastructure was once complete"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Address of the API servers"
// +kubebuilder:printcolumn:name="Host port",type="integer",JSONPath=".spec.loadBalancer.hostPort",description="Port on 127.0.0.1 that leads to the API servers",priority=1
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// ContainerCluster is the infrastructure of a Cluster: a network of a
// container engine and a load balancer for the API servers.
type ContainerCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec ContainerClusterSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state.
	// +optional
	Status ContainerClusterStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// ContainerClusterList is a list of ContainerCluster.
type ContainerClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerCluster `json:"items"`
}
