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
	if host.IPForward == 0 {
		// A warning: some engines turn it on when they set up a network.
		items = append(items, Item{
			Name: "IPForward", Severity: SeverityWarning,
			Message: "net.ipv4.ip_forward is 0 in a new container: Pods may reach nothing outside of their node",
			Remedy:  "on the engine's host: " + setSysctl("net.ipv4.ip_forward", 1),
		})
	}
	if host.BridgeNetfilter == 0 {
		items = append(items, Item{
			Name: "BridgeNetfilter", Severity: SeverityWarning,
			Message: "iptables does not see what crosses a bridge (br_netfilter is not loaded or turned off): " +
				"with a Pod network that uses a bridge, Pods do not reach Services whose Pods are on their own node; the default one uses none",
			Remedy: "on the engine's host: sudo modprobe br_netfilter && " + setSysctl("net.bridge.bridge-nf-call-iptables", 1),
		})
	}
	if host.IPv6 == 0 {
		items = append(items, Item{
			Name: "IPv6", Severity: SeverityWarning,
			Message: "the host's kernel has no IPv6: clusters with IPv6 addresses, also dual-stack ones, cannot be made",
			Remedy:  "boot the engine's host without ipv6.disable=1, or stay with IPv4",
		})
	}
	return items
}

func setSysctl(name string, value int64) string {
	return fmt.Sprintf("sudo sysctl -w %s=%d, and the same in a file below /etc/sysctl.d to keep it", name, value)
}
