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

// Package localregistry runs a registry in a container of the engine: images are pushed to a
// port of 127.0.0.1, and nodes pull them through the network that they share with it.
package localregistry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Name of the registry's container and of the volume with its images.
const Name = "capcon-registry"

// DefaultPort of the registry on the host: that of kind's guide, because 5000 is taken on
// macOS.
const DefaultPort = 5001

// port of the registry in its container, from its image.
const port = 5000

// Registry is the local registry of an engine.
type Registry struct {
	// HostPort on 127.0.0.1 of the engine's host.
	HostPort uint16
	// Network and Address by which nodes reach it.
	Network string
	Address netip.Addr
}

// Host begins the names of its images, on the host and in Pods.
func (r Registry) Host() string { return "localhost:" + strconv.Itoa(int(r.HostPort)) }

// Serves reports whether a cluster is on its network.
func (r Registry) Serves(cluster *infrav1.ContainerCluster) bool {
	return cmp.Or(cluster.Spec.Network.Name, network.DefaultName) == r.Network
}

// Mirrored is how nodes pull from it.
func (r Registry) Mirrored() infrav1.Registry {
	return infrav1.Registry{Host: r.Host(), Mirrors: []infrav1.RegistryMirror{{URL: r.URL()}}}
}

// URL by which nodes reach it.
func (r Registry) URL() string { return "http://" + netip.AddrPortFrom(r.Address, port).String() }

// ErrIncomplete says that the registry cannot be used, only removed.
var ErrIncomplete = errors.New("local registry is incomplete")

// PortError says that the registry has another port than the one asked for.
type PortError struct {
	// Port that it has.
	Port uint16
}

// Error implements error.
func (e *PortError) Error() string {
	return fmt.Sprintf("the registry has port %d, which is immutable; remove it first with \"capcon registry down\"", e.Port)
}

// Find the registry of an engine; found is false where there is none. One that does not run
// is found too.
func Find(ctx context.Context, e engine.ContainerReader) (registry Registry, found bool, err error) {
	container, err := e.InspectContainer(ctx, Name)
	if errors.Is(err, engine.ErrNotFound) {
		return Registry{}, false, nil
	}
	if err != nil {
		return Registry{}, false, fmt.Errorf("inspect the local registry: %w", err)
	}
	registry, err = read(container)
	return registry, err == nil, err
}

// read what labels record and the engine publishes.
func read(container engine.Container) (Registry, error) {
	if err := checkRole(container); err != nil {
		return Registry{}, err
	}
	registry := Registry{Network: container.Labels[identity.LabelNetwork]}
	published, err := netip.ParseAddrPort(strings.TrimSuffix(container.Labels[identity.LabelHostPorts], "/tcp"))
	addresses := network.Addresses(container, registry.Network)
	if err != nil || len(addresses) == 0 {
		return Registry{}, fmt.Errorf("%w: container %q has no port or no address; remove it with \"capcon registry down\"", ErrIncomplete, Name)
	}
	registry.HostPort, registry.Address = published.Port(), addresses[0]
	return registry, nil
}

// Ensure that the registry runs and answers. Without a port, it keeps the one that it has.
// It has another port: *PortError. The port is in use: a ConflictError of
// engine.ResourceHostPort.
func Ensure(ctx context.Context, e engine.Engine, image, networkName string, hostPort uint16) (Registry, error) {
	registry, found, err := Find(ctx, e)
	switch {
	case err != nil:
		return Registry{}, err
	case found && hostPort != 0 && hostPort != registry.HostPort:
		return Registry{}, &PortError{Port: registry.HostPort}
	case found:
		if err := e.StartContainer(ctx, Name); err != nil {
			return Registry{}, fmt.Errorf("start the local registry: %w", err)
		}
		return registry, answers(ctx, registry)
	}
	if hostPort == 0 {
		hostPort = DefaultPort
	}
	if _, err := network.Ensure(ctx, e, network.Request{Name: networkName}); err != nil {
		return Registry{}, fmt.Errorf("create network %q: %w", networkName, err)
	}
	container, err := network.Place(ctx, e, network.Placement{Network: networkName, Spec: spec(image, hostPort)})
	if err != nil {
		return Registry{}, err
	}
	if registry, err = read(container); err != nil {
		return Registry{}, err
	}
	return registry, answers(ctx, registry)
}

func spec(image string, hostPort uint16) engine.Spec {
	published := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), hostPort)
	return engine.Spec{
		Name: Name, Hostname: Name, Image: image,
		// Without the first, the registry reports each second that there is no collector of
		// traces. Who reaches the registry, as each Pod does, deletes nothing in it.
		Environment: map[string]string{"OTEL_TRACES_EXPORTER": "none", "REGISTRY_STORAGE_DELETE_ENABLED": "false"},
		Labels: map[string]string{
			identity.LabelRole: string(identity.RoleRegistry), identity.LabelHostPorts: published.String() + "/tcp",
		},
		Ports:    []engine.PortBinding{{HostAddress: published.Addr(), HostPort: hostPort, ContainerPort: port}},
		Mounts:   []engine.Mount{{Type: engine.MountVolume, Source: Name, Target: "/var/lib/registry"}},
		Security: engine.Security{DropAllCapabilities: true, NoNewPrivileges: true},
		Restart:  engine.RestartUnlessStopped,
	}
}

// startTimeout is generous for a slow disk; the registry answers within a second.
const startTimeout = 30 * time.Second

// answers waits for the registry on the port that images are pushed to.
func answers(ctx context.Context, registry Registry) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(int(registry.HostPort))+"/v2/", http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			last = err
			return false, nil //nolint:nilerr // It is asked again.
		}
		last = fmt.Errorf("unexpected status %s", response.Status)
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("local registry is not ready on port %d of 127.0.0.1: %w", registry.HostPort, errors.Join(last, err))
	}
	return nil
}

// Remove the registry with its images, and its network if nothing else uses it. The volume
// goes last: it is the record of a removal that was interrupted after the container. removed
// is false where there was nothing.
func Remove(ctx context.Context, e engine.Engine) (removed bool, err error) {
	networkName, found, err := findLeft(ctx, e)
	if err != nil || !found {
		return false, err
	}
	if err := e.RemoveContainer(ctx, Name); err != nil {
		return false, fmt.Errorf("remove the local registry: %w", err)
	}
	if _, err := network.Remove(ctx, e, networkName); err != nil {
		return false, err
	}
	if err := e.RemoveVolume(ctx, Name); err != nil {
		return false, fmt.Errorf("remove the volume of the local registry: %w", err)
	}
	return true, nil
}

// findLeft returns the network of a registry that is there, at least in part; the default one
// where its container is gone.
func findLeft(ctx context.Context, e engine.Engine) (networkName string, found bool, err error) {
	container, err := e.InspectContainer(ctx, Name)
	switch {
	case err == nil:
		return cmp.Or(container.Labels[identity.LabelNetwork], network.DefaultName), true, checkRole(container)
	case !errors.Is(err, engine.ErrNotFound):
		return "", false, fmt.Errorf("inspect the local registry: %w", err)
	}
	_, err = e.InspectVolume(ctx, Name)
	if engine.IgnoreNotFound(err) != nil {
		return "", false, fmt.Errorf("inspect the volume of the local registry: %w", err)
	}
	return network.DefaultName, err == nil, nil
}

// checkRole refuses a container that is not the registry.
func checkRole(container engine.Container) error {
	if identity.Role(container.Labels[identity.LabelRole]) != identity.RoleRegistry {
		return fmt.Errorf("container %q is not the local registry; remove or rename it: %w", Name, engine.ErrConflict)
	}
	return nil
}
