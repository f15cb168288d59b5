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

// Package permissions is the one place that says what each container of this
// project may do, and compares it with containers that run. The table in
// docs/explanation/security.md is made from it.
package permissions

import (
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// Permissions of one kind of container. Lists have no order.
type Permissions struct {
	// Name for users.
	Name string
	// Users are user and group of its processes. Of a node's Pods nothing is
	// said: their specs decide.
	Users []string
	// Capabilities is None, NetBindService or All, which is what the host's root has.
	Capabilities string
	// NoNewPrivileges is what setuid programs are kept from giving.
	NoNewPrivileges bool
	// Seccomp is Default, the engine's profile, or None.
	Seccomp string
	// Devices is Standard, those of any container, or All of the host's.
	Devices string
	// Mounts, each of the form Engine.Mounts makes.
	Mounts []string
	// MayMount are mounts that only some hosts and storage types need.
	MayMount []string
	// Published ports, each as "127.0.0.1 → 6443/tcp".
	Published []string
	// Listens are sockets in its network, each as "address:port program".
	// The address is Everywhere, Network for its own address alone, or
	// 127.0.0.1; a port of the range that the kernel chooses from is
	// "dynamic".
	Listens []string
	// Files that hold secrets.
	Files []Files
}

// Files that have a mode and an owner in common.
type Files struct {
	// Glob of paths in the container; at least one exists.
	Glob string
	// Mode in octal digits, and Owner as numbers.
	Mode, Owner string
}

// Values of Permissions.
const (
	None       = "none"
	All        = "all"
	Default    = "the engine's default"
	Standard   = "standard"
	Everywhere = "*"
	// NetBindService is the capability to listen on ports below 1024.
	NetBindService = "NET_BIND_SERVICE"
	Network        = "its address"
)

const (
	root     = "0:0"
	loopback = "127.0.0.1"
	// engineSocket is how the engine's socket is mounted, whatever its path.
	engineSocket = "bind: the engine's socket"
)

// Plane is the management plane.
func Plane() Permissions {
	return Permissions{
		Name:  "Management plane",
		Users: []string{root}, Capabilities: None, NoNewPrivileges: true, Seccomp: Default, Devices: Standard,
		Mounts:    []string{"volume: /var/lib/capcon-plane", engineSocket},
		Published: []string{loopback + " → 6443/tcp"},
		Listens: []string{
			Everywhere + ":6443 kube-apiserver",
			loopback + ":2379 etcd", loopback + ":2380 etcd", loopback + ":9440 capcon-plane", loopback + ":9443 capcon-plane",
			loopback + ":10257 kube-controller",
		},
		Files: []Files{
			{"/var/lib/capcon-plane", "700", root}, {"/var/lib/capcon-plane/etcd", "700", root},
			{"/var/lib/capcon-plane/*.kubeconfig", "600", root},
			{"/var/lib/capcon-plane/pki", "700", root}, {"/var/lib/capcon-plane/pki/*.pem", "600", root},
			{"/var/lib/capcon-plane/pki/*.token", "600", root}, {"/var/lib/capcon-plane/pki/tokens.csv", "600", root},
			{"/var/lib/capcon-plane/pki/webhooks/*", "600", root},
		},
	}
}

// LoadBalancer is a cluster's load balancer.
func LoadBalancer() Permissions {
	return Permissions{
		Name:  "Load balancer",
		Users: []string{"99:99"}, Capabilities: NetBindService, NoNewPrivileges: true, Seccomp: Default, Devices: Standard,
		Published: []string{loopback + " → 6443/tcp"},
		Listens:   []string{Everywhere + ":6443 haproxy", loopback + ":8405 haproxy"},
	}
}

// ServiceLoadBalancer is the load balancer of a Service with port 80.
func ServiceLoadBalancer() Permissions {
	p := LoadBalancer()
	p.Name = "Load balancer of a Service"
	p.Published = []string{loopback + " → 80/tcp"}
	p.Listens = []string{Everywhere + ":80 haproxy", loopback + ":8405 haproxy"}
	return p
}

// Worker is a node without control plane.
func Worker() Permissions {
	return Permissions{
		Name:  "Node: worker",
		Users: []string{root}, Capabilities: All, Seccomp: None, Devices: All,
		Mounts:   []string{"volume: /var", "tmpfs: /run", "tmpfs: /tmp"},
		MayMount: []string{"bind: /lib/modules (read-only)", "bind: /dev/mapper", "volume: " + node.VolumePath},
		Listens: []string{
			Everywhere + ":10250 kubelet", Everywhere + ":10256 kube-proxy",
			loopback + ":10248 kubelet", loopback + ":10249 kube-proxy", loopback + ":dynamic containerd",
		},
		Files: []Files{
			{"/etc/kubernetes/*.conf", "600", root}, {"/var/lib/kubelet/pki/*.key", "600", root},
			{"/var/lib/kubelet/pki/*.pem", "600", root}, {"/var/lib/cluster-api-bootstrap", "700", root},
		},
	}
}

// ControlPlane is a node with a control plane.
func ControlPlane() Permissions {
	p := Worker()
	p.Name = "Node: control plane"
	p.Listens = append(p.Listens,
		Everywhere+":6443 kube-apiserver", Network+":2379 etcd", Network+":2380 etcd", loopback+":2379 etcd", loopback+":2381 etcd",
		loopback+":10257 kube-controller", loopback+":10259 kube-scheduler")
	p.Files = append(p.Files, Files{"/etc/kubernetes/pki/*.key", "600", root}, Files{"/etc/kubernetes/pki/etcd/*.key", "600", root})
	return p
}

// Manager is the manager's Pod in a management cluster with the socket of the
// engine, as config/docker-socket and config/podman-socket have it.
func Manager() Permissions {
	return Permissions{
		Name:  "Manager's Pod with a socket",
		Users: []string{root}, Capabilities: None, NoNewPrivileges: true, Seccomp: Default, Devices: Standard,
		Mounts: []string{
			"tmpfs: /tmp", engineSocket,
			"bind: /tmp/k8s-webhook-server/serving-certs (read-only)", "bind: /var/run/secrets/kubernetes.io/serviceaccount (read-only)",
		},
		Listens: []string{Everywhere + ":8443 manager", Everywhere + ":9440 manager", Everywhere + ":9443 manager"},
	}
}

// Markdown is the table for users.
func Markdown() string {
	kinds := []Permissions{Plane(), LoadBalancer(), ServiceLoadBalancer(), ControlPlane(), Worker(), Manager()}
	var out strings.Builder
	row := func(title string, cell func(Permissions) string) {
		fmt.Fprintf(&out, "| %s |", title)
		for _, kind := range kinds {
			fmt.Fprintf(&out, " %s |", cell(kind))
		}
		out.WriteString("\n")
	}
	row("", func(p Permissions) string { return p.Name })
	out.WriteString("|---|" + strings.Repeat("---|", len(kinds)) + "\n")
	row("User and group", func(p Permissions) string { return list(p.Users) })
	row("Capabilities", func(p Permissions) string { return p.Capabilities })
	row("no_new_privs", func(p Permissions) string {
		if p.NoNewPrivileges {
			return "yes"
		}
		return "no"
	})
	row("seccomp", func(p Permissions) string { return p.Seccomp })
	row("Devices", func(p Permissions) string { return p.Devices })
	row("Mounts", func(p Permissions) string { return list(p.Mounts) })
	row("Mounts, by host and storage type", func(p Permissions) string { return list(p.MayMount) })
	row("Published ports", func(p Permissions) string { return list(p.Published) })
	row("Listening sockets", func(p Permissions) string { return list(p.Listens) })
	row("Files with secrets", func(p Permissions) string {
		files := make([]string, 0, len(p.Files))
		for _, file := range p.Files {
			files = append(files, fmt.Sprintf("`%s` %s %s", file.Glob, file.Mode, file.Owner))
		}
		return list(files)
	})
	return out.String()
}

func list(items []string) string {
	if len(items) == 0 {
		return "–"
	}
	return strings.ReplaceAll(strings.Join(items, "<br>"), "*:", "\\*:")
}
