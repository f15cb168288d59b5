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

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/inventory"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// KubeconfigsUsage of the flag that names management clusters of the user's
// own.
const KubeconfigsUsage = "kubeconfig of another management cluster to query; can be repeated"

// Inventory lists the engine, those of other hosts that are reached, and all managers that may have clusters on it. Engines are
// listed first: what a manager creates meanwhile is then missing from the list,
// instead of being taken for orphaned. Reached has the sessions on the engines by the names of their ContainerEngines.
func (s *Session) Inventory(ctx context.Context, kubeconfigs []string) (world inventory.World, reached map[string]*Session, err error) {
	objects, err := inventory.Collect(ctx, s.Engine)
	if err != nil {
		return inventory.World{}, nil, err
	}
	world = inventory.World{Objects: objects, Now: s.Now()}
	if reached, err = s.collectElsewhere(ctx, &world); err != nil {
		return inventory.World{}, nil, err
	}
	err = s.addManagers(ctx, &world, planeNames(objects), kubeconfigs)
	return world, reached, errors.Join(err, ctx.Err())
}

// collectElsewhere adds the objects of engines of other hosts to those of this one, and why some are not reached. One that is lost has
// none.
func (s *Session) collectElsewhere(ctx context.Context, world *inventory.World) (reached map[string]*Session, err error) {
	reached = map[string]*Session{"": s}
	engines, err := s.knownEngines(ctx)
	if err != nil {
		return nil, err
	}
	seen := []string{s.Info.StorageID}
	for i := range engines {
		if ptr.Deref(engines[i].Spec.Lost, false) {
			continue
		}
		on, err := s.On(ctx, &engines[i])
		if err != nil {
			world.Unreached = append(world.Unreached, err)
			continue
		}
		if id := on.Info.StorageID; id != "" && slices.Contains(seen, id) {
			continue // It is this engine, or has two objects.
		}
		objects, err := inventory.Collect(ctx, on.Engine)
		if err != nil {
			world.Unreached = append(world.Unreached, &EngineError{Name: on.EngineName, Err: err, Remedy: s.correct(on.EngineName)})
			continue
		}
		for j := range objects {
			objects[j].Engine = on.EngineName
		}
		world.Objects = append(world.Objects, objects...)
		seen, reached[on.EngineName] = append(seen, on.Info.StorageID), on
	}
	return reached, nil
}

// knownEngines of other hosts; none while there is no management plane that knows them.
func (s *Session) knownEngines(ctx context.Context) ([]infrav1.ContainerEngine, error) {
	if answers, err := s.planeAnswers(ctx); err != nil || !answers {
		return nil, err
	}
	engines, err := s.ContainerEngines(ctx)
	if meta.IsNoMatchError(err) {
		return nil, nil // The management plane is of an earlier release.
	}
	return engines, err
}

// addManagers that may have clusters on the engines.
func (s *Session) addManagers(ctx context.Context, world *inventory.World, planes, kubeconfigs []string) error {
	for _, name := range planes {
		manager, found, err := s.queryPlane(ctx, name)
		if err != nil {
			return err
		}
		if found {
			world.Managers = append(world.Managers, manager)
		}
	}
	for _, path := range kubeconfigs {
		kubeconfig, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read kubeconfig of a management cluster: %w", err)
		}
		world.Managers = append(world.Managers, s.queryManager(ctx, inventory.Manager{Name: "management cluster " + path}, kubeconfig))
	}
	world.Records = s.Records.Update(world.Managers...)
	return nil
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
