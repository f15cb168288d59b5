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

import "fmt"

// What nodes without workload use of limits that all of them share, measured:
// a control plane, and a worker. The first is what cannot be done without, the
// numbers behind it what leaves room for Pods.
const (
	// 27 instances of inotify with 300 watches on a control plane, 14 with
	// 150 on a worker; Pods add watches.
	leastInstances, instancesPerNode = 14, 32
	leastWatches, watchesPerNode     = 150, 4096
	// What kind's documentation recommends for clusters of several nodes.
	recommendedInstances = 512
	recommendedWatches   = 524288
	// 190 processes and threads on a control plane, 65 on a worker.
	leastProcesses, processesPerNode = 65, 1000
	recommendedProcesses             = 65536
)

const (
	// What a node takes of the disk before it runs workload: its volume and
	// logs. The base is what an image takes while it is being loaded.
	storagePerNode = 512 << 20
	storageBase    = 1 << 30
	// inodesPerNode is the files of one node's volume with its images.
	inodesPerNode = 50000
)

// shared is a limit that all nodes share.
type shared struct {
	item, setting string
	limit         int64
	// least one node uses, and what one should have.
	least, perNode, recommended int64
}

// check against what the nodes need. The limit is a warning where other users
// of the host may come to want of it, and an error where the nodes alone do.
func (n shared) check(nodes int) []Item {
	least, need := int64(nodes)*n.least, int64(nodes)*n.perNode
	if n.limit == unknown || n.limit >= 2*need {
		return nil
	}
	severity := SeverityWarning
	if n.limit < least {
		severity = SeverityError
	}
	return []Item{{
		Name: n.item, Severity: severity,
		Message: fmt.Sprintf("%s is %d, %s need about %d in addition to other processes of the host", n.setting, n.limit, some(nodes), need),
		Remedy:  "on the engine's host: " + setSysctl(n.setting, max(n.recommended, 2*need)),
	}}
}

func checkInotify(nodes int, host Host) []Item {
	instances := shared{
		"InotifyInstances", "fs.inotify.max_user_instances", host.InotifyInstances,
		leastInstances, instancesPerNode, recommendedInstances,
	}
	watches := shared{
		"InotifyWatches", "fs.inotify.max_user_watches", host.InotifyWatches,
		leastWatches, watchesPerNode, recommendedWatches,
	}
	return append(instances.check(nodes), watches.check(nodes)...)
}

// checkProcesses: all users share the kernel's limits. The limit of one user
// does not bind root, unless root is one of a user namespace.
func checkProcesses(facts Facts, host Host) []Item {
	limits := []shared{
		{"Processes", "kernel.pid_max", host.PidMax, leastProcesses, processesPerNode, recommendedProcesses},
		{"Threads", "kernel.threads-max", host.ThreadsMax, leastProcesses, processesPerNode, recommendedProcesses},
	}
	var items []Item
	for _, limit := range limits {
		items = append(items, limit.check(facts.Nodes)...)
	}
	need := int64(facts.Nodes) * processesPerNode
	if facts.Engine.Rootless && host.Processes != unknown && host.Processes < need {
		items = append(items, warning("UserProcesses",
			fmt.Sprintf("the engine's user is limited to %d processes, %s need about %d", host.Processes, some(facts.Nodes), need),
			"raise RLIMIT_NPROC of the engine (LimitNPROC of its systemd unit, nproc in /etc/security/limits.d)"))
	}
	return items
}

// checkStorage for the nodes that are to be made, at least one: those there are
// have taken what they need.
func checkStorage(nodes int, host Host) []Item {
	const remedy = "free disk space (see \"docker system df\" or \"podman system df\"), or move the engine's storage to a larger disk"
	need := storageBase + int64(nodes)*storagePerNode
	switch free := host.StorageFreeBytes; {
	case free == unknown:
		return nil
	case free < need:
		return []Item{failure("Storage",
			fmt.Sprintf("the engine's storage has %s free, %s need about %s", size(free), some(nodes), size(need)),
			remedy)}
	case host.StorageFreeInodes != unknown && host.StorageFreeInodes < int64(nodes)*inodesPerNode:
		return []Item{warning("Storage",
			fmt.Sprintf("the engine's storage has %d inodes free, %s need about %d", host.StorageFreeInodes, some(nodes), nodes*inodesPerNode),
			remedy)}
	}
	return nil
}
