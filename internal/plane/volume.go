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
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// A plane is its volume. Each has a volume of another name: engines remove
// volumes by name, and a removal that comes late must not hit the volume of a
// plane that was created meanwhile.

// volumeOf a plane's container is the name of its volume.
func volumeOf(container engine.Container) string { return container.Labels[labelVolume] }

// volumeLabels mark a volume as a plane's and record its port, and whether its clusters are in memory.
func (p *Plane) volumeLabels(port uint16) map[string]string {
	labels := map[string]string{
		identity.LabelManaged: "true",
		identity.LabelRole:    string(identity.RolePlane),
		identity.LabelPlane:   p.opts.Name,
		labelPort:             strconv.Itoa(int(port)),
	}
	if ptr.Deref(p.opts.InMemory, false) {
		labels[labelInMemory] = "true"
	}
	return labels
}

// isInMemory reports it by the labels of a plane's volume or container.
func isInMemory(labels map[string]string) bool { return labels[labelInMemory] == "true" }

// checkMode refuses the volume of a plane with clusters of another kind than requested: *ModeError.
func (p *Plane) checkMode(volume engine.Volume) error {
	return State{ID: volume.Name, InMemory: isInMemory(volume.Labels)}.CheckMode(p.opts.InMemory)
}

// portOf a plane's volume; false where it is none.
func portOf(volume engine.Volume) (uint16, bool) {
	port, err := strconv.ParseUint(volume.Labels[labelPort], 10, 16)
	return uint16(port), err == nil && port != 0
}

// findVolume returns the volume of a plane whose container is gone. None:
// ErrNotFound. There is more than one only where a process was killed between
// creating a volume and its container while another created a plane: the oldest
// goes first, the others are found when that one is gone.
func (p *Plane) findVolume(ctx context.Context) (engine.Volume, error) {
	volumes, err := p.engine.ListVolumes(ctx, map[string]string{
		identity.LabelRole: string(identity.RolePlane), identity.LabelPlane: p.opts.Name,
	})
	if err != nil {
		return engine.Volume{}, fmt.Errorf("list volumes of the management plane: %w", err)
	}
	if len(volumes) == 0 {
		return engine.Volume{}, fmt.Errorf("volume of management plane %q: %w", p.opts.Name, engine.ErrNotFound)
	}
	return slices.MinFunc(volumes, func(a, b engine.Volume) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name))
	}), nil
}

// ensureVolume returns the volume of a plane whose container is gone, and
// creates one, with a free port, where there is none.
func (p *Plane) ensureVolume(ctx context.Context) (volume engine.Volume, created bool, err error) {
	volume, err = p.findVolume(ctx)
	if !errors.Is(err, engine.ErrNotFound) {
		return volume, false, err
	}
	port, err := p.choosePort(ctx)
	if err != nil {
		return engine.Volume{}, false, err
	}
	volume = engine.Volume{Name: p.opts.Name + "-" + identity.NewOwnerID(), Labels: p.volumeLabels(port)}
	if err := p.engine.CreateVolume(ctx, volume.Name, volume.Labels); err != nil {
		return engine.Volume{}, false, fmt.Errorf("create volume %q: %w", volume.Name, err)
	}
	return volume, true, nil
}

// removeVolume removes a volume that holds no plane. In use is no error: another
// process has made a container for it.
func (p *Plane) removeVolume(ctx context.Context, name string) error {
	if err := p.engine.RemoveVolume(ctx, name); err != nil && !errors.Is(err, engine.ErrConflict) {
		return fmt.Errorf("remove volume %q: %w", name, err)
	}
	return nil
}
