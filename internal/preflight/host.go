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

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
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
		return []Item{failure("PrivilegedContainer",
			fmt.Sprintf("the engine cannot run privileged containers: %v", host.PrivilegedError),
			"allow privileged containers on the engine; if the host lacks a capability, configure an OCI runtime that omits it")}
	}
	return slices.Concat(
		checkInotify(facts.Nodes, host), checkProcesses(facts, host),
		checkStorage(max(facts.Nodes-facts.Existing, 1), host),
		checkCapabilities(host), checkOpenFiles(facts.Engine, host), checkKernel(host),
	)
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
		items = append(items, failure("Capabilities",
			"privileged containers lack "+strings.Join(missing, ", "),
			"grant them to the engine, which may run in a container or sandbox that drops them"))
	}
	if !canRaiseLimits(host) {
		items = append(items, warning("CapabilitySysResource",
			"privileged containers lack CAP_SYS_RESOURCE; nodes are configured not to protect processes from the OOM killer",
			"grant it to the engine, which may run in a container or sandbox that drops it, if workloads need it"))
	}
	return items
}

func canRaiseLimits(host Host) bool { return host.Capabilities&(1<<capabilitySysResource) != 0 }

// checkOpenFiles: a limit that is too low can be raised for a container only
// where the engine has the capability to, and is root.
func checkOpenFiles(info engine.Info, host Host) []Item {
	if host.OpenFiles == unknown || host.OpenFiles >= haproxy.OpenFiles {
		return nil
	}
	severity := SeverityWarning
	if info.Rootless || host.HasCapabilities && !canRaiseLimits(host) {
		severity = SeverityError
	}
	return []Item{{
		Name: "OpenFiles", Severity: severity,
		Message: fmt.Sprintf("containers can open %d files, load balancers and nodes need %d", host.OpenFiles, haproxy.OpenFiles),
		Remedy:  "raise the hard limit RLIMIT_NOFILE of the engine (LimitNOFILE of its systemd unit, or its default ulimits)",
	}}
}
