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

// firstMinorWithoutCgroupV1 is the first Kubernetes minor version whose
// kubelet refuses cgroup v1 by default (KEP-5573).
const firstMinorWithoutCgroupV1 = 35

// Kubelet is the configuration of the kubelet of one machine.
type Kubelet struct {
	// ProviderID of the machine.
	ProviderID string
	// Zone becomes the topology label of the Node; empty = none.
	Zone string
	// Resources that the machine is limited to.
	Resources Resources
	// KubernetesMinor is 36 for v1.36.3; 0 = not known, taken as current.
	KubernetesMinor int
}

// KubeletFlags are added after the user's own, which win: internal/bootstrap leaves out what
// the user sets.
func KubeletFlags(kubelet Kubelet, host Host) []string {
	flags := []string{
		// The Node is right from its first registration: no client has to wait
		// for a controller to patch it.
		"--provider-id=" + kubelet.ProviderID,
		// The cgroup that kind's entrypoint prepares in every controller.
		"--cgroup-root=/kubelet",
		"--runtime-cgroups=/system.slice/containerd.service",
		// The host's swap is not the node's to turn off.
		"--fail-swap-on=false",
		// The file system is the host's: how full it is says nothing about
		// this node, and evicting pods or images would not free it.
		"--image-gc-high-threshold=100",
		"--eviction-hard=nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0%",
	}
	if kubelet.Zone != "" {
		flags = append(flags, "--node-labels=topology.kubernetes.io/zone="+kubelet.Zone)
	}
	flags = append(flags, kubelet.Resources.Reserved(host)...)
	if host.CgroupVersion == "1" && (kubelet.KubernetesMinor == 0 || kubelet.KubernetesMinor >= firstMinorWithoutCgroupV1) {
		flags = append(flags, "--fail-cgroupv1=false")
	}
	if host.restricted() {
		// Makes the kubelet continue where it may not set an oom_score_adj or a
		// sysctl; named for rootless, and right for any host that refuses.
		flags = append(flags, "--feature-gates=KubeletInUserNamespace=true")
	}
	return flags
}

// restrictedDropIn edits containerd's configuration before each of its starts.
// The line is in the configuration of every kind node image; sed leaves others
// as they are.
const restrictedDropIn = `# containerd may not lower an oom_score_adj on this host.
[Service]
ExecStartPre=/bin/sed -i "s/restrict_oom_score_adj = false/restrict_oom_score_adj = true/" /etc/containerd/config.toml
`

// ContainerdPatch is what restrictedDropIn does, as TOML for those who merge it into
// containerd's configuration before they create a node, as kind does; empty where the
// host restricts nothing.
func ContainerdPatch(host Host) string {
	if !host.restricted() {
		return ""
	}
	return "[plugins.\"io.containerd.cri.v1.runtime\"]\nrestrict_oom_score_adj = true\n"
}

// podNetworkDropIn makes a node that boots again wait for its Pod network as a
// new one does: flannel writes this file once the API server answers under its
// Service's address, so once kube-proxy's rules are there. With the file of
// before the boot, Pods start earlier. What they then send to a Service is led
// nowhere for as long as the connection is tried, which is half a minute for
// CoreDNS, and the Node is Ready meanwhile. /run is empty after a boot, and not
// after a restart of containerd alone. Other CNI configurations stay.
const podNetworkDropIn = `# Pods wait for the Pod network of this boot.
[Service]
ExecStartPre=/bin/sh -c "test -e /run/containerd-started || rm -f /etc/cni/net.d/10-flannel.conflist; touch /run/containerd-started"
`

// forwardingDropIn: a network namespace has the setting of its host, which only a rootful
// engine turns on. kubeadm's preflight checks require it, and name it where it cannot be set.
const forwardingDropIn = `# The node forwards the packets of its Pods.
[Service]
ExecStartPre=-/bin/sh -c "echo 1 > /proc/sys/net/ipv4/ip_forward"
`

// ipv6DropIn is for nodes of clusters with IPv6: an engine may turn it off in a new network
// namespace, and none forwards it. Setting all sets the default too, which kubeadm's preflight
// checks require.
const ipv6DropIn = `# The node forwards the packets of its Pods over IPv6.
[Service]
ExecStartPre=-/bin/sh -c "echo 0 > /proc/sys/net/ipv6/conf/all/disable_ipv6; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding"
`

// containerdDropIns is the directory of such edits, from the root.
const containerdDropIns = "etc/systemd/system/containerd.service.d"

// Files returns what the node needs on this host before it first starts: contents by
// their paths from the root.
func Files(host Host) map[string]string {
	files := map[string]string{
		containerdDropIns + "/20-pod-network.conf": podNetworkDropIn,
		containerdDropIns + "/30-forwarding.conf":  forwardingDropIn,
	}
	if host.restricted() {
		files[containerdDropIns+"/10-restricted-host.conf"] = restrictedDropIn
	}
	return files
}

// IPv6Files are those that a node of a cluster with IPv6 needs in addition.
func IPv6Files() map[string]string {
	return map[string]string{containerdDropIns + "/31-forwarding-ipv6.conf": ipv6DropIn}
}
