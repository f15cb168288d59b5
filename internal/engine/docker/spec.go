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

package docker

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// containerConfig is the part of a spec that Docker calls portable.
func containerConfig(spec engine.Spec) *container.Config {
	config := &container.Config{
		Hostname:     spec.Hostname,
		Image:        spec.Image,
		Entrypoint:   spec.Entrypoint,
		Cmd:          spec.Command,
		User:         spec.User,
		Labels:       spec.Labels,
		StopSignal:   spec.StopSignal,
		Tty:          spec.TTY,
		ExposedPorts: network.PortSet{},
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Environment)) {
		config.Env = append(config.Env, name+"="+spec.Environment[name])
	}
	for _, port := range spec.Ports {
		config.ExposedPorts[containerPort(port)] = struct{}{}
	}
	return config
}

func containerPort(port engine.PortBinding) network.Port {
	out, _ := network.PortFrom(port.ContainerPort, network.IPProtocol(port.Protocol.Name()))
	return out
}

// hostConfig is the part of a spec that depends on the host.
func hostConfig(spec engine.Spec) *container.HostConfig {
	// Docker's own init would be process 1 where the daemon is configured so;
	// systemd must be.
	noInit := false
	config := &container.HostConfig{
		Init:          &noInit,
		NetworkMode:   container.NetworkMode(spec.Attachment.Network),
		PortBindings:  network.PortMap{},
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyMode(cmp.Or(spec.Restart, engine.RestartNever))},
		Tmpfs:         map[string]string{},
		DNSSearch:     spec.DNSSearch,
		Resources:     resources(spec.Resources),
	}
	for _, port := range spec.Ports {
		config.PortBindings[containerPort(port)] = append(config.PortBindings[containerPort(port)], binding(port))
	}
	for _, m := range spec.Mounts {
		if m.Type == engine.MountTmpfs {
			config.Tmpfs[m.Target] = tmpfsOptions(m)
			continue
		}
		translated := mount.Mount{Type: mount.Type(m.Type), Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly}
		if m.Propagation != engine.PropagationPrivate {
			translated.BindOptions = &mount.BindOptions{Propagation: mount.Propagation(m.Propagation)}
		}
		config.Mounts = append(config.Mounts, translated)
	}
	if len(spec.CDIDevices) > 0 {
		config.DeviceRequests = []container.DeviceRequest{{Driver: cdiDriver, DeviceIDs: spec.CDIDevices}}
	}
	secure(config, spec.Security)
	return config
}

// cdiDriver is Docker's name for the Container Device Interface, since 25.0.
const cdiDriver = "cdi"

// binding leaves an empty host address to Docker, which then listens on the
// address its configuration says: all, unless an administrator restricted it.
func binding(port engine.PortBinding) network.PortBinding {
	out := network.PortBinding{HostIP: port.HostAddress}
	if port.HostPort != 0 {
		out.HostPort = strconv.Itoa(int(port.HostPort))
	}
	return out
}

// tmpfsOptions are given through HostConfig.Tmpfs and not as a Mount: Docker's
// default is noexec, and API 1.41 has no way to say exec for a Mount.
func tmpfsOptions(m engine.Mount) string {
	if m.ReadOnly {
		return "ro,exec"
	}
	return "rw,exec"
}

func secure(config *container.HostConfig, security engine.Security) {
	config.Privileged = security.Privileged
	config.CapAdd = security.AddCapabilities
	if security.DropAllCapabilities {
		config.CapDrop = []string{"ALL"}
	}
	if security.Unconfined {
		config.SecurityOpt = append(config.SecurityOpt, "seccomp=unconfined", "apparmor=unconfined")
	}
	if security.EngineSocket {
		config.SecurityOpt = append(config.SecurityOpt, "label=disable")
	}
	if security.EngineSocket || security.Privileged {
		// A dockerd with userns-remap refuses privileged containers in its other
		// user namespace, and says so only when they start. Elsewhere this changes
		// nothing.
		config.UsernsMode = "host"
	}
	if security.NoNewPrivileges {
		config.SecurityOpt = append(config.SecurityOpt, "no-new-privileges")
	}
	if security.PrivateCgroupNamespace {
		config.CgroupnsMode = container.CgroupnsModePrivate
	}
}

const nanoPerMilli = 1_000_000

func resources(bounds engine.Resources) container.Resources {
	out := container.Resources{
		Memory: bounds.MemoryBytes, MemorySwap: bounds.MemoryBytes,
		NanoCPUs: bounds.MilliCPU * nanoPerMilli,
	}
	if bounds.Pids != 0 {
		out.PidsLimit = &bounds.Pids
	}
	if bounds.OpenFiles != 0 {
		out.Ulimits = []*container.Ulimit{{Name: "nofile", Soft: bounds.OpenFiles, Hard: bounds.OpenFiles}}
	}
	return out
}

// networkingConfig is nil where the spec names no network: Docker's default.
func networkingConfig(attachment engine.Attachment) *network.NetworkingConfig {
	if attachment.Network == "" {
		return nil
	}
	return &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
		attachment.Network: endpointSettings(attachment),
	}}
}

func endpointSettings(attachment engine.Attachment) *network.EndpointSettings {
	settings := &network.EndpointSettings{}
	for _, address := range attachment.Addresses {
		if settings.IPAMConfig == nil {
			settings.IPAMConfig = &network.EndpointIPAMConfig{}
		}
		if address.Is4() {
			settings.IPAMConfig.IPv4Address = address
		} else {
			settings.IPAMConfig.IPv6Address = address
		}
	}
	return settings
}
