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

package node

import (
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Machine is what a node container is made from.
type Machine struct {
	// Container is the container's name, Hostname the node's.
	Container, Hostname string
	// Image is a reference of a local image.
	Image string
	// Labels say whose the container is.
	Labels map[string]string
	// Mounts of the user.
	Mounts []Mount
	// Resources are the limits that the user set.
	Resources Resources
	// Ports to publish, with their host ports.
	Ports []engine.PortBinding
	// Environment are the variables that the user set.
	Environment map[string]string
	// CDIDevices of the user, by name. Other devices are Mounts: the
	// options that engines have for devices do little in a privileged container.
	CDIDevices []string
	// DNSSearch are the search domains of the resolver; none = the engine's choice.
	DNSSearch []string
	// Volume of the engine that all nodes of the cluster mount at VolumePath; empty = none.
	Volume string
}

// Mount makes a path of the engine's host visible in the node.
type Mount struct {
	HostPath, ContainerPath string
	ReadOnly                bool
	Propagation             engine.Propagation
}

// Spec returns what the container of a machine is created from. Its place on
// the network is left to who allocates addresses.
func Spec(machine Machine, host Host) engine.Spec {
	return engine.Spec{
		Name:     machine.Container,
		Hostname: machine.Hostname,
		Image:    machine.Image,
		Labels:   machine.Labels,
		Mounts:   mounts(machine, host),
		Ports:    machine.Ports,

		Environment: environment(machine.Environment),
		CDIDevices:  machine.CDIDevices,
		DNSSearch:   machine.DNSSearch,
		Security: engine.Security{
			// A node mounts file systems, makes cgroups, network namespaces
			// and devices for its own containers. All capabilities one by
			// one, all devices by a cgroup rule and unmasked system paths
			// are not enough: engines mount /sys/fs/cgroup writable for this
			// one switch only, and the entrypoint of node images ends where
			// it is not. Tried, see docs/explanation/security.md.
			Privileged: true,
			Unconfined: true,
			// The default on cgroup v2 only. On v1 the node would see, and
			// systemd in it would try to manage, the host's whole tree.
			PrivateCgroupNamespace: true,
		},
		Resources: engine.Resources{
			MilliCPU: machine.Resources.MilliCPU, MemoryBytes: machine.Resources.MemoryBytes, Pids: machine.Resources.Pids,
		},
		// Comes back after a restart of engine or host, with its static
		// address; kind's on-failure:1 does not survive either, and "always"
		// would bring back nodes that were stopped on purpose.
		Restart: engine.RestartUnlessStopped,
		// What systemd takes as the wish to power off. SIGTERM makes it
		// re-execute, and every stop would end in a kill.
		StopSignal: "SIGRTMIN+3",
		// systemd logs its progress to /dev/console, which is a terminal or
		// nothing.
		TTY: true,
	}
}

// mounts returns those every node has, then the user's.
func mounts(machine Machine, host Host) []engine.Mount {
	all := []engine.Mount{
		// Both must be empty at each start: systemd and the entrypoint
		// expect a fresh /run, and programs of the node a writable /tmp.
		{Type: engine.MountTmpfs, Target: "/run"},
		{Type: engine.MountTmpfs, Target: "/tmp"},
		// containerd's overlayfs cannot have its upper directory on the
		// container's own overlay; a volume lies on the host's file system.
		// Anonymous, so that it goes with the container.
		{Type: engine.MountVolume, Target: "/var"},
	}
	if host.KernelModules {
		// kube-proxy and CNI plugins ask modprobe what the kernel has. Where
		// the host has no such directory everything is built in.
		all = append(all, engine.Mount{Type: engine.MountBind, Source: "/lib/modules", Target: "/lib/modules", ReadOnly: true})
	}
	if slices.Contains([]string{"btrfs", "zfs", "devicemapper"}, host.StorageDriver) {
		// cAdvisor in the kubelet needs the devices behind the storage.
		all = append(all, engine.Mount{Type: engine.MountBind, Source: "/dev/mapper", Target: "/dev/mapper"})
	}
	if machine.Volume != "" {
		all = append(all, engine.Mount{Type: engine.MountVolume, Source: machine.Volume, Target: VolumePath})
	}
	for _, mount := range machine.Mounts {
		all = append(all, engine.Mount{
			Type:     engine.MountBind,
			Source:   mount.HostPath,
			Target:   mount.ContainerPath,
			ReadOnly: mount.ReadOnly,

			Propagation: mount.Propagation,
		})
	}
	return all
}
