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

// LoadBalancerType says what stands before the API servers.
// +kubebuilder:validation:Enum=HAProxy;None
type LoadBalancerType string

const (
	// LoadBalancerHAProxy is an haproxy container that this provider runs.
	LoadBalancerHAProxy LoadBalancerType = "HAProxy"
	// LoadBalancerNone leaves the endpoint to another load balancer or provider.
	LoadBalancerNone LoadBalancerType = "None"
)

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

	// hostPort on hostAddress of the engine's host that leads to the API
	// servers. The provider fills in the one the engine chose when the load
	// balancer was first started, and keeps it for life.
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

// LoadBalancerPort is a port of the load balancer that is published on the engine's host.
type LoadBalancerPort struct {
	// containerPort is the TCP port of the load balancer, which leads to the same port of the
	// control planes, such as that of an ingress controller with hostPort.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ContainerPort int32 `json:"containerPort,omitempty"`

	// hostPort is the port of the engine's host.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	HostPort int32 `json:"hostPort,omitempty"`

	// address of the engine's host to listen on; 127.0.0.1 by default, 0.0.0.0 for all.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	Address string `json:"address,omitempty"`
}

// ServiceLoadBalancer says what provides Services of type LoadBalancer.
// +kubebuilder:validation:MinProperties=1
type ServiceLoadBalancer struct {
	// type is None by default. With HAProxy the provider runs a container per
	// Service that has no loadBalancerClass, with an address on the cluster's
	// network and published ports on 127.0.0.1 of the engine's host. Its image is
	// that of loadBalancer. A change from HAProxy to None removes the containers,
	// and their addresses from the Services.
	// +optional
	Type LoadBalancerType `json:"type,omitempty"`
}
