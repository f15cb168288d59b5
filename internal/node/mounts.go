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

// Reserved is a path in a node that no mount of a user's may hide.
type Reserved struct {
	// Path in the node. A mount there, or above it, would hide it.
	Path string
	// Reason completes "the node needs it: …".
	Reason string
	// Whole says that nothing below it may be mounted either.
	Whole bool
}

// reserved are the paths that every node of this provider needs as they are.
// Where a host path may replace what is in the image, such as a directory of
// containerd's or etcd's below /var, is the user's to know.
var reserved = []Reserved{
	{Path: "/run", Reason: "it is memory, empty at each start"},
	{Path: "/var/run", Reason: "it leads to /run"},
	{Path: "/run/cluster-api", Reason: "it tells whether the bootstrap has ended", Whole: true},
	{Path: "/tmp", Reason: "it is memory, empty at each start"},
	{Path: "/var", Reason: "it is the volume of this one node"},
	{Path: "/lib/modules", Reason: "the provider mounts the host's there", Whole: true},
	{Path: "/usr/lib/modules", Reason: "the provider mounts the host's there", Whole: true},
	{Path: "/dev/mapper", Reason: "the provider mounts the host's where it is needed", Whole: true},
	{Path: "/proc", Reason: "it is the kernel's", Whole: true},
	{Path: "/sys/fs/cgroup", Reason: "systemd and the kubelet manage it", Whole: true},
	{Path: "/etc/hosts", Reason: "the node image's entrypoint writes it"},
	{Path: "/etc/hostname", Reason: "the engine writes it"},
	{Path: "/etc/machine-id", Reason: "the node image's entrypoint writes it"},
	{Path: "/etc/resolv.conf", Reason: "the node image's entrypoint writes it"},
	{Path: "/" + containerdDropIns, Reason: "it adapts containerd to the host"},
	{Path: "/kind", Reason: "the node image's entrypoint keeps its files there"},
	{Path: "/bin", Reason: "it is the node's system"},
	{Path: "/lib", Reason: "it is the node's system"},
	{Path: "/lib64", Reason: "it is the node's system"},
	{Path: "/sbin", Reason: "it is the node's system"},
	{Path: "/usr/bin", Reason: "it is the node's system"},
	{Path: "/usr/lib", Reason: "it is the node's system"},
	{Path: "/usr/local/bin", Reason: "it is the node's system"},
	{Path: "/usr/sbin", Reason: "it is the node's system"},
}

// MountError says what is wrong with one of several mounts.
type MountError struct {
	// Index of the mount.
	Index int
	// OfHost says that it is the mount's HostPath, otherwise it is the
	// ContainerPath.
	OfHost bool
	// Path that was given.
	Path string
	// Reason and Remedy, for people.
	Reason, Remedy string
}

// Error implements error.
func (e *MountError) Error() string {
	return fmt.Sprintf("mount %d: path %q %s; %s", e.Index, e.Path, e.Reason, e.Remedy)
}

// CheckMounts says of each mount why no node can have it, beside whether the
// host has its path: that only the engine knows. Others are reserved too.
func CheckMounts(mounts []Mount, others ...Reserved) []*MountError {
	var errs []*MountError
	for i, mount := range mounts {
		if reason, remedy := unclean(mount.HostPath); reason != "" {
			errs = append(errs, &MountError{Index: i, OfHost: true, Path: mount.HostPath, Reason: reason, Remedy: remedy})
		}
		reason, remedy := unclean(mount.ContainerPath)
		if reason == "" {
			reason, remedy = hides(mount.ContainerPath, append(others, reserved...))
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
func unclean(given string) (reason, remedy string) {
	switch {
	case !path.IsAbs(given):
		return "is not absolute", "write it from the root, beginning with a slash"
	case path.Clean(given) != given:
		return "is not in its shortest form", "write it as " + path.Clean(given)
	case strings.ContainsFunc(given, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "has a control character", "take it out"
	default:
		return "", ""
	}
}

func hides(given string, reserved []Reserved) (reason, remedy string) {
	remedy = "mount it at a path of its own, such as /mnt/data"
	if i := slices.IndexFunc(reserved, func(r Reserved) bool { return r.Path == given }); i >= 0 {
		return "is what the node needs: " + reserved[i].Reason, remedy
	}
	for _, r := range reserved {
		switch {
		case below(r.Path, given):
			return fmt.Sprintf("would hide %s, which the node needs: %s", r.Path, r.Reason), remedy
		case r.Whole && below(given, r.Path):
			return fmt.Sprintf("is below %s, which the node needs: %s", r.Path, r.Reason), remedy
		}
	}
	return "", ""
}

// collides: what is mounted in which order is the engine's to decide, and what
// a mount within another needs is made on the host.
func collides(given string, before []Mount) (reason, remedy string) {
	for i, mount := range before {
		switch {
		case given == mount.ContainerPath:
			return fmt.Sprintf("is that of mount %d too", i), "mount only one of them there"
		case below(given, mount.ContainerPath), below(mount.ContainerPath, given):
			return fmt.Sprintf("and %s, of mount %d, lie within one another", mount.ContainerPath, i), "mount them beside each other"
		}
	}
	return "", ""
}

// below reports whether a clean path lies below another.
func below(given, parent string) bool {
	return given != parent && strings.HasPrefix(given, strings.TrimSuffix(parent, "/")+"/")
}
