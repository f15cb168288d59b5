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

// checkKernel judges what the host's kernel does for networks.
func checkKernel(host Host) []Item {
	var items []Item
	if host.BridgeNetfilter == 0 {
		items = append(items, warning("BridgeNetfilter",
			"traffic across bridges bypasses iptables (br_netfilter is not loaded or is disabled): "+
				"with a CNI plugin that uses a bridge, Pods cannot reach Services with endpoints on the same node; the default Pod network uses none",
			"on the engine's host: sudo modprobe br_netfilter && "+setSysctl("net.bridge.bridge-nf-call-iptables", 1)))
	}
	if host.IPv6 == 0 {
		items = append(items, warning("IPv6",
			"IPv6 is disabled in the host's kernel: IPv6 and dual-stack clusters cannot be created",
			"boot the engine's host without ipv6.disable=1, or use IPv4"))
	}
	return items
}

func setSysctl(name string, value int64) string {
	return fmt.Sprintf("sudo sysctl -w %s=%d, and persist it in /etc/sysctl.d", name, value)
}
