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

package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/inventory"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// KubeconfigsUsage of the flag that names management clusters of the user's
// own.
const KubeconfigsUsage = "kubeconfig of another management cluster to query; can be repeated"

// Inventory lists the engine and all managers that may have clusters on it. The engine is
// listed first: what a manager creates meanwhile is then missing from the list,
// instead of being taken for orphaned.
func (s *Session) Inventory(ctx context.Context, kubeconfigs []string) (inventory.World, error) {
	objects, err := inventory.Collect(ctx, s.Engine)
	if err != nil {
		return inventory.World{}, err
	}
	world := inventory.World{Objects: objects, Now: s.Now()}
	for _, name := range planeNames(objects) {
		manager, found, err := s.queryPlane(ctx, name)
		if err != nil {
			return inventory.World{}, err
		}
		if found {
			world.Managers = append(world.Managers, manager)
		}
	}
	for _, path := range kubeconfigs {
		kubeconfig, err := os.ReadFile(path)
		if err != nil {
			return inventory.World{}, fmt.Errorf("read kubeconfig of a management cluster: %w", err)
		}
		world.Managers = append(world.Managers, s.queryManager(ctx, inventory.Manager{Name: "management cluster " + path}, kubeconfig))
	}
	world.Records = s.Records.Update(world.Managers...)
	return world, ctx.Err()
}

// planeNames of the engine, capcon's own first.
func planeNames(objects []inventory.Object) []string {
	names := []string{plane.DefaultName}
	for _, object := range objects {
		if object.Plane != "" && !slices.Contains(names, object.Plane) {
			names = append(names, object.Plane)
		}
	}
	return names
}

func (s *Session) queryPlane(ctx context.Context, name string) (inventory.Manager, bool, error) {
	manager := inventory.Manager{Name: "management plane " + name, Plane: true}
	state, err := s.PlaneNamed(name, nil).State(ctx)
	var foreign *plane.ForeignError
	switch {
	case errors.As(err, &foreign):
		return manager, false, nil
	case err != nil:
		return manager, false, err
	case state.ID == "":
		return manager, false, nil
	case !state.Answers:
		manager.Detail = state.Detail
		return manager, true, nil
	}
	manager.ID = state.ID
	return s.queryManager(ctx, manager, state.Kubeconfig), true, nil
}

// queryManager asks a manager for its clusters. That it does not answer is a finding.
func (s *Session) queryManager(ctx context.Context, manager inventory.Manager, kubeconfig []byte) inventory.Manager {
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	c, err := s.NewClient(kubeconfig)
	if err != nil {
		manager.Detail = management.OneLine(err.Error())
		return manager
	}
	if err := manager.Describe(ctx, c); err != nil {
		manager.Detail = management.OneLine(err.Error())
	}
	return manager
}
