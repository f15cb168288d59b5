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
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// InspectContainer implements engine.ContainerReader.
func (e *Engine) InspectContainer(ctx context.Context, name string) (engine.Container, error) {
	raw, err := e.inspect(ctx, name)
	if err != nil {
		return engine.Container{}, err
	}
	return observed(raw), nil
}

// inspect finds a container by its exact name or ID.
func (e *Engine) inspect(ctx context.Context, name string) (container.InspectResponse, error) {
	if err := e.open(ctx); err != nil {
		return container.InspectResponse{}, err
	}
	if name == "" {
		return container.InspectResponse{}, fmt.Errorf("inspect container without a name: %w", engine.ErrInvalid)
	}
	answer, err := e.client.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	raw := answer.Container
	if err != nil {
		return raw, engine.Failed("inspect", name, typed(err))
	}
	if raw.ID != name && raw.Name != "/"+name {
		// Docker took the name for the beginning of an ID.
		return container.InspectResponse{}, engine.Failed("inspect", name, engine.ErrNotFound)
	}
	return raw, nil
}

func observed(raw container.InspectResponse) engine.Container {
	out := engine.Container{
		ID:        raw.ID,
		Name:      strings.TrimPrefix(raw.Name, "/"),
		ImageID:   raw.Image,
		CreatedAt: parseTime(raw.Created),
		Networks:  map[string]engine.Endpoint{},
		Restart:   engine.RestartNever,
	}
	if raw.Config != nil {
		out.Labels, out.Image = raw.Config.Labels, raw.Config.Image
	}
	if raw.HostConfig != nil && raw.HostConfig.RestartPolicy.Name != "" {
		out.Restart = engine.RestartPolicy(raw.HostConfig.RestartPolicy.Name)
	}
	if raw.State != nil {
		out.Status = adapter.Status(string(raw.State.Status))
		out.OOMKilled, out.Error = raw.State.OOMKilled, raw.State.Error
		out.StartedAt, out.FinishedAt = parseTime(raw.State.StartedAt), parseTime(raw.State.FinishedAt)
		if out.Status == engine.StatusExited {
			out.ExitCode = raw.State.ExitCode
		}
	}
	if raw.NetworkSettings != nil {
		for name, at := range raw.NetworkSettings.Networks {
			out.Networks[name] = endpoint(at)
		}
		out.Ports = publishedPorts(raw.NetworkSettings.Ports)
	}
	return out
}

// parseTime returns the zero time for Docker's "0001-01-01T00:00:00Z" and for
// what is no time.
func parseTime(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

func endpoint(at *network.EndpointSettings) engine.Endpoint {
	if at == nil {
		return engine.Endpoint{}
	}
	return engine.Endpoint{Addresses: valid(at.IPAddress, at.GlobalIPv6Address)}
}

// valid are those of the addresses that there are: Docker reports the others as empty.
func valid(addresses ...netip.Addr) []netip.Addr {
	return slices.DeleteFunc(addresses, func(a netip.Addr) bool { return !a.IsValid() })
}

func publishedPorts(ports network.PortMap) []engine.PortBinding {
	var out []engine.PortBinding
	for port, bindings := range ports {
		for _, binding := range bindings {
			// Empty is a port that Docker chooses.
			hostPort, err := strconv.ParseUint(cmp.Or(binding.HostPort, "0"), 10, 16)
			protocol, isOurs := engine.ParseProtocol(string(port.Proto()))
			if err != nil || !isOurs {
				continue
			}
			out = append(out, adapter.Binding(binding.HostIP, uint16(hostPort), port.Num(), protocol))
		}
	}
	return adapter.Distinct(out)
}

// ListContainers implements engine.ContainerReader.
func (e *Engine) ListContainers(ctx context.Context, selector map[string]string) ([]engine.Container, error) {
	raw, err := e.list(ctx, selector)
	if err != nil {
		return nil, err
	}
	return adapter.List(raw, listed, func(c engine.Container) string { return c.Name }), nil
}

func (e *Engine) list(ctx context.Context, selector map[string]string) ([]container.Summary, error) {
	if err := e.open(ctx); err != nil {
		return nil, err
	}
	raw, err := e.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: labelFilter(selector)})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", typed(err))
	}
	return raw.Items, nil
}

func labelFilter(selector map[string]string) client.Filters {
	out := client.Filters{}
	for _, term := range adapter.Terms(selector) {
		out.Add("label", term)
	}
	return out
}

func listed(summary container.Summary) engine.Container {
	out := engine.Container{
		ID: summary.ID, Name: ownName(summary.Names), Labels: summary.Labels,
		Image: summary.Image, ImageID: summary.ImageID,
		Status: adapter.Status(string(summary.State)), CreatedAt: time.Unix(summary.Created, 0),
		Networks: map[string]engine.Endpoint{},
	}
	if summary.NetworkSettings != nil {
		for name := range summary.NetworkSettings.Networks {
			out.Networks[name] = engine.Endpoint{}
		}
	}
	return out
}

func listedPorts(summary container.Summary) []engine.PortBinding {
	var ports []engine.PortBinding
	for _, port := range summary.Ports {
		if protocol, isOurs := engine.ParseProtocol(port.Type); isOurs && port.PublicPort != 0 {
			ports = append(ports, adapter.Binding(port.IP, port.PublicPort, port.PrivatePort, protocol))
		}
	}
	return adapter.Distinct(ports)
}

// ownName picks the container's name among those that links of other
// containers gave it, which have a second slash.
func ownName(names []string) string {
	for _, name := range names {
		name = strings.TrimPrefix(name, "/")
		if !strings.Contains(name, "/") {
			return name
		}
	}
	return ""
}
