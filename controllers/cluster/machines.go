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

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// deletingMachines returns the names of the ContainerMachines that are going
// away. The Machine knows first: its infrastructure is deleted only after the
// etcd member was removed, when no connection should arrive any more.
func (r *Reconciler) deletingMachines(ctx context.Context, s *scope) (sets.Set[string], error) {
	deleting := sets.New[string]()
	inCluster := []client.ListOption{
		client.InNamespace(s.containerCluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.cluster.Name},
	}
	machines := &clusterv1.MachineList{}
	if err := r.Client.List(ctx, machines, inCluster...); err != nil {
		return nil, fmt.Errorf("list Machines: %w", err)
	}
	for i := range machines.Items {
		if machine := &machines.Items[i]; !machine.DeletionTimestamp.IsZero() {
			deleting.Insert(machine.Spec.InfrastructureRef.Name)
		}
	}
	containerMachines := &infrav1.ContainerMachineList{}
	if err := r.Client.List(ctx, containerMachines, inCluster...); err != nil {
		return nil, fmt.Errorf("list ContainerMachines: %w", err)
	}
	for i := range containerMachines.Items {
		if machine := &containerMachines.Items[i]; !machine.DeletionTimestamp.IsZero() {
			deleting.Insert(machine.Name)
		}
	}
	return deleting, nil
}
