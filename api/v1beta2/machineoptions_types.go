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

	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// PortProtocol is the protocol of a published port.
// +kubebuilder:validation:Enum=TCP;UDP
type PortProtocol string

const (
	// PortProtocolTCP is the default.
	PortProtocolTCP PortProtocol = "TCP"
	// PortProtocolUDP is UDP.
	PortProtocolUDP PortProtocol = "UDP"
)

// DefaultPortAddress is the address of a PortMapping that has none.
const DefaultPortAddress = "127.0.0.1"

// PortMapping publishes a port of a machine on the engine's host.
type PortMapping struct {
	// containerPort is the port of the machine, such as a node port.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ContainerPort int32 `json:"containerPort,omitempty"`

	// hostPort is the port of the engine's host. By default the provider chooses a free
	// one from 20000 to 29999 when it creates the machine's container, and keeps it for
	// the container's life. The status has it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	HostPort int32 `json:"hostPort,omitempty"`

	// address of the engine's host to listen on; 127.0.0.1 by default, 0.0.0.0 for all.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	Address string `json:"address,omitempty"`

	// protocol is TCP by default.
	// +optional
	Protocol PortProtocol `json:"protocol,omitempty"`
}

// MountPropagation says which mounts of one side of a Mount appear on the other.
// +kubebuilder:validation:Enum=None;HostToContainer;Bidirectional
type MountPropagation string

const (
	// MountPropagationNone is the default.
	MountPropagationNone MountPropagation = "None"
	// MountPropagationHostToContainer makes mounts of the host appear in the node.
	MountPropagationHostToContainer MountPropagation = "HostToContainer"
	// MountPropagationBidirectional makes mounts of the node appear on the host too.
	MountPropagationBidirectional MountPropagation = "Bidirectional"
)

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

	// propagation says whether mounts that are made below the path later appear on the
	// other side: None by default, HostToContainer or Bidirectional. Anything but None needs
	// a path on a shared mount of the host, as systemd makes them.
	// +optional
	Propagation MountPropagation `json:"propagation,omitempty"`
}

// EnvironmentVariable is a variable of a container.
type EnvironmentVariable struct {
	// name of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name,omitempty"`

	// value of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	Value string `json:"value,omitempty"`
}

// Device is a device of the engine's host, by its path or by its name. A machine has all
// devices that the host has when its container starts, with all permissions. A path checks
// that the device is there, and can give it another one in the machine; a name adds what
// the vendor's specification describes.
// +kubebuilder:validation:MinProperties=1
type Device struct {
	// path on the engine's host, of a device that exists or of a directory of devices, which
	// then has those that are added later too.
	// +optional
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^/dev/`
	Path string `json:"path,omitempty"`

	// containerPath is the path in the machine; that of the host by default.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^/`
	ContainerPath string `json:"containerPath,omitempty"`

	// name in the Container Device Interface (CDI), such as vendor.com/class=name. It is an
	// alternative to path. A specification on the engine's host describes it. Docker needs
	// version 25 or newer, with CDI enabled.
	// +optional
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_.-]*/[A-Za-z][A-Za-z0-9_.-]*=[A-Za-z0-9][A-Za-z0-9_.:-]*$`
	Name string `json:"name,omitempty"`
}

// MachineResources limit what a machine may use of the engine's host. The engine enforces
// them. The kubelet still reports the host's resources as the Node's capacity; the
// provider has it reserve what exceeds the limits, so that the Node's allocatable
// resources, which the scheduler counts with, are right.
// +kubebuilder:validation:MinProperties=1
type MachineResources struct {
	// cpu is how much processor time the machine may use, such as 2 or 1500m; by
	// default that of all CPUs of the host. At least 750m, and at most what the host has.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory is how much memory the machine may use, such as 4Gi; by default the
	// host's. At least 1Gi, and at most what the host has. There is no swap in addition to it.
	// The kernel kills processes of a machine that needs more.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`

	// pids is how many processes and threads the machine may have at the same time; by
	// default as many as the engine allows. At least 1000.
	// +optional
	// +kubebuilder:validation:Minimum=1000
	Pids int64 `json:"pids,omitempty"`
}

// Or returns these limits, and the others where a machine has none of its own.
func (r MachineResources) Or(others MachineResources) MachineResources {
	return MachineResources{CPU: cmp.Or(r.CPU, others.CPU), Memory: cmp.Or(r.Memory, others.Memory), Pids: cmp.Or(r.Pids, others.Pids)}
}

// Of returns the limits of a machine by its role.
func (r RoleResources) Of(machine *clusterv1.Machine) MachineResources {
	if _, isControlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]; isControlPlane {
		return r.ControlPlane
	}
	return r.Workers
}
