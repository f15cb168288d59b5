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

// Host is what a node has to know of the host it runs on.
type Host struct {
	// CgroupVersion is "1" or "2".
	CgroupVersion string
	// UserNamespace: root in a container is not root on the host, because
	// the engine is rootless or remaps users.
	UserNamespace bool
	// CannotRaiseLimits: even a privileged container lacks CAP_SYS_RESOURCE,
	// without which no process may lower an oom_score_adj or raise a limit.
	CannotRaiseLimits bool
	// StorageDriver of the engine, such as "overlay2".
	StorageDriver string
	// MilliCPU and MemoryBytes are what the host has; 0 = not known.
	MilliCPU, MemoryBytes int64
	// KernelModules: the host has /lib/modules.
	KernelModules bool
}

// CapabilitySysResource is the number of CAP_SYS_RESOURCE in a capability
// set, from linux/capability.h.
const CapabilitySysResource = 24

// restricted: what the kubelet and containerd do as root elsewhere is refused
// here. Rootless engines and hosts that hold back CAP_SYS_RESOURCE need the
// same.
func (h Host) restricted() bool { return h.UserNamespace || h.CannotRaiseLimits }
