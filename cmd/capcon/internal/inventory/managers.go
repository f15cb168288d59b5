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

package inventory

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// Describe a manager by its clusters, and a plane by those that were moved away from it.
func (m *Manager) Describe(ctx context.Context, c client.Client) error {
	clusters, err := management.ContainerClusters(ctx, c)
	if err != nil {
		return err
	}
	machines := &infrav1.ContainerMachineList{}
	if err := c.List(ctx, machines); err != nil {
		return fmt.Errorf("list ContainerMachines: %w", err)
	}
	if m.Plane {
		if m.Moves, err = plane.ReadMoves(ctx, c); err != nil {
			return err //nolint:wrapcheck // It says what was read.
		}
	}
	m.Answers, m.Detail = true, "ready"
	for i := range clusters {
		m.Clusters = append(m.Clusters, Cluster{
			Owner: identity.Owner{
				Namespace: clusters[i].Namespace, Cluster: clusters[i].Name, ID: clusters[i].Spec.OwnerID,
			},
			Engine:  management.ShownEngine(clusters[i].Namespace, clusters[i].Spec.EngineName),
			Engines: management.ShownEngines(&clusters[i], machinesOf(machines.Items, &clusters[i])),
			Network: cmp.Or(clusters[i].Spec.Network.Name, network.DefaultName),
		})
	}
	return nil
}

// machinesOf a cluster.
func machinesOf(machines []infrav1.ContainerMachine, cluster *infrav1.ContainerCluster) []infrav1.ContainerMachine {
	var of []infrav1.ContainerMachine
	for i := range machines {
		name := machines[i].Labels[clusterv1.ClusterNameLabel]
		if machines[i].Namespace == cluster.Namespace && name != "" && name == cmp.Or(cluster.Labels[clusterv1.ClusterNameLabel], cluster.Name) {
			of = append(of, machines[i])
		}
	}
	return of
}
