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

// ContainerClusterTemplateSpec is the content of a ContainerClusterTemplate.
type ContainerClusterTemplateSpec struct {
	// template of the ContainerCluster objects to be made.
	// +required
	Template ContainerClusterTemplateResource `json:"template,omitempty,omitzero"`
}

// ContainerClusterTemplateResource is what a ContainerCluster is made from.
type ContainerClusterTemplateResource struct {
	// metadata: labels and annotations of the objects made.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the objects made.
	// +required
	Spec ContainerClusterTemplateResourceSpec `json:"spec,omitempty,omitzero"`
}

// ContainerClusterTemplateResourceSpec is a ContainerClusterSpec without what
// belongs to one cluster alone, its endpoint.
// +kubebuilder:validation:MinProperties=1
type ContainerClusterTemplateResourceSpec struct {
	// engineName is the ContainerEngine, in the namespace of the cluster, that the containers of the
	// cluster are on; by default the engine whose socket the manager has.
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
	// on. network.name is then a macvlan network that exists on each of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	EngineNames []string `json:"engineNames,omitempty"`

	// engineReservation is what the cluster reserves of its ContainerEngine before it is created there; by
	// default what the machines of the Cluster's topology count, or one control plane if it has no topology. What its
	// machines count counts if that is more.
	// +optional
	EngineReservation EngineResources `json:"engineReservation,omitempty,omitzero"`

	// network is the engine's network that the containers of the cluster are
	// on.
	// +optional
	Network Network `json:"network,omitempty,omitzero"`

	// loadBalancer stands before the API servers.
	// +optional
	LoadBalancer LoadBalancerTemplate `json:"loadBalancer,omitempty,omitzero"`

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

	// resources that nodes are limited to, by their role.
	// +optional
	Resources RoleResources `json:"resources,omitempty,omitzero"`

	// registries say how the nodes pull images.
	// +optional
	// +listType=map
	// +listMapKey=host
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Registries []Registry `json:"registries,omitempty"`

	// images of the engine that each node has, such as app:dev.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Images []string `json:"images,omitempty"`

	// failureDomains are names for groups of machines.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
}

// LoadBalancerTemplate is a LoadBalancer. Its host ports can belong to one cluster alone.
// +kubebuilder:validation:MinProperties=1
type LoadBalancerTemplate struct {
	// type is HAProxy by default.
	// +optional
	Type LoadBalancerType `json:"type,omitempty"`

	// image of haproxy 2.6 or newer that has bash.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// hostPort on hostAddress of the engine's host that leads to the API servers, for a
	// template of a single cluster; by default the engine chooses one for each cluster.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	HostPort int32 `json:"hostPort,omitempty"`

	// hostAddress is the address of the engine's host that hostPort is published on;
	// 127.0.0.1 by default, 0.0.0.0 for all.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	HostAddress string `json:"hostAddress,omitempty"`

	// additionalPorts are more TCP ports on which the load balancer leads to the
	// same ports of the control planes, for a join protocol or a tunnel alongside the
	// API server, such as 9345. They are not published on the host.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	AdditionalPorts []int32 `json:"additionalPorts,omitempty"`

	// portMappings are TCP ports of the control planes that the load balancer publishes on
	// the engine's host. The load balancer keeps them while control planes are replaced. It
	// is recreated, within a second or so, when they change.
	// +optional
	// +listType=map
	// +listMapKey=containerPort
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	PortMappings []LoadBalancerPort `json:"portMappings,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=containerclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1_v1beta2"
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// ContainerClusterTemplate is what a ClusterClass makes ContainerClusters from.
type ContainerClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the template.
	// +optional
	Spec ContainerClusterTemplateSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// ContainerClusterTemplateList is a list of ContainerClusterTemplate.
type ContainerClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerClusterTemplate `json:"items"`
}
