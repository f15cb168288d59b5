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
	// ClusterFinalizer keeps a ContainerCluster until its load balancer, volume and
	// network are gone from the engine.
	ClusterFinalizer = "containercluster.infrastructure.cluster.x-k8s.io"

	// EngineAnnotation on a ContainerCluster is the identity of what the engine stores that
	// the cluster's containers were created on. The controller writes it. If another engine
	// answers, a container that is not found there may still run: nothing is created, removed
	// or replaced. To remove the annotation is to say that the other engine is lost.
	EngineAnnotation = "container.infrastructure.cluster.x-k8s.io/engine-storage-id"

	// AttachedManagerAnnotation on a ContainerCluster names the container of the manager that
	// attached itself to the cluster's network, one that was not created by the provider. The
	// controller sets it before it does so, and detaches that container with the last cluster
	// on the network.
	AttachedManagerAnnotation = "container.infrastructure.cluster.x-k8s.io/attached-manager"

	// StoppedAnnotation on a Cluster stops its containers, whatever its value: workers
	// first, then control planes, then the load balancer. They keep their state and use
	// neither CPU nor memory. Without it they are started again. A Cluster is paused
	// while it is stopped, so that no Machine is remediated.
	StoppedAnnotation = "container.infrastructure.cluster.x-k8s.io/stopped"

	// ServiceLoadBalancersAnnotation on a ContainerCluster says that Services of the
	// workload cluster may have load balancers of the provider. It is set before the first
	// one is created, and removed once load balancers are switched off and all are removed.
	ServiceLoadBalancersAnnotation = "container.infrastructure.cluster.x-k8s.io/service-load-balancers"

	// RetainedVolumesAnnotation on a ContainerCluster names the PersistentVolumes of storage type
	// Cluster whose data is kept on the engine when the cluster is deleted, because their reclaim
	// policy is Retain.
	RetainedVolumesAnnotation = "container.infrastructure.cluster.x-k8s.io/retained-volumes"

	// PausedWhileStoppedAnnotation on a Cluster says that the provider has paused it
	// because it is stopped, and will unpause it. One that its user paused does not have it,
	// and stays paused.
	PausedWhileStoppedAnnotation = "container.infrastructure.cluster.x-k8s.io/paused-while-stopped"

	// StoppingSinceAnnotation on a Cluster is the time at which the provider began to stop
	// its containers. It is set before the first of them is stopped, and says that they
	// are to be started when StoppedAnnotation is removed.
	StoppingSinceAnnotation = "container.infrastructure.cluster.x-k8s.io/stopping-since"

	// StartingSinceAnnotation on a Cluster is the time at which the provider began to start
	// its containers, from which the limit of a start runs. It replaces
	// StoppingSinceAnnotation and is removed once all containers run and all Nodes are Ready.
	StartingSinceAnnotation = "container.infrastructure.cluster.x-k8s.io/starting-since"
)

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

	// engineName is the ContainerEngine, in the namespace of the cluster, that the containers of the
	// cluster are on; by default the engine whose socket the manager has. It is immutable once
	// anything of the cluster may be there.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	EngineName string `json:"engineName,omitempty"`

	// engineSelector lets the provider choose the engine: among the ContainerEngines in the namespace of the
	// cluster with these labels, one that is ready, not in maintenance, and has the capacity for
	// engineReservation. The choice is written to engineName. An empty selector selects all. It has no
	// effect if engineName is set.
	// +optional
	EngineSelector *metav1.LabelSelector `json:"engineSelector,omitempty"`

	// engineNames are the ContainerEngines, in the namespace of the cluster, that the machines of the cluster are placed
	// on. network.name is then a macvlan network that exists on each of them, with the same subnets: all hosts are on one
	// layer-2 network. A machine is placed on an engine of its failure domain, and on the one that has the fewest
	// machines of the same control plane or MachineDeployment. The failure domains of the Cluster are those of the engines that are neither
	// lost nor in maintenance; an engine without one is its own, by its name. engineName is the engine of the load balancer: the
	// provider chooses it, and another one if it is lost. Engines can be added; from one that is removed, machines are not
	// removed. One engine alone is what remains when another is given up. By default, all containers of the cluster are on one engine.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	EngineNames []string `json:"engineNames,omitempty"`

	// engineReservation is what the cluster reserves of its ContainerEngine before it is created there; by
	// default what the machines of the Cluster's topology count, or one control plane if it has no topology. What its
	// machines count counts if that is more.
	// +optional
	EngineReservation EngineResources `json:"engineReservation,omitempty,omitzero"`

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

	// storage provides PersistentVolumes in the workload cluster.
	// +optional
	Storage Storage `json:"storage,omitempty,omitzero"`

	// serviceLoadBalancer provides Services of type LoadBalancer in the workload
	// cluster.
	// +optional
	ServiceLoadBalancer ServiceLoadBalancer `json:"serviceLoadBalancer,omitempty,omitzero"`

	// limits of what a user of the workload cluster can create on the engine.
	// +optional
	Limits Limits `json:"limits,omitempty,omitzero"`

	// resources that nodes are limited to, by their role. A change is applied to running nodes. What a
	// machine's own resources name takes precedence. What is removed here stays as it is on running
	// nodes; set a larger value instead.
	// +optional
	Resources RoleResources `json:"resources,omitempty,omitzero"`

	// registries say how the nodes pull images. A change needs no new nodes.
	// +optional
	// +listType=map
	// +listMapKey=host
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Registries []Registry `json:"registries,omitempty"`

	// images of the engine that each node has, such as app:dev. A node that has no image
	// of that name gets the engine's, also when it joins later. A node that has one keeps
	// it: "capcon load" replaces it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Images []string `json:"images,omitempty"`

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
type Network struct {
	// name of the network. By default the provider sets it before it creates anything: to
	// "capcon-ipv6" if the Cluster has IPv6 ranges, and otherwise to "capcon". A network that does not
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

// RoleResources limit nodes by their role.
// +kubebuilder:validation:MinProperties=1
type RoleResources struct {
	// controlPlane are the limits of each control plane node.
	// +optional
	ControlPlane MachineResources `json:"controlPlane,omitempty,omitzero"`

	// workers are the limits of each other node.
	// +optional
	Workers MachineResources `json:"workers,omitempty,omitzero"`
}

// Limits of what a user of the workload cluster can create on the engine. The manager has
// limits for each of its clusters as flags; the lower one applies. A lower limit removes
// nothing that exists.
// +kubebuilder:validation:MinProperties=1
type Limits struct {
	// persistentVolumes is the maximum number of PersistentVolumes that the provider
	// provisions, including released ones; unlimited by default. Their size is not
	// limited: volumes share the file system of the engine's host.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PersistentVolumes *int32 `json:"persistentVolumes,omitempty"`

	// loadBalancers is the maximum number of Services to which the provider gives a load
	// balancer; unlimited by default. Further ones get an Event, and wait until others are
	// deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LoadBalancers *int32 `json:"loadBalancers,omitempty"`

	// hostPortRange is the range of ports on 127.0.0.1 of the engine's host that load
	// balancers of Services publish, such as 20000-20999, from 1024 to 65535. It is
	// restricted to the range of the manager, which is the default. A load balancer keeps
	// ports outside of the range until its container is recreated.
	// +optional
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=11
	HostPortRange string `json:"hostPortRange,omitempty"`
}

// ContainerClusterStatus is the observed state of a ContainerCluster.
// +kubebuilder:validation:MinProperties=1
type ContainerClusterStatus struct {
	// conditions of the cluster's infrastructure: Ready, PreflightPassed,
	// NetworkReady, LoadBalancerReady, WorkloadControllersReady, Stopped and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization reports to Cluster API what was provisioned for the first time.
	// +optional
	Initialization Initialization `json:"initialization,omitempty,omitzero"`

	// network is that of the cluster as the engine has it.
	// +optional
	Network NetworkStatus `json:"network,omitempty,omitzero"`

	// failureDomains mirror those of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
}

// NetworkStatus is the observed state of a network.
// +kubebuilder:validation:MinProperties=1
type NetworkStatus struct {
	// subnets of the network in CIDR notation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	Subnets []string `json:"subnets,omitempty"`

	// reservedSubnets are the parts of the subnets from which no container gets an
	// address. MetalLB, kube-vip and others can announce theirs. All clusters on the
	// network share them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	ReservedSubnets []string `json:"reservedSubnets,omitempty"`
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
// +kubebuilder:metadata:labels="visualizer.cluster.x-k8s.io="
// +kubebuilder:storageversion
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

// GetConditions implements conditions.Getter of Cluster API.
func (c *ContainerCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions implements conditions.Setter of Cluster API.
func (c *ContainerCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// ContainerClusterList is a list of ContainerCluster.
type ContainerClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerCluster `json:"items"`
}
