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

package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Kind of an engine's object.
type Kind string

// The kinds, in the order in which they can be removed.
const (
	Container Kind = "container"
	Network   Kind = "network"
	Volume    Kind = "volume"
)

// Object is one that carries one of the provider's labels.
type Object struct {
	Kind Kind
	// Engine is the name of the ContainerEngine that it is on; empty = it is on the engine of the management plane.
	Engine string
	// ID of a container: another may get its name.
	ID, Name string
	// Owner of it; empty of networks, which clusters share, of planes and of
	// probes.
	Owner identity.Owner
	// Role of a container, or of a plane's volume.
	Role identity.Role
	// Plane is the name of the management plane that a container or volume is of.
	Plane string
	// Machine of a node's container.
	Machine string
	// Creating is the name of the network for whose creation a network or volume
	// was made; empty of others.
	Creating string
	// Status of a container.
	Status    engine.Status
	CreatedAt time.Time
	// Networks of a container; of a network all running containers on it, regardless of owner.
	Networks, Users []string
}

// Engine is what Collect needs of one.
type Engine interface {
	engine.ContainerReader
	engine.Networks
	engine.Inventory
}

// Collect everything that carries the provider's labels: containers, then
// networks, then volumes, what was made for
// the creation of a network behind the others.
func Collect(ctx context.Context, e Engine) ([]Object, error) {
	containers, err := collectContainers(ctx, e)
	if err != nil {
		return nil, err
	}
	networks, err := collectNetworks(ctx, e)
	if err != nil {
		return nil, err
	}
	volumes, err := labeledAny(ctx, e.ListVolumes)
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	objects := slices.Concat(containers, networks)
	for _, volume := range volumes {
		object := labeled(Volume, volume.Name, volume.Labels)
		object.CreatedAt = volume.CreatedAt
		objects = append(objects, object)
	}
	return objects, nil
}

// labeledAny lists what was made for clusters, and what was made for the
// creation of their networks.
func labeledAny[T any](ctx context.Context, list func(context.Context, map[string]string) ([]T, error)) ([]T, error) {
	var all []T
	for _, label := range []string{identity.LabelManaged, engine.LabelCreating} {
		some, err := list(ctx, map[string]string{label: ""})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func collectContainers(ctx context.Context, e engine.ContainerReader) ([]Object, error) {
	// Every container of ours has a role.
	containers, err := e.ListContainers(ctx, map[string]string{identity.LabelRole: ""})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	objects := make([]Object, 0, len(containers))
	for _, container := range containers {
		object := labeled(Container, container.Name, container.Labels)
		object.ID, object.Machine = container.ID, container.Labels[identity.LabelMachine]
		object.Status, object.CreatedAt = container.Status, container.CreatedAt
		object.Networks = slices.Sorted(maps.Keys(container.Networks))
		// What does not run has it in a label only.
		if name := container.Labels[identity.LabelNetwork]; name != "" && !slices.Contains(object.Networks, name) {
			object.Networks = append(object.Networks, name)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func collectNetworks(ctx context.Context, e Engine) ([]Object, error) {
	listed, err := labeledAny(ctx, e.ListNetworks)
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	containers, err := e.ListContainers(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("list containers on networks: %w", err)
	}
	objects := make([]Object, 0, len(listed))
	for _, one := range listed {
		object := labeled(Network, one.Name, one.Labels)
		object.CreatedAt = one.CreatedAt
		for _, container := range containers {
			if _, attached := container.Networks[one.Name]; attached {
				object.Users = append(object.Users, container.Name)
			}
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func labeled(kind Kind, name string, labels map[string]string) Object {
	return Object{
		Kind: kind, Name: name, Plane: labels[identity.LabelPlane], Role: identity.Role(labels[identity.LabelRole]), Creating: labels[engine.LabelCreating],
		Owner: identity.Owner{
			Namespace: labels[identity.LabelNamespace], Cluster: labels[identity.LabelCluster], ID: labels[identity.LabelOwnerID],
		},
	}
}
