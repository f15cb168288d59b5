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
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// joinNetwork attaches the container of this manager to the network of a cluster, whose API
// servers the controllers have to reach.
func (r *Reconciler) joinNetwork(ctx context.Context, s *scope, existing engine.Network) error {
	if !r.isOn(s) {
		return nil
	}
	if err := r.recordAttachment(ctx, s, existing); err != nil {
		return err
	}
	if err := s.Engine.ConnectNetwork(ctx, existing.Name, r.SelfContainer, engine.Attachment{Network: existing.Name}); err != nil {
		return fmt.Errorf("attach container %q of this manager: %w", r.SelfContainer, err)
	}
	return nil
}

// isOn reports whether this manager is a container on the engine of the cluster.
func (r *Reconciler) isOn(s *scope) bool { return r.SelfContainer != "" && s.Name.Name == "" }

// recordAttachment records in the object that this manager attaches itself to a network
// that a user created, before it does so, or did so for another cluster. Without the record it
// was the user who attached the manager, or created it there, and it stays.
func (r *Reconciler) recordAttachment(ctx context.Context, s *scope, existing engine.Network) error {
	if isManaged(existing) || r.attached(s.containerCluster) {
		return nil
	}
	container, err := s.Engine.InspectContainer(ctx, r.SelfContainer)
	if err != nil {
		return fmt.Errorf("inspect container %q of this manager: %w", r.SelfContainer, err)
	}
	if _, there := container.Networks[existing.Name]; there {
		others, err := r.othersOnNetwork(ctx, s)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(others, func(other infrav1.ContainerCluster) bool { return r.attached(&other) }) {
			return nil
		}
	}
	// A copy: the answer has neither the conditions nor the fields of this reconcile.
	original := s.containerCluster.DeepCopy()
	changed := original.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, infrav1.AttachedManagerAnnotation, r.SelfContainer)
	if err := r.Client.Patch(ctx, changed, client.MergeFrom(original)); err != nil {
		return fmt.Errorf("record that this manager is attached: %w", err)
	}
	metav1.SetMetaDataAnnotation(&s.containerCluster.ObjectMeta, infrav1.AttachedManagerAnnotation, r.SelfContainer)
	return nil
}

// attached reports whether this manager attached itself to the network for a cluster.
func (r *Reconciler) attached(containerCluster *infrav1.ContainerCluster) bool {
	return containerCluster.Annotations[infrav1.AttachedManagerAnnotation] == r.SelfContainer
}

func isManaged(existing engine.Network) bool {
	_, managed := existing.Labels[identity.LabelManaged]
	return managed
}

// othersOnNetwork are the other clusters on the network that are not being deleted: one
// that is needs no API server any more, and leaves the network by itself.
func (r *Reconciler) othersOnNetwork(ctx context.Context, s *scope) ([]infrav1.ContainerCluster, error) {
	list := &infrav1.ContainerClusterList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list ContainerClusters on network %q: %w", s.networkName(), err)
	}
	var others []infrav1.ContainerCluster
	for _, other := range list.Items {
		same := client.ObjectKeyFromObject(&other) == client.ObjectKeyFromObject(s.containerCluster)
		if !same && other.DeletionTimestamp.IsZero() && engines.NameOf(&other) == s.Name && networkName(&other) == s.networkName() {
			others = append(others, other)
		}
	}
	return others, nil
}

// leaveNetwork detaches this manager from a network with its last cluster: from one that
// can then be removed, and from one that a user created if the manager attached itself. It stays
// on the only network it has: clients reach it there.
func (r *Reconciler) leaveNetwork(ctx context.Context, s *scope) error {
	name := s.networkName()
	existing, err := s.Engine.InspectNetwork(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("inspect network %q: %w", name, err)
	}
	var needed bool
	switch {
	case isManaged(existing):
		needed, err = r.isShared(ctx, s, name)
	case r.attached(s.containerCluster):
		var others []infrav1.ContainerCluster
		others, err = r.othersOnNetwork(ctx, s)
		needed = len(others) > 0
	default:
		return nil
	}
	if err != nil || needed {
		return err
	}
	container, err := s.Engine.InspectContainer(ctx, r.SelfContainer)
	if err != nil {
		return fmt.Errorf("inspect container %q of this manager: %w", r.SelfContainer, err)
	}
	if _, there := container.Networks[name]; !there || len(container.Networks) == 1 {
		return nil
	}
	if err := s.Engine.DisconnectNetwork(ctx, name, r.SelfContainer); err != nil {
		return fmt.Errorf("leave network %q: %w", name, err)
	}
	return nil
}

// isShared reports whether another container is attached.
func (r *Reconciler) isShared(ctx context.Context, s *scope, name string) (bool, error) {
	containers, err := s.Engine.ListContainers(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("list containers on network %q: %w", name, err)
	}
	return slices.ContainsFunc(containers, func(container engine.Container) bool {
		_, on := container.Networks[name]
		return on && container.Name != r.SelfContainer
	}), nil
}
