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
	"slices"
	"strings"
)

// firstWithoutCgroupV1 is the minor version of Kubernetes from which on the
// kubelet refuses cgroup v1 by default.
const firstWithoutCgroupV1 = 35

// leastUserIDs is how many IDs images use: the highest is 65534.
const leastUserIDs = 65536

const (
	moveToV2 = "boot the engine's host with systemd.unified_cgroup_hierarchy=1 (WSL: run \"wsl --update\")"
	// delegate is the drop-in that lets a user's services, of which a rootless
	// engine is one, limit resources.
	delegate = "as root write the two lines \"[Service]\" and \"Delegate=cpu cpuset io memory pids\" into " +
		"/etc/systemd/system/user@.service.d/delegate.conf, run \"systemctl daemon-reload\", and log in again"
)

// neededControllers are those without which a kubelet does not run Pods.
func neededControllers() []string { return []string{"cpu", "memory", "pids"} }

// checkIsolation judges cgroups, user namespaces and SELinux.
func checkIsolation(facts Facts) []Item {
	items := append(checkCgroups(facts), checkUserNamespace(facts)...)
	if facts.Engine.SELinux {
		items = append(items, warning("SELinux",
			"SELinux denies containers access to the engine's socket; nodes and the management plane run without SELinux confinement",
			"set the SELinux type spc_t for a manager Pod that mounts the socket, as config/docker-socket and config/podman-socket do"))
	}
	return items
}

func checkCgroups(facts Facts) []Item {
	info := facts.Engine
	switch {
	case info.CgroupVersion == "1" && info.Rootless:
		return []Item{failure("CgroupVersion",
			"a rootless engine requires cgroup v2 with delegation of the controllers cpu, memory and pids; "+
				"this host has cgroup v1, where only root can limit resources",
			moveToV2+" and "+delegate+"; or use an engine that runs as root")}
	case info.CgroupVersion == "1" && (facts.KubernetesMinor == 0 || facts.KubernetesMinor >= firstWithoutCgroupV1):
		return []Item{warning("CgroupVersion",
			fmt.Sprintf("the host uses cgroup v1, which the kubelet rejects by default since v1.%d; the kubelets of nodes are configured to accept it", firstWithoutCgroupV1),
			moveToV2+", because later Kubernetes versions will not support cgroup v1")}
	}
	return checkControllers(facts)
}

// checkControllers judges what containers have of cgroup v2.
func checkControllers(facts Facts) []Item {
	info := facts.Engine
	var missing []string
	switch {
	case info.Rootless && info.CgroupDriver == "none":
		// What a rootless Docker says of itself where it may use no cgroup.
		missing = neededControllers()
	case facts.Host != nil && facts.Host.HasCgroupControllers:
		missing = slices.DeleteFunc(neededControllers(), func(name string) bool {
			return slices.Contains(facts.Host.CgroupControllers, name)
		})
	}
	switch {
	case len(missing) == 0:
		return nil
	case info.Rootless:
		return []Item{failure("CgroupDelegation",
			"a rootless engine requires cgroup v2 with delegation of the controllers cpu, memory and pids; "+
				"not delegated: "+strings.Join(missing, ", "),
			delegate+"; or use an engine that runs as root")}
	}
	return []Item{failure("CgroupControllers",
		"cgroup v2 controllers that the kubelet requires are not available in containers: "+strings.Join(missing, ", "),
		"enable them for the engine (cgroup.subtree_control of its parent cgroups); "+
			"if the kernel disables the memory controller, boot with cgroup_enable=memory")}
}

func checkUserNamespace(facts Facts) []Item {
	var items []Item
	switch {
	case facts.Engine.Rootless:
		items = append(items, warning("UserNamespace",
			"the engine is rootless: root in containers is not root on the host; nodes are configured for it",
			"use an engine that runs as root if workloads need more privileges"))
	case facts.Engine.UserNamespaceRemap:
		items = append(items, warning("UserNamespace",
			"userns-remap of the engine does not apply to nodes and the management plane, which are privileged or use the engine's socket",
			"do not rely on userns-remap to isolate workloads, or use a rootless engine"))
	}
	if host := facts.Host; host != nil && host.UserIDs != unknown && host.UserIDs < leastUserIDs {
		items = append(items, failure("UserIDs",
			fmt.Sprintf("containers have %d user IDs, images need %d", host.UserIDs, leastUserIDs),
			"add subordinate IDs for the engine's user: sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER, "+
				"then restart the engine (Podman: podman system migrate)"))
	}
	return items
}
