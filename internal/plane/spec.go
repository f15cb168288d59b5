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

package plane

import (
	"net/netip"
	"path"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

const (
	// DefaultName of the plane's container; its volume's name begins with it.
	DefaultName = "capcon-plane"
	// StateDir is where the container finds its volume.
	StateDir = "/var/lib/capcon-plane"
	// AdminKubeconfig is the file of the daemon, below the state directory, by which the
	// host reaches the plane.
	AdminKubeconfig = "admin.kubeconfig"
	// FaultsConfigMap is the name of the ConfigMap, in the namespace default, with what is disturbed in clusters in memory.
	FaultsConfigMap = "capcon-faults"
	// program, memoryManager, socket and socketDir are paths in the container.
	program       = "/usr/local/bin/capcon-plane"
	memoryManager = "/usr/local/bin/capcon-memory"
	socket        = "/run/capcon/engine.sock"
	socketDir     = "/run/capcon/engine"
	// apiPort is the API server's in the container.
	apiPort = 6443
)

// The labels of the plane's container and volume.
const (
	// labelPort of the volume is the host port, for the plane's life.
	labelPort = "capcon.cluster.x-k8s.io/host-port"
	// labelInMemory of the volume and the container says that clusters are in memory, for the plane's life.
	labelInMemory = "capcon.cluster.x-k8s.io/in-memory"
	// labelVolume of the container is the name of its volume.
	labelVolume = "capcon.cluster.x-k8s.io/volume"
	// labelSocket of the container is the path of the engine's socket that it was created with.
	labelSocket = "capcon.cluster.x-k8s.io/engine-socket"
	// labelFeatureGates of the container are the feature gates that it was created with.
	labelFeatureGates = "capcon.cluster.x-k8s.io/feature-gates"
	// labelAllowedEngines of the container are the endpoints of engines that it was created with.
	labelAllowedEngines = "capcon.cluster.x-k8s.io/allowed-engine-endpoints"
	// labelSpec of the container is a hash of what it was created from.
	labelSpec = "capcon.cluster.x-k8s.io/spec-hash"
)

// description is everything that a plane's container is made of.
type description struct {
	name    string
	volume  string
	image   string
	network string
	port    uint16
	// engineName is that of its Info, engineSocket the path of its socket on its
	// host.
	engineName, engineSocket string
	// featureGates of Cluster API; empty = those of the volume.
	featureGates string
	// allowedEngines are endpoints of ContainerEngines; empty = those of the volume.
	allowedEngines string
	// inMemory: clusters are in memory, and the plane does not use the engine.
	inMemory bool
	traits   engine.Traits
	// remapped: the engine keeps volumes for other users than root.
	remapped bool
}

// spec describes the container.
func (d description) spec() (engine.Spec, error) {
	spec := engine.Spec{
		Name:       d.name,
		Hostname:   d.name,
		Image:      d.image,
		Entrypoint: []string{program},
		Command:    d.command(),
		// The socket belongs to root on the host, who inside is root without
		// any capability: enough to open what is one's own.
		User: "0:0",
		Labels: map[string]string{
			identity.LabelRole: string(identity.RolePlane), identity.LabelPlane: d.name, labelVolume: d.volume,
		},

		// The controllers reach workload clusters on this network. The
		// address may change with each start: no client depends on it.
		Attachment: engine.Attachment{Network: d.network},
		// On this host, only its users reach the API; on the network, nodes and
		// Pods do: docs/adr/0007-plane-on-the-network.md.
		Ports:    []engine.PortBinding{{HostAddress: loopback(), HostPort: d.port, ContainerPort: apiPort}},
		Mounts:   []engine.Mount{{Type: engine.MountVolume, Source: d.volume, Target: StateDir}},
		Security: engine.Security{DropAllCapabilities: true, NoNewPrivileges: true},
		// The plane comes back with the engine in any case, and starts what
		// the engine left stopped.
		Restart:    engine.RestartAlways,
		StopSignal: "SIGTERM",
	}
	if d.inMemory {
		spec.Labels[labelInMemory] = "true"
	} else {
		spec.Mounts = append(spec.Mounts, d.engineMount())
		spec.Environment, spec.Security.EngineSocket = d.environment(), true
	}
	if d.remapped {
		// Root owns the socket and not the volume.
		spec.Security.AddCapabilities = []string{"DAC_OVERRIDE", "FOWNER"}
	}
	if d.featureGates != "" {
		spec.Labels[labelFeatureGates] = d.featureGates
	}
	if d.allowedEngines != "" {
		spec.Labels[labelAllowedEngines] = d.allowedEngines
	}
	// Without the image: that one is compared by what it names now.
	hashed := spec
	hashed.Image = ""
	hash, err := hashed.Hash()
	if err != nil {
		return engine.Spec{}, err //nolint:wrapcheck // It names the container.
	}
	spec.Labels[labelSpec] = hash
	spec.Labels[labelSocket] = d.engineSocket
	return spec, nil
}

func (d description) command() []string {
	command := []string{
		"run",
		"--state-dir=" + StateDir,
		"--public-url=https://" + netip.AddrPortFrom(loopback(), d.port).String(),
	}
	if d.featureGates != "" {
		command = append(command, "--feature-gates="+d.featureGates)
	}
	if d.allowedEngines != "" {
		command = append(command, "--"+endpoint.AllowedFlag+"="+d.allowedEngines)
	}
	if d.inMemory {
		return append(command, "--manager="+memoryManager, "--", "--faults="+FaultsConfigMap)
	}
	return append(command, "--", "--engine="+d.engineName, "--self-container="+d.name)
}

// engineMount makes the engine's socket visible, by its directory where the engine
// creates the socket again at each start.
func (d description) engineMount() engine.Mount {
	if directory := d.socketDirectory(); directory != "" {
		return engine.Mount{Type: engine.MountBind, Source: directory, Target: socketDir, ReadOnly: true}
	}
	return engine.Mount{Type: engine.MountBind, Source: d.engineSocket, Target: socket}
}

// socketDirectory is the directory of the socket, where that is the engine's own and
// has to be mounted, or else empty.
func (d description) socketDirectory() string {
	directory := path.Dir(d.engineSocket)
	if d.traits.SocketDirectory == "" || path.Base(directory) != d.traits.SocketDirectory {
		return ""
	}
	return directory
}

func (d description) environment() map[string]string {
	at := socket
	if d.socketDirectory() != "" {
		at = path.Join(socketDir, path.Base(d.engineSocket))
	}
	return map[string]string{d.traits.SocketVariable: "unix://" + at}
}

// loopback is where the plane's port is published, and where the plane reaches itself.
func loopback() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }
