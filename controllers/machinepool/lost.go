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

package machinepool

import (
	"context"
	"errors"
	"fmt"

	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// errNoContainerCluster: nothing says which containers are the cluster's.
var errNoContainerCluster = errors.New("no ContainerCluster found")

// confirmLost asks the engine whether the containers of lost instances are gone: conditions may
// be of a time when another engine responded, or older than a container that was restored. Unless
// it says so, they are kept.
func (r *Reconciler) confirmLost(ctx context.Context, s *scope) error {
	var lost []*instance
	for i := range s.instances {
		if one := &s.instances[i]; one.lost() && !one.leaving() {
			lost = append(lost, one)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	existing, err := r.containers(ctx, s)
	for _, one := range lost {
		name, parseErr := identity.ParseProviderID(one.containerMachine.Spec.ProviderID)
		one.exists = err != nil || parseErr != nil || existing[name]
	}
	if other := new(containercluster.OtherEngineError); errors.As(err, &other) {
		// The machine controller reports it.
		return reconcile.Wait{After: reconcile.UserInterval}
	}
	return err
}

// containers of the cluster, by name.
func (r *Reconciler) containers(ctx context.Context, s *scope) (map[string]bool, error) {
	containerCluster, err := containercluster.Get(ctx, r.Client, s.cluster)
	if err != nil {
		return nil, err
	}
	if containerCluster == nil {
		return nil, fmt.Errorf("get infrastructure of Cluster %q: %w", s.cluster.Name, errNoContainerCluster)
	}
	containers, err := containercluster.RecordOf(containerCluster, s.cluster.Name).Containers(ctx, r.Engine)
	if err != nil {
		return nil, err
	}
	existing := make(map[string]bool, len(containers))
	for _, container := range containers {
		existing[container.Name] = true
	}
	return existing, nil
}
