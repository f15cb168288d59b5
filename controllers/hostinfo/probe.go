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

package hostinfo

import (
	"context"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

// run a probe, and complete what it says of the host.
func (o *Observer) run(ctx context.Context, container preflight.ProbeContainer) (Facts, error) {
	info, err := o.engine.Info(ctx)
	if err != nil {
		return Facts{}, fmt.Errorf("get engine info: %w", err)
	}
	if err := RemoveLeftovers(ctx, o.engine, o.name); err != nil {
		return Facts{}, err
	}
	probed, err := preflight.Probe(ctx, o.engine, container)
	if err != nil {
		return Facts{}, fmt.Errorf("probe the host: %w", err)
	}
	modules, err := o.hasKernelModules(ctx, container)
	if err != nil {
		return Facts{}, fmt.Errorf("check kernel modules: %w", err)
	}
	return Facts{Probed: probed, Node: nodeHost(info, probed, modules)}, nil
}

func probeLabels() map[string]string {
	return map[string]string{identity.LabelRole: string(identity.RoleProbe)}
}

// probeLifetime is more than any probe takes: an older container was left by
// a manager that was killed.
const probeLifetime = time.Minute

// Probes returns the names of the containers that probe the host on a network, of
// any manager, and of those that were left behind there.
func Probes(ctx context.Context, containers engine.Containers, network string) ([]string, error) {
	probes, err := containers.ListContainers(ctx, probeLabels())
	if err != nil {
		return nil, fmt.Errorf("list probe containers: %w", err)
	}
	var names []string
	for _, container := range probes {
		if _, on := container.Networks[network]; on {
			names = append(names, container.Name)
		}
	}
	return names, nil
}

// RemoveLeftovers removes the probe containers of managers that were killed, and
// the one of that name: our own, when no probe is under way.
func RemoveLeftovers(ctx context.Context, containers engine.Containers, own string) error {
	probes, err := containers.ListContainers(ctx, probeLabels())
	if err != nil {
		return fmt.Errorf("list probe containers: %w", err)
	}
	for _, container := range probes {
		if container.Name != own && time.Since(container.CreatedAt) < probeLifetime {
			continue
		}
		if err := engine.Remove(ctx, containers, container); err != nil {
			return err
		}
	}
	return nil
}

// Start removes what managers left that were killed while they probed:
// immediately what is old, and the rest when it is. A probe that stays
// would keep its network from being removed.
func (o *Observer) Start(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for range 2 {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if err := RemoveLeftovers(ctx, o.engine, ""); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to remove orphaned probe containers")
		}
		timer.Reset(probeLifetime + time.Second)
	}
	return nil
}

// hasKernelModules asks whether the host has the directory by creating a
// container that mounts it: there is no other way to look at the file system
// of a host that may be on another machine.
func (o *Observer) hasKernelModules(ctx context.Context, probe preflight.ProbeContainer) (bool, error) {
	_, err := o.engine.CreateContainer(ctx, engine.Spec{
		Name:   probe.Name,
		Image:  probe.Image,
		Labels: probe.Labels,
		Mounts: []engine.Mount{{Type: engine.MountBind, Source: "/lib/modules", Target: "/lib/modules", ReadOnly: true}},
	})
	if errors.Is(err, engine.ErrInvalid) {
		return false, nil
	}
	if err != nil {
		return false, engine.Failed("create", probe.Name, err)
	}
	if err := o.engine.RemoveContainer(ctx, probe.Name); err != nil {
		return false, engine.Failed("remove", probe.Name, err)
	}
	return true, nil
}

func nodeHost(info engine.Info, probed preflight.Host, modules bool) node.Host {
	const resource = uint64(1) << node.CapabilitySysResource
	return node.Host{
		CgroupVersion: info.CgroupVersion,
		// Not where the engine remaps users: nodes are privileged, and so in its own
		// user namespace.
		UserNamespace:     info.Rootless,
		CannotRaiseLimits: probed.HasCapabilities && probed.Capabilities&resource == 0,
		StorageDriver:     info.StorageDriver,
		MilliCPU:          int64(info.CPUs) * 1000,
		MemoryBytes:       info.MemoryBytes,
		KernelModules:     modules,
	}
}
