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

package preflight

import (
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
)

const (
	// What one node without workload uses of the limits of inotify: 27
	// instances with 300 watches on a control plane, 14 with 150 on a worker,
	// measured; pods add watches.
	instancesPerNode = 32
	watchesPerNode   = 4096
	// What kind's documentation recommends for clusters of several nodes.
	recommendedInstances = 512
	recommendedWatches   = 524288
)

const (
	// What a node takes of the disk before it runs workload: its volume and
	// logs. The base is what an image takes while it is being loaded.
	storagePerNode = 512 << 20
	storageBase    = 1 << 30
	// storageShare is the part that must be free: the kubelet evicts pods
	// when less than a tenth is, and removes images when less than 15 % are.
	storageShare = 0.15
	// inodesPerNode is the files of one node's volume with its images.
	inodesPerNode = 50000
)

// capabilities that nodes cannot do without, as linux/capability.h numbers
// them: systemd, containerd and CNI plugins need them.
var capabilities = []struct {
	bit  int
	name string
}{
	{0, "CAP_CHOWN"}, {1, "CAP_DAC_OVERRIDE"}, {3, "CAP_FOWNER"}, {5, "CAP_KILL"}, {6, "CAP_SETGID"},
	{7, "CAP_SETUID"}, {8, "CAP_SETPCAP"}, {10, "CAP_NET_BIND_SERVICE"}, {12, "CAP_NET_ADMIN"},
	{13, "CAP_NET_RAW"}, {18, "CAP_SYS_CHROOT"}, {19, "CAP_SYS_PTRACE"}, {21, "CAP_SYS_ADMIN"},
	{27, "CAP_MKNOD"}, {31, "CAP_SETFCAP"},
}

// capabilitySysResource is what raising limits and lowering oom_score_adj
// take. Nodes are adapted to its absence.
const capabilitySysResource = 24

// checkHost judges what a probe found.
func checkHost(facts Facts, host Host) []Item {
	if host.PrivilegedError != nil {
		return []Item{{
			Name: "PrivilegedContainer", Severity: SeverityError,
			Message: fmt.Sprintf("the engine does not run a privileged container: %v", host.PrivilegedError),
			Remedy:  "let the engine run privileged containers; where the host itself lacks a capability, give the engine an OCI runtime that leaves it out",
		}}
	}
	var items []Item
	items = append(items, checkInotify(facts.Nodes, host)...)
	items = append(items, checkStorage(facts.Nodes, host)...)
	items = append(items, checkCapabilities(host)...)
	items = append(items, checkOpenFiles(host)...)
	return items
}

func checkInotify(nodes int, host Host) []Item {
	check := func(name, setting string, limit int64, perNode, recommended int) []Item {
		need := int64(nodes) * int64(perNode)
		// The limit is one user's: what else runs as root takes of it too.
		if limit == unknown || limit >= 2*need {
			return nil
		}
		severity := SeverityWarning
		if limit < need {
			severity = SeverityError
		}
		value := max(int64(recommended), 2*need)
		return []Item{{
			Name: name, Severity: severity,
			Message: fmt.Sprintf("%s is %d, %s need some %d of it, and the rest of the host its own", setting, limit, some(nodes), need),
			Remedy:  fmt.Sprintf("on the engine's host: sudo sysctl -w %s=%d, and the same in a file below /etc/sysctl.d to keep it", setting, value),
		}}
	}
	return append(
		check("InotifyInstances", "fs.inotify.max_user_instances", host.InotifyInstances, instancesPerNode, recommendedInstances),
		check("InotifyWatches", "fs.inotify.max_user_watches", host.InotifyWatches, watchesPerNode, recommendedWatches)...)
}

func checkStorage(nodes int, host Host) []Item {
	const remedy = "free space there (docker system df or podman system df show what takes it), or move the engine's storage to a larger disk"
	need := storageBase + int64(nodes)*storagePerNode
	switch free, total := host.StorageFreeBytes, host.StorageTotalBytes; {
	case free == unknown:
		return nil
	case free < need:
		return []Item{{
			Name: "Storage", Severity: SeverityError,
			Message: fmt.Sprintf("the engine's storage has %s free, %s need some %s", size(free), some(nodes), size(need)),
			Remedy:  remedy,
		}}
	case total > 0 && float64(free) < storageShare*float64(total):
		return []Item{{
			Name: "Storage", Severity: SeverityWarning,
			Message: fmt.Sprintf("the engine's storage has %.0f%% free; kubelets remove images below 15%% and evict pods below 10%%", 100*float64(free)/float64(total)),
			Remedy:  remedy,
		}}
	case host.StorageFreeInodes != unknown && host.StorageFreeInodes < int64(nodes)*inodesPerNode:
		return []Item{{
			Name: "Storage", Severity: SeverityWarning,
			Message: fmt.Sprintf("the engine's storage has %d inodes free, %s need some %d", host.StorageFreeInodes, some(nodes), nodes*inodesPerNode),
			Remedy:  remedy,
		}}
	}
	return nil
}

func checkCapabilities(host Host) []Item {
	if !host.HasCapabilities {
		return nil
	}
	var items []Item
	var missing []string
	for _, capability := range capabilities {
		if host.Capabilities&(1<<capability.bit) == 0 {
			missing = append(missing, capability.name)
		}
	}
	if len(missing) > 0 {
		items = append(items, Item{
			Name: "Capabilities", Severity: SeverityError,
			Message: "privileged containers lack " + strings.Join(missing, ", "),
			Remedy:  "give them to the engine: it may itself run in a container or a sandbox that holds them back",
		})
	}
	if !canRaiseLimits(host) {
		items = append(items, Item{
			Name: "CapabilitySysResource", Severity: SeverityWarning,
			Message: "privileged containers lack CAP_SYS_RESOURCE; nodes are adapted and protect no process from the kernel's OOM killer",
			Remedy:  "give it to the engine if workloads need it: it may itself run in a container or a sandbox that holds it back",
		})
	}
	return items
}

func canRaiseLimits(host Host) bool { return host.Capabilities&(1<<capabilitySysResource) != 0 }

// checkOpenFiles: a limit that is too low can be raised for a container only
// where the engine has the capability to.
func checkOpenFiles(host Host) []Item {
	if host.OpenFiles == unknown || host.OpenFiles >= haproxy.OpenFiles {
		return nil
	}
	severity := SeverityWarning
	if host.HasCapabilities && !canRaiseLimits(host) {
		severity = SeverityError
	}
	return []Item{{
		Name: "OpenFiles", Severity: severity,
		Message: fmt.Sprintf("containers may open %d files, a load balancer needs %d and nodes as many", host.OpenFiles, haproxy.OpenFiles),
		Remedy:  "raise the hard limit RLIMIT_NOFILE of the engine (LimitNOFILE of its systemd unit, or its default ulimits)",
	}}
}
