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
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Facts are what is known of an engine and its host.
type Facts struct {
	// Engine as it describes itself, or the error of asking it.
	Engine      engine.Info
	EngineError error
	// Asked and Answered are our own time before and after asking: the
	// engine's clock is compared with them. Zero = not compared.
	Asked, Answered time.Time
	// Host as a probe found it; nil = not probed, and not judged.
	Host *Host
	// Nodes that the host has to run, existing ones included; 0 means 1.
	Nodes int
	// Existing of them have their containers already, and what these take of
	// the disk.
	Existing int
	// IPv6: clusters with IPv6 ranges are wanted.
	IPv6 bool
	// KubernetesMinor is the minor version wanted, such as 36; 0 = not
	// known, and judged as a current one.
	KubernetesMinor int
}

// Host is what a probe container sees of the engine's host. A number of -1
// was not to be had and is not judged.
type Host struct {
	// InotifyWatches and InotifyInstances are the limits of one user.
	InotifyWatches, InotifyInstances int64
	// OpenFiles is the hard RLIMIT_NOFILE a container gets, Processes the
	// hard RLIMIT_NPROC.
	OpenFiles, Processes int64
	// PidMax and ThreadsMax are how many processes and threads the kernel
	// has numbers and memory for, all containers together.
	PidMax, ThreadsMax int64
	// UserIDs is how many user IDs containers have.
	UserIDs int64
	// CgroupControllers are those of cgroup v2 that a container has;
	// HasCgroupControllers says that they are known.
	CgroupControllers    []string
	HasCgroupControllers bool
	// BridgeNetfilter is 1 or 0 as a new container has it, which inherits it from its host.
	// IPv6 is 1 where the kernel has it.
	BridgeNetfilter, IPv6 int64
	// Capabilities is the bounding set of a privileged container, as the
	// kernel numbers them; HasCapabilities says that it is known.
	Capabilities    uint64
	HasCapabilities bool
	// StorageFreeBytes and StorageFreeInodes are free where the engine keeps the file
	// systems of its containers.
	StorageFreeBytes, StorageFreeInodes int64
	// PrivilegedError is why a privileged container did not start, if so;
	// all else is unknown then.
	PrivilegedError error
}
