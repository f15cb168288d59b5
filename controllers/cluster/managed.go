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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Managed returns the ContainerCluster of a Cluster, and whose containers are where. It
// returns nil where this manager does not reconcile it: another provider's, one that the
// filter does not select, that is externally managed or moved, or that has no owner ID yet.
func Managed(ctx context.Context, c client.Reader, cluster *clusterv1.Cluster, watchFilter string) (*infrav1.ContainerCluster, EngineRecord, error) {
	existing, err := Get(ctx, c, cluster)
	if err != nil || existing == nil {
		return nil, EngineRecord{}, err
	}
	if !reconcile.Selected(existing, watchFilter) || annotations.IsExternallyManaged(existing) || reconcile.MovedAway(existing) || existing.Spec.OwnerID == "" {
		ctrl.LoggerFrom(ctx).V(4).Info("ContainerCluster is not reconciled by this manager")
		return nil, EngineRecord{}, nil
	}
	return existing, RecordOf(existing, cluster.Name), nil
}

// Get returns the ContainerCluster of a Cluster; nil where there is none.
func Get(ctx context.Context, c client.Reader, cluster *clusterv1.Cluster) (*infrav1.ContainerCluster, error) {
	ref := cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupVersion.Group || ref.Kind != "ContainerCluster" {
		return nil, nil
	}
	existing := &infrav1.ContainerCluster{}
	err := c.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, existing)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get ContainerCluster: %w", err)
	}
	return existing, nil
}

// Engine is what recognizing the engine of a cluster needs of it.
type Engine interface {
	engine.ContainerReader
	engine.Host
}

// OtherEngineError says that the engine that responds is not the one of the cluster: what does
// not exist there may exist on the other one.
type OtherEngineError struct {
	// Cluster is the name of the ContainerCluster.
	Cluster string
	// Recorded is the StorageID of the cluster's engine, Answers that of the one that answers.
	Recorded, Answers string
}

// Error implements error.
func (e *OtherEngineError) Error() string {
	return fmt.Sprintf("another container engine answers (storage %s, not %s), which has no container of this cluster: "+
		"connect the manager to the engine of the cluster; if that is lost, remove the annotation %s from ContainerCluster %q",
		e.Answers, e.Recorded, infrav1.EngineAnnotation, e.Cluster)
}

// EngineRecord says which engine the containers of a cluster were created on.
type EngineRecord struct {
	// Owner of the containers.
	Owner identity.Owner
	// Cluster is the name of the ContainerCluster.
	Cluster string
	// StorageID of the engine; empty = it is not recorded, and not checked.
	StorageID string
}

// RecordOf returns the record that a ContainerCluster has. cluster names its Cluster.
func RecordOf(containerCluster *infrav1.ContainerCluster, cluster string) EngineRecord {
	return EngineRecord{
		Owner:   identity.Owner{Namespace: containerCluster.Namespace, Cluster: cluster, ID: containerCluster.Spec.OwnerID},
		Cluster: containerCluster.Name, StorageID: containerCluster.Annotations[infrav1.EngineAnnotation],
	}
}

// Check returns an OtherEngineError unless "not found" of this engine can be relied on for
// containers of the cluster, and whether it has any of them.
func (r EngineRecord) Check(ctx context.Context, eng Engine) (bool, error) {
	if r.StorageID == "" {
		return false, nil
	}
	containers, err := r.Containers(ctx, eng)
	return len(containers) > 0, err
}

// Containers of the cluster. An engine that has some is the one on which they were created. None
// on another one is an OtherEngineError. An engine without an identity is not checked.
func (r EngineRecord) Containers(ctx context.Context, eng Engine) ([]engine.Container, error) {
	containers, err := eng.ListContainers(ctx, r.Owner.Labels())
	if err != nil {
		return nil, fmt.Errorf("list containers of the cluster: %w", err)
	}
	if len(containers) > 0 || r.StorageID == "" {
		return containers, nil
	}
	// Asked now: what was answered a moment ago may be of the other one.
	info, err := eng.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("get engine info: %w", err)
	}
	if info.StorageID != "" && info.StorageID != r.StorageID {
		return nil, &OtherEngineError{Cluster: r.Cluster, Recorded: r.StorageID, Answers: info.StorageID}
	}
	return nil, nil
}
