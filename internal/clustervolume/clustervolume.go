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

// Package clustervolume has the volume of the engine that all nodes of a cluster mount, on which
// the PersistentVolumes of storage type Cluster are directories. It is named after the owner, and
// created before the first container that mounts it: an engine that creates it with that container
// gives it no labels.
package clustervolume

import (
	"context"
	"errors"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// NotOwnedError says that a volume of the name exists without the labels of the owner.
type NotOwnedError struct {
	// Volume is its name.
	Volume string
}

// Error implements error.
func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("volume %q exists and is not owned by this cluster; remove it from the engine if nothing needs its data", e.Volume)
}

// Ensure that the volume of the owner exists, and return its name.
func Ensure(ctx context.Context, volumes engine.Volumes, owner identity.Owner) (string, error) {
	name := owner.Volume()
	if err := volumes.CreateVolume(ctx, name, owner.VolumeLabels()); err != nil {
		return "", fmt.Errorf("create the volume of the cluster: %w", err)
	}
	existing, err := volumes.InspectVolume(ctx, name)
	if err != nil {
		return "", fmt.Errorf("inspect the volume of the cluster: %w", err)
	}
	if !owner.Owns(existing.Labels) {
		return "", &NotOwnedError{Volume: name}
	}
	return name, nil
}

// Remove the volume of the owner with all data. It reports whether there was one. A volume of
// another owner stays.
func Remove(ctx context.Context, volumes engine.Volumes, owner identity.Owner) (existed bool, _ error) {
	name := owner.Volume()
	existing, err := volumes.InspectVolume(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("inspect the volume of the cluster: %w", err)
	case !owner.Owns(existing.Labels):
		return false, nil
	}
	if err := volumes.RemoveVolume(ctx, name); err != nil {
		return false, fmt.Errorf("remove the volume of the cluster: %w", err)
	}
	return true, nil
}
