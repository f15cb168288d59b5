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
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/volumebinding"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

const (
	// volumesPath is the directory of all volumes in a node. It is on the volume that each
	// node has at /var, which is removed with the node's container.
	volumesPath = "/var/lib/node-local-volumes"

	// providerIDAnnotation on a PersistentVolume is the provider ID of its node.
	providerIDAnnotation = "container.infrastructure.cluster.x-k8s.io/provider-id"
)

var (
	// errUnsatisfiable says that no retry helps before something else changes: the claim, its
	// class, the disk or the other volumes.
	errUnsatisfiable = errors.New("PersistentVolumeClaim cannot be provisioned")
	// errNoNode says that no Node takes Pods, such as before the first one is Ready.
	errNoNode = errors.New("no schedulable Node found")
	// errForeign says that a Node names a container of another cluster.
	errForeign = errors.New("container is not owned by this cluster")
)

// Engine is what the provisioner needs of an engine.
type Engine interface {
	engine.ContainerReader
	engine.Executor
	engine.Host
}

// provisioner creates a directory in a node for each volume.
type provisioner struct {
	Options
	client kubernetes.Interface
	clock  clock.PassiveClock
}

var (
	_ controller.Provisioner = &provisioner{}
	_ controller.Qualifier   = &provisioner{}
)

// Provision implements controller.Provisioner. It is idempotent: the name of the volume
// is derived from the claim's UID. Where the selected node is gone, the scheduler selects
// another one. A claim that cannot be satisfied now is ignored until the next resync.
func (p *provisioner) Provision(ctx context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	volume, err := p.provision(ctx, options)
	switch {
	case errors.Is(err, errUnsatisfiable):
		if err := p.recordRefusal(ctx, options.PVC, err); err != nil {
			return nil, controller.ProvisioningFinished, err
		}
		return nil, controller.ProvisioningFinished, &controller.IgnoredError{Reason: err.Error()}
	case apierrors.IsNotFound(err), errors.Is(err, engine.ErrNotFound):
		return nil, controller.ProvisioningReschedule, err
	case err != nil:
		return nil, controller.ProvisioningFinished, err
	}
	return volume, controller.ProvisioningFinished, nil
}

func (p *provisioner) provision(ctx context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, error) {
	if len(options.StorageClass.AllowedTopologies) > 0 && options.SelectedNodeName == "" {
		return nil, fmt.Errorf("%w: allowedTopologies of StorageClass %q: set volumeBindingMode to %s", errUnsatisfiable,
			options.StorageClass.Name, storagev1.VolumeBindingWaitForFirstConsumer)
	}
	// Before anything is created: a volume beyond the limit must not exist for a moment.
	if err := p.checkLimit(ctx, options.PVName); err != nil {
		return nil, err
	}
	if p.Shared {
		return p.provisionShared(ctx, options)
	}
	node, err := p.node(ctx, options)
	if err != nil {
		return nil, err
	}
	container, err := p.container(ctx, node.Spec.ProviderID)
	if err != nil {
		return nil, fmt.Errorf("find the container of Node %q: %w", node.Name, err)
	}
	// A full disk of the host would stop all clusters on it.
	if err := p.checkSpace(ctx, container, "/var", options.PVC); err != nil {
		return nil, fmt.Errorf("check free space of Node %q: %w", node.Name, err)
	}
	directory := path.Join(volumesPath, options.PVName)
	// A Pod may run as any user.
	if err := p.run(ctx, container, `mkdir -p "$0" && chmod 0777 "$0"`, directory); err != nil {
		return nil, fmt.Errorf("create directory %q in container %q: %w", directory, container, err)
	}
	return persistentVolume(options, node, directory), nil
}

// node that the scheduler selected. A StorageClass whose volumes are bound immediately has
// none: any node does that takes Pods. It follows from the volume's name, so that a repeated
// call finds the same one.
func (p *provisioner) node(ctx context.Context, options controller.ProvisionOptions) (*corev1.Node, error) {
	if options.SelectedNodeName != "" {
		node, err := p.client.CoreV1().Nodes().Get(ctx, options.SelectedNodeName, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("get Node: %w", err)
		}
		return node, nil
	}
	list, err := p.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	nodes := slices.DeleteFunc(list.Items, func(node corev1.Node) bool { return !takesPods(node) })
	if len(nodes) == 0 {
		return nil, errNoNode
	}
	slices.SortFunc(nodes, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(options.PVName))
	return &nodes[int(hash.Sum32())%len(nodes)], nil
}

func takesPods(node corev1.Node) bool {
	return !node.Spec.Unschedulable && node.DeletionTimestamp.IsZero() &&
		!slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Effect != corev1.TaintEffectPreferNoSchedule })
}

// container returns the name of a node's container. It verifies the owner: an
// administrator of the workload cluster can write any provider ID into a Node.
func (p *provisioner) container(ctx context.Context, providerID string) (string, error) {
	name, err := identity.ParseProviderID(providerID)
	if err != nil {
		return "", err
	}
	container, err := p.Engine.InspectContainer(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		if _, err := p.Recorded.Check(ctx, p.Engine); err != nil {
			return "", err
		}
	}
	if err != nil {
		return "", fmt.Errorf("inspect container: %w", err)
	}
	if !p.Recorded.Owner.Owns(container.Labels) {
		return "", fmt.Errorf("container %q: %w", name, errForeign)
	}
	return name, nil
}

func persistentVolume(options controller.ProvisionOptions, node *corev1.Node, directory string) *corev1.PersistentVolume {
	volume := volumeOn(options, corev1.LabelHostname, node.Labels[corev1.LabelHostname], directory)
	volume.Annotations = map[string]string{providerIDAnnotation: node.Spec.ProviderID}
	return volume
}

// volumeOn Nodes with the label, at a path in them.
func volumeOn(options controller.ProvisionOptions, label, value, directory string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: options.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   slices.Clone(options.PVC.Spec.AccessModes),
			PersistentVolumeReclaimPolicy: ptr.Deref(options.StorageClass.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete),
			VolumeMode:                    options.PVC.Spec.VolumeMode,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: directory}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: label, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
			}}}},
		},
	}
}

// Delete implements controller.Provisioner. A volume is gone once its container is. The
// directory is derived from the volume's name, whatever its spec says.
func (p *provisioner) Delete(ctx context.Context, volume *corev1.PersistentVolume) error {
	if volumebinding.IsShared(volume) {
		return p.deleteShared(ctx, volume.Name)
	}
	container, err := p.container(ctx, volume.Annotations[providerIDAnnotation])
	switch {
	case errors.Is(err, engine.ErrNotFound):
		ctrl.LoggerFrom(ctx).V(4).Info("The container of the volume does not exist, and neither does its directory", "PersistentVolume", klog.KObj(volume))
		return nil
	case errors.Is(err, errForeign), errors.Is(err, identity.ErrProviderID):
		return &controller.IgnoredError{Reason: err.Error()}
	case err != nil:
		return fmt.Errorf("find the container of volume %q: %w", volume.Name, err)
	}
	directory := path.Join(volumesPath, volume.Name)
	if err := p.run(ctx, container, `rm -rf -- "$0"`, directory); err != nil {
		return fmt.Errorf("remove directory %q of container %q: %w", directory, container, err)
	}
	return nil
}

// run a script with one argument, "$0".
func (p *provisioner) run(ctx context.Context, container, script, argument string) error {
	output, err := p.Engine.Exec(ctx, container, engine.Command{Args: []string{"sh", "-c", script, argument}})
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(output.Stderr)))
	}
	return nil
}
