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

package cluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Removal removes what a cluster has on an engine: all, of a cluster that is deleted, in the order of the methods.
type Removal struct {
	Engine engine.Engine
	Owner  identity.Owner
	// Events of what was removed, on an object.
	Events events.EventRecorder
	Object runtime.Object
	// Removing is called with the name of a container before it is removed; may be nil.
	Removing func(container string)
}

// Containers removes those with the labels, which include the owner's.
func (r Removal) Containers(ctx context.Context, labels map[string]string) error {
	containers, err := r.Engine.ListContainers(ctx, labels)
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	for _, container := range containers {
		if err := r.Container(ctx, container); err != nil {
			return err
		}
	}
	return nil
}

// Container removes the one.
func (r Removal) Container(ctx context.Context, container engine.Container) error {
	if r.Removing != nil {
		r.Removing(container.Name)
	}
	if err := engine.Remove(ctx, r.Engine, container); err != nil {
		return err
	}
	r.report("ContainerRemoved", "Removed container %s", container.Name)
	return nil
}

// Volume removes the volume that the nodes had mounted, with all PersistentVolumes.
func (r Removal) Volume(ctx context.Context) error {
	existed, err := clustervolume.Remove(ctx, r.Engine, r.Owner)
	if err != nil {
		return err
	}
	if existed {
		r.report("VolumeRemoved", "Removed volume %s", r.Owner.Volume())
	}
	return nil
}

// Network removes the network with its last cluster. A probe of the host does not keep it: it is removed within
// seconds, or within a minute where its manager was killed, and nothing would remove the network after it.
func (r Removal) Network(ctx context.Context, name string) error {
	gone, err := network.Remove(ctx, r.Engine, name)
	if err != nil {
		return fmt.Errorf("remove network %q: %w", name, err)
	}
	if gone {
		r.report("NetworkRemoved", "Removed network %s", name)
		return nil
	}
	probes, err := hostinfo.Probes(ctx, r.Engine, name)
	if err != nil || len(probes) == 0 {
		return err
	}
	// Also those of managers that do not come back.
	if err := hostinfo.RemoveLeftovers(ctx, r.Engine, ""); err != nil {
		return err
	}
	return reconcile.Wait{
		Reason:  infrav1.DeletingReason,
		Message: fmt.Sprintf("waiting for probe container %s to be removed from network %s", strings.Join(probes, ", "), name),
		After:   deleteInterval,
	}
}

func (r Removal) report(reason, note string, args ...any) {
	r.Events.Eventf(r.Object, nil, corev1.EventTypeNormal, reason, "Remove", note, args...)
}
