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
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// machines of a cluster, which the load balancer follows.
type machines struct {
	// controlPlane and deleting are names of ContainerMachines. The Machine knows first
	// that one is going away: its infrastructure is deleted only after the etcd member was
	// removed, when no connection should arrive any more.
	controlPlane, deleting sets.Set[string]
	// remaining are the ContainerMachines that are not being deleted themselves.
	remaining sets.Set[string]
}

// serveAPI reports whether a control plane still has its container.
func (m machines) serveAPI() bool { return m.controlPlane.HasAny(m.remaining.UnsortedList()...) }

func (r *Reconciler) listMachines(ctx context.Context, s *scope) (machines, error) {
	found := machines{controlPlane: sets.New[string](), deleting: sets.New[string](), remaining: sets.New[string]()}
	inCluster := []client.ListOption{
		client.InNamespace(s.containerCluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.cluster.Name},
	}
	list := &clusterv1.MachineList{}
	if err := r.Client.List(ctx, list, inCluster...); err != nil {
		return machines{}, fmt.Errorf("list Machines: %w", err)
	}
	for i := range list.Items {
		machine := &list.Items[i]
		if util.IsControlPlaneMachine(machine) {
			found.controlPlane.Insert(machine.Spec.InfrastructureRef.Name)
		}
		if !machine.DeletionTimestamp.IsZero() {
			found.deleting.Insert(machine.Spec.InfrastructureRef.Name)
		}
	}
	containerMachines := &infrav1.ContainerMachineList{}
	if err := r.Client.List(ctx, containerMachines, inCluster...); err != nil {
		return machines{}, fmt.Errorf("list ContainerMachines: %w", err)
	}
	for i := range containerMachines.Items {
		if machine := &containerMachines.Items[i]; machine.DeletionTimestamp.IsZero() {
			found.remaining.Insert(machine.Name)
		} else {
			found.deleting.Insert(machine.Name)
		}
	}
	return found, nil
}
