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

package containercluster

import (
	"context"
	"fmt"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Engine is what recognizing the engine of a cluster needs of it.
type Engine interface {
	engine.Containers
	engine.Host
}

// OtherEngineError says that the engine that answers is not the one of the cluster: what is
// not found there may exist.
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

// CheckEngine returns an OtherEngineError unless "not found" of this engine can be relied on
// for containers of the cluster: it has others of them, which is what the result says, or it is
// the engine on which they were created. A cluster without a record of its engine is not checked,
// and neither is an engine without an identity.
func CheckEngine(ctx context.Context, eng Engine, containerCluster *infrav1.ContainerCluster, owner identity.Owner) (bool, error) {
	recorded := containerCluster.Annotations[infrav1.EngineAnnotation]
	if recorded == "" {
		return false, nil
	}
	containers, err := eng.ListContainers(ctx, owner.Labels())
	if err != nil {
		return false, fmt.Errorf("list containers of the cluster: %w", err)
	}
	if len(containers) > 0 {
		return true, nil
	}
	// Asked now: what was answered a moment ago may be of the other one.
	info, err := eng.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("get engine info: %w", err)
	}
	if info.StorageID != "" && info.StorageID != recorded {
		return false, &OtherEngineError{Cluster: containerCluster.Name, Recorded: recorded, Answers: info.StorageID}
	}
	return false, nil
}
