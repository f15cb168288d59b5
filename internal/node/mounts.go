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
	"fmt"
	"path"
	"slices"
	"strings"
)

// VolumePath is where a node has the volume of its cluster, outside of what kubelet and containerd
// use. Pods get a directory of it only where it is bound to a path below BoundPath.
const (
	VolumePath = "/cluster-volume"
	// BoundPath is below /run: what is bound there ends with the container.
	BoundPath = "/run/cluster-volumes"
)

// needed is a path in a node that no mount of a user's may hide.
type needed struct {
	// path in the node. A mount there, or above it, would hide it.
	path string
	// reason completes "the node needs it: …".
	reason string
	// whole says that nothing below it may be mounted either.
	whole bool
}

// reserved are the paths that every node of this provider needs as they are.
// Where a host path may replace what is in the image, such as a directory of
// containerd's or etcd's below /var, is the user's to know.
var reserved = []needed{
	{path: "/run", reason: "it is a tmpfs, empty after each start"},
	{path: "/var/run", reason: "it is a symlink to /run"},
	{path: "/run/cluster-api", reason: "it has the status of the bootstrap", whole: true},
	{path: "/tmp", reason: "it is a tmpfs, empty after each start"},
	{path: "/var", reason: "it is a volume of the node"},
	{path: "/lib/modules", reason: "the provider mounts that of the host", whole: true},
	{path: "/usr/lib/modules", reason: "the provider mounts that of the host", whole: true},
	{path: "/dev/mapper", reason: "the provider mounts that of the host if required", whole: true},
	{path: "/proc", reason: "it is a kernel file system", whole: true},
	{path: "/sys/fs/cgroup", reason: "systemd and the kubelet manage it", whole: true},
	{path: "/etc/hosts", reason: "the node image's entrypoint writes it"},
	{path: "/etc/hostname", reason: "the engine writes it"},
	{path: "/etc/machine-id", reason: "the node image's entrypoint writes it"},
	{path: "/etc/kubernetes", reason: "kubeadm writes keys and manifests there"},
	{path: "/etc/kubernetes/manifests", reason: "kubeadm writes manifests there"},
	{path: "/etc/kubernetes/pki", reason: "kubeadm writes keys there"},
	{path: "/etc/resolv.conf", reason: "the node image's entrypoint writes it"},
	{path: "/" + containerdDropIns, reason: "it configures containerd for the host"},
	{path: VolumePath, reason: "the provider mounts the volume of the cluster there", whole: true},
	{path: BoundPath, reason: "PersistentVolumes are bound there", whole: true},
	{path: "/kind", reason: "the node image's entrypoint keeps its files there"},
	{path: "/bin", reason: "it belongs to the node's operating system"},
	{path: "/lib", reason: "it belongs to the node's operating system"},
	{path: "/lib64", reason: "it belongs to the node's operating system"},
	{path: "/sbin", reason: "it belongs to the node's operating system"},
	{path: "/usr/bin", reason: "it belongs to the node's operating system"},
	{path: "/usr/lib", reason: "it belongs to the node's operating system"},
	{path: "/usr/local/bin", reason: "it belongs to the node's operating system"},
	{path: "/usr/sbin", reason: "it belongs to the node's operating system"},
}

// MountError says what is wrong with one of several mounts.
type MountError struct {
	// Index of the mount.
	Index int
	// OfHost says that it is the mount's HostPath, otherwise it is the
	// ContainerPath.
	OfHost bool
	// Path of the input.
	Path string
	// Reason and Remedy, for users.
	Reason, Remedy string
}

// Error implements error.
func (e *MountError) Error() string {
	return fmt.Sprintf("mount %d: path %q %s; %s", e.Index, e.Path, e.Reason, e.Remedy)
}

// CheckMounts says of each mount why no node can have it, alongside whether the
// host has its path: that only the engine knows. The paths are those that the
// node's bootstrap is made of.
func CheckMounts(mounts []Mount, bootstrap []string) []*MountError {
	reserved := slices.Clone(reserved)
	for _, made := range bootstrap {
		reserved = append(reserved, needed{path: made, reason: "bootstrap files are there", whole: true})
	}
	var errs []*MountError
	for i, mount := range mounts {
		if reason, remedy := unclean(mount.HostPath); reason != "" {
			errs = append(errs, &MountError{Index: i, OfHost: true, Path: mount.HostPath, Reason: reason, Remedy: remedy})
		}
		reason, remedy := unclean(mount.ContainerPath)
		if reason == "" {
			reason, remedy = hides(mount.ContainerPath, reserved)
		}
		if reason == "" {
			reason, remedy = collides(mount.ContainerPath, mounts[:i])
		}
		if reason != "" {
			errs = append(errs, &MountError{Index: i, Path: mount.ContainerPath, Reason: reason, Remedy: remedy})
		}
	}
	return errs
}

// unclean: engines clean paths in ways of their own, and then two mounts are
// one, or a mount is somewhere else than it seems.
func unclean(target string) (reason, remedy string) {
	switch {
	case !path.IsAbs(target):
		return "is not absolute", "use a path that begins with a slash"
	case path.Clean(target) != target:
		return "is not a clean path", "use " + path.Clean(target)
	case strings.ContainsFunc(target, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "contains a control character", "remove it"
	default:
		return "", ""
	}
}

func hides(target string, reserved []needed) (reason, remedy string) {
	remedy = "use another path, such as /mnt/data"
	if i := slices.IndexFunc(reserved, func(n needed) bool { return n.path == target }); i >= 0 {
		return "is used by the node: " + reserved[i].reason, remedy
	}
	for _, n := range reserved {
		switch {
		case below(n.path, target):
			return fmt.Sprintf("would hide %s, which the node uses: %s", n.path, n.reason), remedy
		case n.whole && below(target, n.path):
			return fmt.Sprintf("is below %s, which the node uses: %s", n.path, n.reason), remedy
		}
	}
	return "", ""
}

// collides: what is mounted in which order is the engine's to decide, and what
// a mount within another needs is made on the host.
func collides(target string, before []Mount) (reason, remedy string) {
	for i, mount := range before {
		switch {
		case target == mount.ContainerPath:
			return fmt.Sprintf("is also the path of mount %d", i), "use another path for one of them"
		case below(target, mount.ContainerPath), below(mount.ContainerPath, target):
			return fmt.Sprintf("overlaps %s of mount %d", mount.ContainerPath, i), "use paths that do not contain each other"
		}
	}
	return "", ""
}

// below reports whether a clean path lies below another.
func below(target, parent string) bool {
	return target != parent && strings.HasPrefix(target, strings.TrimSuffix(parent, "/")+"/")
}
