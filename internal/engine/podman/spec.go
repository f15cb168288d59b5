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

package podman

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// containerBody is what Podman's API creates a container from: the part of its
// SpecGenerator that a Spec needs.
type containerBody struct {
	Name        string            `json:"name"`
	Image       string            `json:"image"`
	Hostname    string            `json:"hostname,omitempty"`
	Entrypoint  []string          `json:"entrypoint,omitempty"`
	Command     []string          `json:"command,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	User        string            `json:"user,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Terminal    bool              `json:"terminal"`
	StopSignal  int               `json:"stop_signal,omitempty"`
	Restart     string            `json:"restart_policy,omitempty"`

	// Systemd is a text: "true", "false", "always". Podman's default looks at
	// the command, and prepares mounts for systemd where it sees one.
	Systemd string `json:"systemd"`
	Init    bool   `json:"init"`
	// HTTPProxy: Podman's default gives the service's own variables to every
	// container.
	HTTPProxy bool `json:"httpproxy"`

	// DNSSearch of "." is no search domain. Podman's default is dns.podman, which a
	// node passes on to its Pods: their queries for it end in SERVFAIL where no
	// resolver beyond the host is reached.
	DNSSearch []string `json:"dns_search,omitempty"`

	NetNS    *namespace                `json:"netns,omitempty"`
	Networks map[string]perNetworkBody `json:"networks,omitempty"`
	// HostAdd are entries of /etc/hosts, NAME:ADDRESS, before those of the host's file, which
	// may have localhost for IPv4 only.
	HostAdd []string      `json:"hostadd,omitempty"`
	Ports   []portBody    `json:"portmappings,omitempty"`
	Mounts  []mountBody   `json:"mounts,omitempty"`
	Volumes []volumeMount `json:"volumes,omitempty"`
	Devices []deviceBody  `json:"devices,omitempty"`

	Privileged      bool       `json:"privileged"`
	CapAdd          []string   `json:"cap_add,omitempty"`
	CapDrop         []string   `json:"cap_drop,omitempty"`
	Seccomp         string     `json:"seccomp_profile_path,omitempty"`
	AppArmor        string     `json:"apparmor_profile,omitempty"`
	SELinux         []string   `json:"selinux_opts,omitempty"`
	UserNS          *namespace `json:"userns,omitempty"`
	NoNewPrivileges bool       `json:"no_new_privileges"`
	CgroupNS        *namespace `json:"cgroupns,omitempty"`

	Resources *resourcesBody `json:"resource_limits,omitempty"`
	Rlimits   []rlimitBody   `json:"r_limits,omitempty"`
}

type namespace struct {
	Mode string `json:"nsmode"`
}

type perNetworkBody struct {
	StaticIPs []netip.Addr `json:"static_ips,omitempty"`
}

type portBody struct {
	HostIP        netip.Addr `json:"host_ip,omitzero"`
	HostPort      uint16     `json:"host_port,omitempty"`
	ContainerPort uint16     `json:"container_port"`
	Protocol      string     `json:"protocol"`
}

type mountBody struct {
	Type        string   `json:"type"`
	Source      string   `json:"source,omitempty"`
	Destination string   `json:"destination"`
	Options     []string `json:"options,omitempty"`
}

// volumeMount without a name is an anonymous volume.
type volumeMount struct {
	Name    string   `json:"Name"`
	Dest    string   `json:"Dest"`
	Options []string `json:"Options,omitempty"`
}

// deviceBody has a CDI device's name where others have a path.
type deviceBody struct {
	Path string `json:"path"`
}

type resourcesBody struct {
	CPU    *cpuBody    `json:"cpu,omitempty"`
	Memory *memoryBody `json:"memory,omitempty"`
	Pids   *pidsBody   `json:"pids,omitempty"`
}

// cpuBody has microseconds: so much processor time in each period.
type cpuBody struct {
	Quota  int64 `json:"quota"`
	Period int64 `json:"period"`
}

// cpuPeriod is the kernel's default, which Docker has too.
const cpuPeriod = 100_000

type memoryBody struct {
	Limit int64 `json:"limit"`
	Swap  int64 `json:"swap"`
}

type pidsBody struct {
	Limit int64 `json:"limit"`
}

type rlimitBody struct {
	Type string `json:"type"`
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
}

// someProcesses is RLIMIT_NPROC of a container whose open files are bounded.
// Given one limit, Podman 4 sets its own default for the other, which is more
// than a host without CAP_SYS_RESOURCE permits. It counts the processes of one
// user in all containers, so it is far above what a load balancer has; root on
// the host is not bound by it.
const someProcesses = 4096

// unboundedPids keeps Podman from setting its default, 2048.
const unboundedPids = -1

// containerOf translates a spec.
func containerOf(spec engine.Spec) (containerBody, error) {
	signal, err := stopSignal(spec.StopSignal)
	if err != nil {
		return containerBody{}, err
	}
	body := containerBody{
		Name: spec.Name, Image: spec.Image, Hostname: spec.Hostname,
		Entrypoint: spec.Entrypoint, Command: spec.Command, Env: spec.Environment, User: spec.User,
		Labels: spec.Labels, Terminal: spec.TTY, StopSignal: signal,
		Restart: restartPolicy(spec.Restart), Systemd: "false",
	}
	attach(&body, spec.Attachment)
	if len(spec.DNSSearch) > 0 {
		body.DNSSearch = spec.DNSSearch
	}
	for _, port := range spec.Ports {
		if port.HostAddress.IsUnspecified() {
			// Netavark would forward what is sent to 0.0.0.0 itself, and no client sends that.
			port.HostAddress = netip.Addr{}
		}
		body.Ports = append(body.Ports, portBody{
			HostIP: port.HostAddress, HostPort: port.HostPort, ContainerPort: port.ContainerPort, Protocol: port.Protocol.Name(),
		})
	}
	for _, m := range spec.Mounts {
		if m.Type == engine.MountVolume {
			body.Volumes = append(body.Volumes, volumeMount{Name: m.Source, Dest: m.Target, Options: mountOptions(m)})
			continue
		}
		mount := mountBody{Type: string(m.Type), Source: m.Source, Destination: m.Target, Options: mountOptions(m)}
		if m.Type == engine.MountTmpfs {
			mount.Source = "tmpfs"
		}
		body.Mounts = append(body.Mounts, mount)
	}
	for _, name := range spec.CDIDevices {
		body.Devices = append(body.Devices, deviceBody{Path: name})
	}
	secure(&body, spec.Security)
	bound(&body, spec.Resources)
	return body, nil
}

// attach leaves a container without a network to Podman's default one.
func attach(body *containerBody, attachment engine.Attachment) {
	if attachment.Network == "" {
		return
	}
	body.NetNS = &namespace{Mode: "bridge"}
	body.DNSSearch = []string{"."}
	body.Networks = map[string]perNetworkBody{
		attachment.Network: {StaticIPs: attachment.Addresses},
	}
	if slices.ContainsFunc(attachment.Addresses, netip.Addr.Is6) {
		body.HostAdd = []string{"localhost:::1"}
	}
	if len(attachment.Addresses) > 0 {
		body.Annotations = map[string]string{addressAnnotation: adapter.Join(attachment.Addresses, ",")}
	}
}

// mountOptions undo what Podman adds: volumes without set-uid, devices and
// programs (containers of a node live in its volumes), and a tmpfs that begins
// with what the image has at its place.
func mountOptions(m engine.Mount) []string {
	access := "rw"
	if m.ReadOnly {
		access = "ro"
	}
	switch m.Type {
	case engine.MountVolume:
		return []string{access, "suid", "dev", "exec"}
	case engine.MountTmpfs:
		return []string{access, "exec", "notmpcopyup"}
	default:
		options := []string{access, "rbind"}
		if m.Propagation != engine.PropagationPrivate {
			options = append(options, string(m.Propagation))
		}
		return options
	}
}

func secure(body *containerBody, security engine.Security) {
	body.Privileged = security.Privileged
	body.CapAdd = security.AddCapabilities
	if security.DropAllCapabilities {
		body.CapDrop = []string{"ALL"}
	}
	if security.Unconfined {
		body.Seccomp, body.AppArmor, body.SELinux = "unconfined", "unconfined", []string{"disable"}
	}
	if security.EngineSocket {
		body.SELinux = []string{"disable"}
	}
	if security.EngineSocket || security.Privileged {
		// containers.conf may say userns = "auto": root could not use the socket then, nor
		// kubelet and containerd the host's devices and mounts.
		body.UserNS = &namespace{Mode: "host"}
	}
	if body.NoNewPrivileges = security.NoNewPrivileges; body.NoNewPrivileges {
		// crun 1.14 and later then stacks Podman's AppArmor profile on its own, and
		// the processes of the container may not signal each other:
		// https://github.com/podman-container-tools/container-libs/issues/805.
		body.AppArmor = "unconfined"
	}
	if security.PrivateCgroupNamespace {
		body.CgroupNS = &namespace{Mode: "private"}
	}
}

// updateOf has what is to change of the resources of a container.
func updateOf(wanted engine.Resources) resourcesBody {
	var body resourcesBody
	if wanted.Pids != 0 {
		body.Pids = &pidsBody{Limit: wanted.Pids}
	}
	if wanted.MemoryBytes != 0 {
		body.Memory = &memoryBody{Limit: wanted.MemoryBytes, Swap: wanted.MemoryBytes}
	}
	if wanted.MilliCPU != 0 {
		body.CPU = &cpuBody{Quota: wanted.MilliCPU * cpuPeriod / 1000, Period: cpuPeriod}
	}
	return body
}

func bound(body *containerBody, bounds engine.Resources) {
	resources := updateOf(bounds)
	if resources.Pids == nil {
		resources.Pids = &pidsBody{Limit: unboundedPids}
	}
	body.Resources = &resources
	if bounds.OpenFiles != 0 {
		limit := uint64(max(bounds.OpenFiles, 0))
		body.Rlimits = []rlimitBody{
			{Type: "nofile", Soft: limit, Hard: limit},
			{Type: "nproc", Soft: someProcesses, Hard: someProcesses},
		}
	}
}

const (
	// realtimeMin is SIGRTMIN where the C library of containers keeps two
	// signals for itself, as everywhere on Linux.
	realtimeMin = 34
	realtimeMax = 64
)

// signals are Linux' numbers, whatever this program runs on.
var signals = map[string]int{
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGABRT": 6, "SIGKILL": 9, "SIGUSR1": 10, "SIGUSR2": 12,
	"SIGALRM": 14, "SIGTERM": 15, "SIGCONT": 18, "SIGSTOP": 19, "SIGWINCH": 28, "SIGPWR": 30,
}

// stopSignal is the number of a signal, which is what Podman's API takes; 0 is
// none.
func stopSignal(name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	if number, err := strconv.Atoi(name); err == nil && number > 0 && number <= realtimeMax {
		return number, nil
	}
	full := "SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG")
	if known, ok := signals[full]; ok {
		return known, nil
	}
	for base, first := range map[string]int{"SIGRTMIN": realtimeMin, "SIGRTMAX": realtimeMax} {
		offset, ok := strings.CutPrefix(full, base)
		if !ok {
			continue
		}
		distance, err := strconv.Atoi(cmp.Or(offset, "0"))
		if number := first + distance; err == nil && number >= realtimeMin && number <= realtimeMax {
			return number, nil
		}
	}
	return 0, engine.WithKind(fmt.Errorf("stop signal %q is unknown", name), engine.ErrInvalid)
}
