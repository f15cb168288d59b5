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

package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/volumebinding"
	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// linux is what Nodes have in the label of their operating system: a volume of the cluster can be
// used on each of them, also on those of later.
const linux = "linux"

// nodes of the cluster.
func (p *provisioner) nodes() clustervolume.Nodes {
	return clustervolume.Nodes{Engine: p.Engine, List: func(ctx context.Context) ([]engine.Container, error) {
		return p.Recorded.Containers(ctx, p.Engine)
	}}
}

// provisionShared creates a directory of the volume of the cluster, through the node that the
// scheduler selected or any other one.
func (p *provisioner) provisionShared(ctx context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, error) {
	state, err := p.nodes().Observe(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // It says what failed.
	}
	selected, err := p.selected(ctx, options, state)
	if err != nil {
		return nil, err
	}
	container, err := through(state, selected)
	if err != nil {
		return nil, err
	}
	if err := p.checkSpace(ctx, container, node.VolumePath, options.PVC); err != nil {
		return nil, fmt.Errorf("check free space of the volume of the cluster: %w", err)
	}
	if err := p.createShared(ctx, options, state, container); err != nil {
		return nil, err
	}
	volume := volumeOn(options, corev1.LabelOSStable, linux, clustervolume.Path(options.PVName))
	if err := p.recordRetained(ctx, volume); err != nil {
		return nil, err
	}
	if selected == "" {
		return volume, nil
	}
	// So that kubelet finds it in the first attempt. It is bound only if no node ever had it.
	err = clustervolume.Bind(ctx, p.Engine, selected, volume.Name, clustervolume.Token{}.For(state.Nodes[selected].ID))
	if err != nil && !errors.Is(err, clustervolume.ErrChanged) {
		return nil, err //nolint:wrapcheck // It says what failed.
	}
	return volume, nil
}

// recordRetained before the volume exists: the cluster may be deleted in the next moment.
func (p *provisioner) recordRetained(ctx context.Context, volume *corev1.PersistentVolume) error {
	if volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		return nil
	}
	err := p.Retain(ctx, func(names []string) []string {
		if slices.Contains(names, volume.Name) {
			return names
		}
		return append(slices.Clone(names), volume.Name)
	})
	if err != nil {
		return fmt.Errorf("record the reclaim policy of the volume: %w", err)
	}
	return nil
}

// through is the node whose container creates the volume: the selected one, or any other.
func through(state clustervolume.State, selected string) (string, error) {
	if selected != "" {
		return selected, nil
	}
	found, exists := state.AnyNode()
	if !exists {
		return "", clustervolume.ErrNoNode
	}
	return found, nil
}

// selected returns the container of the node that the scheduler selected; empty if there is none
// that has the volume of the cluster.
func (p *provisioner) selected(ctx context.Context, options controller.ProvisionOptions, state clustervolume.State) (string, error) {
	if options.SelectedNodeName == "" {
		return "", nil
	}
	selected, err := p.node(ctx, options)
	if err != nil {
		return "", err
	}
	container, err := p.container(ctx, selected.Spec.ProviderID)
	if err != nil {
		return "", fmt.Errorf("find the container of Node %q: %w", selected.Name, err)
	}
	if !state.Nodes[container].HasVolume {
		return "", nil
	}
	return container, nil
}

// createShared creates an empty directory, or a copy of that of another claim.
func (p *provisioner) createShared(ctx context.Context, options controller.ProvisionOptions, state clustervolume.State, container string) error {
	source, hasSource := dataSource(options.PVC)
	if _, exists := state.Directories[options.PVName]; exists || !hasSource {
		return clustervolume.Create(ctx, p.Engine, container, options.PVName) //nolint:wrapcheck // It says what failed.
	}
	original, err := p.original(ctx, options.PVC, source)
	if err != nil {
		return err
	}
	released, err := p.nodes().Release(ctx, original.Name)
	if inUse := new(clustervolume.InUseError); errors.As(err, &inUse) {
		return fmt.Errorf("%w: spec.%s: %s: %w; it is copied once no Pod uses it", errUnsatisfiable, source.field, source, inUse)
	}
	if err == nil {
		err = clustervolume.Copy(ctx, p.Engine, released, options.PVName)
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", source, err)
	}
	return nil
}

// original is the volume of the claim that another one is a copy of.
func (p *provisioner) original(ctx context.Context, claim *corev1.PersistentVolumeClaim, source source) (*corev1.PersistentVolume, error) {
	refused := func(reason, remedy string) error {
		return fmt.Errorf("%w: spec.%s: %s %s; %s", errUnsatisfiable, source.field, source, reason, remedy)
	}
	if ref := claim.Spec.DataSourceRef; ref != nil && ptr.Deref(ref.Namespace, claim.Namespace) != claim.Namespace {
		return nil, refused("is in another namespace", "use a claim of namespace "+claim.Namespace)
	}
	origin, err := p.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Get(ctx, source.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, refused("does not exist", "create it first")
	case err != nil:
		return nil, fmt.Errorf("get PersistentVolumeClaim %q: %w", source.name, err)
	case origin.Spec.VolumeName == "":
		return nil, refused("is not bound", "use a claim that a Pod has used")
	}
	volume, err := p.client.CoreV1().PersistentVolumes().Get(ctx, origin.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get PersistentVolume %q: %w", origin.Spec.VolumeName, err)
	}
	capacity := volume.Spec.Capacity[corev1.ResourceStorage]
	requested := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	switch {
	case !volumebinding.IsShared(volume):
		return nil, refused("has a volume that is not on the volume of the cluster", "copy its data in a Pod")
	case requested.Cmp(capacity) < 0:
		return nil, refused(fmt.Sprintf("has %s, and %s are requested", capacity.String(), requested.String()), "request at least as much")
	}
	return volume, nil
}

// deleteShared removes a directory of the volume of the cluster, once no node has it mounted.
func (p *provisioner) deleteShared(ctx context.Context, name string) error {
	released, err := p.nodes().Release(ctx, name)
	if errors.Is(err, clustervolume.ErrNoDirectory) {
		// A removal that was interrupted may have left something.
		state, err := p.nodes().Observe(ctx)
		if err != nil {
			return err //nolint:wrapcheck // It says what failed.
		}
		container, err := through(state, "")
		if err != nil {
			return err
		}
		return clustervolume.RemoveDirectory(ctx, p.Engine, container, name, clustervolume.Token{}) //nolint:wrapcheck // It says what failed.
	}
	if err != nil {
		return err //nolint:wrapcheck // It says what failed.
	}
	return clustervolume.RemoveDirectory(ctx, p.Engine, released.Container, name, released.Token) //nolint:wrapcheck // It says what failed.
}
