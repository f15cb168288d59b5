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

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"
)

// Spec is the desired state of a container. Its zero values are the safe ones.
type Spec struct {
	// Name is unique on the engine.
	Name string
	// Hostname inside the container.
	Hostname string
	// Image is a reference or an ID of a local image.
	Image string
	// Entrypoint and Command replace those of the image where not empty.
	Entrypoint []string
	Command    []string
	// Environment adds to the image's variables.
	Environment map[string]string
	// User runs the process, "uid:gid" or a name; empty = the image's.
	User string
	// Labels are fixed at creation.
	Labels map[string]string

	// Attachment is the one network the container starts on.
	Attachment Attachment
	// Ports to publish on the host.
	Ports []PortBinding
	// Mounts alongside the container's own file system.
	Mounts []Mount
	// CDIDevices are devices by their names in the Container Device Interface, such as
	// "vendor.com/class=name", which specifications on the engine's host describe.
	CDIDevices []string `json:",omitzero"`
	// DNSSearch are the search domains of the resolver; none = the engine's choice, "." = no
	// domain.
	DNSSearch []string `json:",omitzero"`

	// Security bounds what the container may do.
	Security Security
	// Resources bounds what the container may use.
	Resources Resources

	// Restart is applied by the engine when the process ends or the engine
	// itself restarts.
	Restart RestartPolicy
	// StopSignal such as "SIGTERM"; empty = the image's.
	StopSignal string
	// TTY allocates a terminal, without which systemd does not log to the
	// console.
	TTY bool
}

// Hash identifies the specification: two with the same hash describe the same
// container. A field that is added is encoded with omitzero: else the hash of each
// existing container changes.
func (s Spec) Hash() (string, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode specification of container %q: %w", s.Name, err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), nil
}

// Attachment is a container's place on a network.
type Attachment struct {
	// Network is the network's name.
	Network string
	// Addresses are static, at most one per IP family; none = the engine
	// gives a dynamic one at each start.
	Addresses []netip.Addr
}

// MountType is the kind of a Mount.
type MountType string

// The mounts a container may have.
const (
	// MountBind makes a path of the engine's host visible.
	MountBind MountType = "bind"
	// MountVolume is engine-managed storage: with a Source a named volume
	// that outlives the container, without one an anonymous volume that is
	// removed with it. A new volume starts with the image's content at the
	// target.
	MountVolume MountType = "volume"
	// MountTmpfs is memory, empty at each start, mounted with exec allowed.
	MountTmpfs MountType = "tmpfs"
)

// Mount is a file system mounted into a container.
type Mount struct {
	Type MountType
	// Source is a path of the engine's host (bind) or a volume's name.
	Source string
	// Target is an absolute path in the container.
	Target   string
	ReadOnly bool
	// Propagation of a bind; PropagationPrivate by default.
	Propagation Propagation `json:",omitzero"`
}

// Propagation says which mounts below a bind appear on the other side of it, in the kernel's
// words. Where the path is not on a shared mount of the host, Docker refuses to start the container, and
// Podman propagates nothing.
type Propagation string

// The propagations of a bind.
const (
	// PropagationPrivate: none.
	PropagationPrivate Propagation = ""
	// PropagationSlave: those of the host appear in the container.
	PropagationSlave Propagation = "rslave"
	// PropagationShared: those of the container appear on the host too.
	PropagationShared Propagation = "rshared"
)

// Security bounds what a container may do. The zero value is the engine's
// default for unprivileged containers.
type Security struct {
	// Privileged gives all capabilities the host has, all devices, and
	// neither seccomp, AppArmor nor SELinux, in the engine's own user namespace.
	Privileged bool
	// DropAllCapabilities leaves none but those of AddCapabilities.
	DropAllCapabilities bool
	AddCapabilities     []string
	// Unconfined turns seccomp and AppArmor profiles off.
	Unconfined bool
	// EngineSocket lets root in the container open the engine's socket that is
	// mounted into it: SELinux does not separate the container from the host, and
	// its users are those of the engine's own user namespace.
	EngineSocket bool
	// NoNewPrivileges keeps set-uid programs from gaining any. On Podman it turns
	// AppArmor profiles off.
	NoNewPrivileges bool
	// PrivateCgroupNamespace hides the host's cgroup tree.
	PrivateCgroupNamespace bool
}

// Resources bounds what a container may use; zero = unbounded.
type Resources struct {
	// MemoryBytes bounds memory, and memory with swap to the same number.
	MemoryBytes int64
	// MilliCPU bounds processor time, in thousandths of a CPU.
	MilliCPU int64 `json:",omitzero"`
	// Pids bounds the number of processes.
	Pids int64
	// OpenFiles is the soft and hard RLIMIT_NOFILE; zero = the engine's
	// default.
	OpenFiles int64
}

// RestartPolicy is what the engine does by itself.
type RestartPolicy string

// The restart policies in use.
const (
	// RestartNever leaves a container that ended as it is.
	RestartNever RestartPolicy = "no"
	// RestartUnlessStopped starts it again, also after a restart of the
	// engine, unless it was stopped through the engine's API.
	RestartUnlessStopped RestartPolicy = "unless-stopped"
	// RestartAlways is RestartUnlessStopped, and starts after a restart of the
	// engine also what was stopped. A Docker that was killed finds containers
	// alive when it starts, stops them, and takes that for a user's wish:
	// only this policy starts them again.
	RestartAlways RestartPolicy = "always"
)

// Status is what a container does.
type Status string

// The states of a container. An engine's other states are mapped to these.
const (
	StatusCreated    Status = "created"
	StatusRunning    Status = "running"
	StatusPaused     Status = "paused"
	StatusRestarting Status = "restarting"
	StatusExited     Status = "exited"
	StatusRemoving   Status = "removing"
)

// Container is an observed container. Listed means that ListContainers fills
// the field too.
type Container struct {
	// ID is the engine's own name of it. Listed.
	ID string
	// Name without a leading slash. Listed.
	Name string
	// Labels given at creation. Listed.
	Labels map[string]string
	// Image is the reference it was created from, ImageID what that was.
	// Listed.
	Image, ImageID string
	// Status is what it does. Listed.
	Status Status
	// ExitCode of the last run, where Status is StatusExited.
	ExitCode int
	// OOMKilled says that the kernel killed a process of the last run because memory was used up.
	// Podman may miss it on cgroup v1; the exit code is 137 then.
	OOMKilled bool
	// Error is the engine's text for why the last start did not succeed.
	// Podman before 5.0 forgets it.
	Error string
	// CreatedAt, StartedAt and FinishedAt are zero where it has not come to
	// that. CreatedAt is listed.
	CreatedAt, StartedAt, FinishedAt time.Time
	// Incomplete says that the engine started to start it for the first time and
	// did not finish: its volumes may lack content of the image. Docker fills
	// volumes within CreateContainer, Podman within the first start.
	Incomplete bool
	// Networks by name. For listed running containers, only the names are set: an
	// engine may have to look at each container for its addresses.
	Networks map[string]Endpoint
	// Ports as published now, with the host ports the engine chose.
	Ports []PortBinding
	// Restart is the policy it was created with.
	Restart RestartPolicy
}

// Endpoint is what a container has on a network.
type Endpoint struct {
	// Addresses it has now, IPv4 first; none while it does not run.
	Addresses []netip.Addr
}

// Image is a local image.
type Image struct {
	// ID is the digest of its configuration, "sha256:…".
	ID string
	// Tags are the references it has.
	Tags []string
	// Digests are the registry digests it is known by, "name@sha256:…".
	Digests []string
	// SizeBytes on disk.
	SizeBytes int64
	// Architecture its programs are for, as Go names it.
	Architecture string
	// Labels of its configuration.
	Labels map[string]string
}

// Credentials for a registry.
type Credentials struct {
	Username, Password string
}

// PullProgress is how far a pull has come.
type PullProgress struct {
	// CurrentBytes and TotalBytes of the layers known so far.
	CurrentBytes, TotalBytes int64
	// LayersDone of LayersTotal.
	LayersDone, LayersTotal int
	// WithoutBytes: the engine reports that a layer begins, and nothing while
	// it is downloaded, as Podman does.
	WithoutBytes bool
}

// LabelCreating marks what exists only while a network is being created, such as
// a network by which the engine chooses a subnet; its value is the network's
// name. It outlives only a process that is interrupted, until a network of that
// name is created or removed again.
const LabelCreating = "container.infrastructure.cluster.x-k8s.io/creating-network"

// NetworkSpec is the desired state of a network.
type NetworkSpec struct {
	Name   string
	Labels map[string]string
	// Subnets, at most one per IP family; no IPv4 subnet = the engine
	// chooses one. No IPv6 subnet = no IPv6.
	Subnets []netip.Prefix
}

// Network is an observed network.
type Network struct {
	ID     string
	Name   string
	Labels map[string]string
	// Driver such as "bridge".
	Driver string
	// Internal networks reach no other network, and ports of containers on them are not
	// published.
	Internal bool
	// Subnets, IPv4 first.
	Subnets []Subnet
	// CreatedAt by the engine's clock.
	CreatedAt time.Time
}

// Subnet is one address range of a network.
type Subnet struct {
	Prefix netip.Prefix
	// Gateway is the host's address in it.
	Gateway netip.Addr
	// Dynamic is the slice the engine gives dynamic addresses from; the
	// zero value means all of Prefix.
	Dynamic netip.Prefix
}

// Volume is an observed named volume.
type Volume struct {
	Name   string
	Labels map[string]string
	// CreatedAt by the engine's clock. ListVolumes fills it.
	CreatedAt time.Time
}

// EventKind is what happened to a container.
type EventKind string

// The closed list of events.
const (
	// EventRelist: events may have been missed, observe everything again.
	EventRelist EventKind = "relist"
	// EventLost: no events for some seconds, because the engine
	// cannot be reached. What was observed before may be stale; once it is
	// reached, an EventRelist follows.
	EventLost  EventKind = "lost"
	EventStart EventKind = "start"
	EventDie   EventKind = "die"
	EventOOM   EventKind = "oom"
	// EventKill: it was sent a signal, as some engines report. If it ends by it, an
	// EventDie follows; if the kernel does not let it end, nothing does.
	EventKill       EventKind = "kill"
	EventPause      EventKind = "pause"
	EventUnpause    EventKind = "unpause"
	EventDestroy    EventKind = "destroy"
	EventRename     EventKind = "rename"
	EventConnect    EventKind = "connect"
	EventDisconnect EventKind = "disconnect"
)

// Event is one thing that happened. Of an EventRelist and an EventLost only
// Kind is set.
type Event struct {
	Kind EventKind
	// ContainerID is always set, Container (its name) and Labels where the
	// engine reports them: Docker's network events have neither.
	ContainerID, Container string
	Labels                 map[string]string
	// Network of EventConnect and EventDisconnect; Podman before 5.0 does not
	// report it.
	Network string
	// ExitCode of EventDie. Once the container runs again, only this event
	// has reported it.
	ExitCode int
	Time     time.Time
}
