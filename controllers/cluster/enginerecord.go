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

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

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
		Owner:   identity.Owner{Namespace: containerCluster.Namespace, Cluster: cluster, ID: containerCluster.OwnerID()},
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
