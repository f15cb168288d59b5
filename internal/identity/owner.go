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

package identity

import (
	"crypto/rand"
	"maps"
	"strings"
)

// The labels of everything this provider creates on an engine.
const (
	prefix = "container.infrastructure.cluster.x-k8s.io/"

	// LabelNamespace, LabelCluster and LabelOwnerID make up the Owner.
	LabelNamespace = prefix + "namespace"
	LabelCluster   = prefix + "cluster"
	LabelOwnerID   = prefix + "owner-id"
	// LabelMachine is the name of the machine object a node container
	// belongs to.
	LabelMachine = prefix + "machine"
	// LabelRole is what a container is for; see Role.
	LabelRole = prefix + "role"
	// LabelNetwork and LabelAddress record the static address a container
	// holds, also while it does not run.
	LabelNetwork = prefix + "network"
	LabelAddress = prefix + "address"
	// LabelSpec is a hash of the specification a container was created from.
	// It only decides whether an interrupted creation can be continued.
	LabelSpec = prefix + "spec-hash"
	// LabelCloudProvider is "external" where the bootstrap data leaves the
	// initialization of the Node to a cloud controller.
	LabelCloudProvider = prefix + "cloud-provider"
	// LabelAttempt counts the containers created for a machine: 1 for the
	// first, one more each time an interrupted bootstrap is repeated.
	LabelAttempt = prefix + "attempt"
	// LabelFailureDomain is where a machine's container was put; empty =
	// nowhere in particular.
	LabelFailureDomain = prefix + "failure-domain"
	// LabelService is "namespace/name" of the Service that a load balancer is for, and
	// LabelServiceUID its UID in the workload cluster.
	LabelService    = prefix + "service"
	LabelServiceUID = prefix + "service-uid"
	// LabelPorts are the ports that a load balancer was created to publish on the host,
	// also while it does not run.
	LabelPorts = prefix + "ports"
	// LabelHostPorts are the ports of the host that the container of a machine or registry
	// publishes, also while it does not run, as "127.0.0.1:8080/tcp", separated by commas.
	LabelHostPorts = prefix + "host-ports"
	// LabelPlane is the name of the management plane that a container or volume
	// belongs to.
	LabelPlane = prefix + "plane"
	// LabelManaged marks networks and volumes that this provider created
	// and may remove.
	LabelManaged = prefix + "managed"

	// kind's labels, so that its tools (kind load, cloud-provider-kind) find
	// our nodes.
	kindPrefix       = "io.x-k8s.kind."
	labelKindCluster = kindPrefix + "cluster"
	labelKindRole    = kindPrefix + "role"
)

// IsReserved reports whether a label is this provider's or kind's to set.
func IsReserved(label string) bool {
	return strings.HasPrefix(label, prefix) || strings.HasPrefix(label, kindPrefix)
}

// Role is what a container is for.
type Role string

// The roles of containers.
const (
	RoleControlPlane Role = "control-plane"
	RoleWorker       Role = "worker"
	RoleLoadBalancer Role = "load-balancer"
	// RoleServiceLoadBalancer is that of a Service of type LoadBalancer.
	RoleServiceLoadBalancer Role = "service-load-balancer"
	RolePlane               Role = "management-plane"
	RoleProbe               Role = "probe"
	// RoleRegistry is that of the registry that images are pushed to on the host.
	RoleRegistry Role = "registry"
)

// IsLoadBalancer reports whether the role is that of an HAProxy container.
func (r Role) IsLoadBalancer() bool { return r == RoleLoadBalancer || r == RoleServiceLoadBalancer }

// kindRoles are the names kind has for the roles.
var kindRoles = map[Role]string{
	RoleControlPlane: "control-plane",
	RoleWorker:       "worker",
	RoleLoadBalancer: "external-load-balancer",
}

// Owner is the cluster that containers belong to.
type Owner struct {
	// Namespace and Cluster name the infrastructure cluster object.
	Namespace, Cluster string
	// ID distinguishes clusters of one name in two management clusters. It
	// moves with the cluster.
	ID string
}

// NewOwnerID returns a random owner ID.
func NewOwnerID() string {
	return strings.ToLower(rand.Text())[:16]
}

// Labels select everything that belongs to the owner.
func (o Owner) Labels() map[string]string {
	return map[string]string{
		LabelNamespace: o.Namespace,
		LabelCluster:   o.Cluster,
		LabelOwnerID:   o.ID,
	}
}

// Owns reports whether the labels of a container are those of the owner. An
// owner that is not complete owns nothing: absent labels would match it.
func (o Owner) Owns(labels map[string]string) bool {
	for key, value := range o.Labels() {
		if value == "" || labels[key] != value {
			return false
		}
	}
	return true
}

// MayOwn reports whether the labels are those of an owner, and nothing that is
// known of this one contradicts them. While objects are being restored or
// deleted, not all of it is known.
func (o Owner) MayOwn(labels map[string]string) bool {
	for key, value := range o.Labels() {
		if labels[key] == "" || value != "" && labels[key] != value {
			return false
		}
	}
	return true
}

// ContainerLabels are those a container of the owner is created with. The
// machine's name is empty for a load balancer.
func (o Owner) ContainerLabels(role Role, machine string) map[string]string {
	labels := o.Labels()
	labels[LabelRole] = string(role)
	if kindRole := kindRoles[role]; kindRole != "" {
		labels[labelKindCluster] = o.Cluster
		labels[labelKindRole] = kindRole
	}
	if machine != "" {
		labels[LabelMachine] = machine
	}
	return labels
}

// Select returns the labels of the owner together with others, to list with.
func (o Owner) Select(others map[string]string) map[string]string {
	selector := o.Labels()
	maps.Copy(selector, others)
	return selector
}

// The kinds of container that have names of their own, apart from roles: the
// name of a machine's container must not depend on what the machine is for.
const (
	kindNode         = "node"
	kindLoadBalancer = "load-balancer"
	kindService      = "service"
	kindProbe        = "probe"
	kindVolume       = "volume"
)

// NodeContainer is the name of a machine's container.
func (o Owner) NodeContainer(machine string) string { return containerName(o, kindNode, machine) }

// LoadBalancerContainer is the name of the cluster's load balancer.
func (o Owner) LoadBalancerContainer() string {
	return containerName(o, kindLoadBalancer, o.Cluster+"-lb")
}

// ProbeContainer is the name of the container that asks other hosts from an engine.
func (o Owner) ProbeContainer(engine string) string {
	return containerName(o, kindProbe, o.Cluster+"-probe-"+engine)
}

// Volume is the name of the engine's volume that all nodes of the cluster mount.
func (o Owner) Volume() string { return containerName(o, kindVolume, o.Cluster+"-volumes") }

// VolumeLabels are those that Volume is created with.
func (o Owner) VolumeLabels() map[string]string {
	return o.Select(map[string]string{LabelManaged: "true"})
}

// ServiceContainer is the name of the load balancer of a Service.
func (o Owner) ServiceContainer(name, uid string) string {
	return containerName(o, kindService+" "+uid, o.Cluster+"-lb-"+name)
}
