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

package machine

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	nodes "github.com/capi-samples/cluster-api-provider-container/controllers/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// plan is all that a container is created from: a value, computed before anything is asked
// of the engine.
type plan struct {
	machine node.Machine
	host    node.Host
	// network of the container, and the addresses that its predecessor had on it.
	network   string
	addresses []netip.Addr
	// held are addresses that it does not get; nil on the network of one engine.
	held network.Holders
	// ports to publish, with the host ports to try in this order.
	ports [][]engine.PortBinding
	// bootstrap and registries, which are their configuration, are in the container before it
	// starts. Either may have credentials in it.
	bootstrap  script.Input
	registries map[string]string
	// families of the cluster, which decide what is said to the node of its addresses.
	families network.Families
}

// archive has the bootstrap of a node that has these addresses. A node of a cluster with IPv4
// alone finds its own.
func (p plan) archive(addresses []netip.Addr) ([]byte, error) {
	input := p.bootstrap
	if p.families.Has(network.IPv6) {
		input.Addresses = p.families.Choose(addresses)
	}
	archive, err := script.Archive(input)
	if err != nil {
		return nil, fmt.Errorf("pack bootstrap: %w", err)
	}
	return archive, nil
}

// plan the container of a machine from its objects and what is known about the engine's host.
// The error is the outcome of the phase: what must change before there can be a container.
func (s *scope) plan(image string, facts hostinfo.Facts) (plan, error) {
	if refused := facts.Probed.PrivilegedError; refused != nil {
		return plan{}, engineError(fmt.Errorf("run a privileged container of image %q: %w", image, refused))
	}
	if refused := node.CheckResources(s.resources(), facts.Node); len(refused) > 0 {
		return plan{}, waitForUser(infrav1.ContainerFailedReason, "spec.resources."+refused[0].Error())
	}
	planned := plan{
		machine: s.nodeMachine(image), host: facts.Node,
		network: s.networkName(), addresses: s.recordedAddresses(),
		ports:     network.HostPortCandidates(s.containerName(), s.ports()),
		bootstrap: s.bootstrapInput(facts.Node), registries: s.registryFiles, families: s.families(),
	}
	// What cannot be packed is refused before there is a container. Its addresses change nothing about that.
	if _, err := planned.archive(nil); err != nil {
		return plan{}, engineError(err)
	}
	return planned, nil
}

// spec of the container with these ports, and with the label by which other machines find them.
func (p plan) spec(ports []engine.PortBinding) engine.Spec {
	machine := p.machine
	if len(ports) > 0 {
		texts := make([]string, 0, len(ports))
		for _, port := range ports {
			texts = append(texts, hostPortText(port))
		}
		machine.Ports, machine.Labels = ports, maps.Clone(machine.Labels)
		machine.Labels[identity.LabelHostPorts] = strings.Join(texts, ",")
	}
	return node.Spec(machine, p.host)
}

// nodeMachine translates the object for package node.
func (s *scope) nodeMachine(image string) node.Machine {
	labels := map[string]string{}
	maps.Copy(labels, s.containerMachine.Spec.Labels)
	maps.Copy(labels, s.owner().ContainerLabels(s.role(), s.containerMachine.Name))
	labels[identity.LabelAttempt] = strconv.Itoa(int(s.attempt()))
	labels[identity.LabelFailureDomain] = s.failureDomain()
	if s.config.ExternalCloudProvider() {
		labels[identity.LabelCloudProvider] = nodes.ExternalCloudProvider
	}
	return node.Machine{
		Container: s.containerName(),
		Hostname:  s.hostName(),
		Image:     image,
		Labels:    labels,
		Mounts:    s.mounts(),
		Resources: s.resources(),

		Environment: s.environment(),
		CDIDevices:  s.cdiDevices(),
		DNSSearch:   s.containerMachine.Spec.DNSSearch,
		Volume:      s.volume(),
	}
}

// volume that the node mounts; empty = the cluster has none.
func (s *scope) volume() string {
	if s.containerCluster == nil || s.containerCluster.Spec.Storage.Type != infrav1.StorageCluster {
		return ""
	}
	return s.owner().Volume()
}

func (s *scope) resources() node.Resources {
	return nodes.Resources(s.machine, s.containerMachine, s.containerCluster)
}

// bootstrapInput is what the archive that is uploaded before the first start is made of.
func (s *scope) bootstrapInput(host node.Host) script.Input {
	// An unknown version is the user's own image: taken as current.
	minor, err := node.Minor(s.version())
	if err != nil {
		minor = 0
	}
	files := node.Files(host)
	if s.families().Has(network.IPv6) {
		maps.Copy(files, node.IPv6Files())
	}
	return script.Input{
		Config:   s.config,
		Instance: s.instance(),
		KubeletFlags: node.KubeletFlags(node.Kubelet{
			ProviderID:      identity.ProviderID(s.containerName()),
			Zone:            s.failureDomain(),
			Resources:       s.resources(),
			KubernetesMinor: minor,
		}, host),
		SystemFiles: files,
	}
}

// propagations of mounts, as the kernel names them.
var propagations = map[infrav1.MountPropagation]engine.Propagation{
	infrav1.MountPropagationHostToContainer: engine.PropagationSlave,
	infrav1.MountPropagationBidirectional:   engine.PropagationShared,
}

// mounts are those of the spec, and its devices that have a path.
func (s *scope) mounts() []node.Mount {
	mounts := make([]node.Mount, 0, len(s.containerMachine.Spec.ExtraMounts))
	for _, mount := range s.containerMachine.Spec.ExtraMounts {
		mounts = append(mounts, node.Mount{
			HostPath: mount.HostPath, ContainerPath: mount.ContainerPath, ReadOnly: ptr.Deref(mount.ReadOnly, false),
			Propagation: propagations[mount.Propagation],
		})
	}
	for _, device := range s.containerMachine.Spec.Devices {
		if device.Path != "" {
			mounts = append(mounts, node.Mount{HostPath: device.Path, ContainerPath: cmp.Or(device.ContainerPath, device.Path)})
		}
	}
	return mounts
}

// cdiDevices are the devices that have a name.
func (s *scope) cdiDevices() []string {
	var names []string
	for _, device := range s.containerMachine.Spec.Devices {
		if device.Name != "" {
			names = append(names, device.Name)
		}
	}
	return names
}

func (s *scope) environment() map[string]string {
	if len(s.containerMachine.Spec.Environment) == 0 {
		return nil
	}
	variables := map[string]string{}
	for _, variable := range s.containerMachine.Spec.Environment {
		variables[variable.Name] = variable.Value
	}
	return variables
}
