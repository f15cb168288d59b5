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

package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Neighbors are the engines of all clusters over several engines on the network of that name: addresses on it are allocated over
// all of them.
func Neighbors(ctx context.Context, c client.Reader, networkName string) ([]types.NamespacedName, error) {
	clusters, err := onNetwork(ctx, c, networkName)
	if err != nil {
		return nil, err
	}
	var names []types.NamespacedName
	for i := range clusters {
		names = append(names, engines.MembersOf(&clusters[i])...)
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(names), nil
}

func onNetwork(ctx context.Context, c client.Reader, networkName string) ([]infrav1.ContainerCluster, error) {
	clusters := &infrav1.ContainerClusterList{}
	if err := c.List(ctx, clusters); err != nil {
		return nil, fmt.Errorf("list ContainerClusters: %w", err)
	}
	return slices.DeleteFunc(clusters.Items, func(cluster infrav1.ContainerCluster) bool {
		return len(cluster.Spec.EngineNames) == 0 || cluster.Spec.Network.Name != networkName
	}), nil
}

// HeldAddresses of a network over several engines are those that objects have, except one object, and debts: a container with
// one of them may be on an engine that is lost.
func HeldAddresses(ctx context.Context, c client.Reader, networkName string, except client.Object) (network.Holders, error) {
	clusters, err := onNetwork(ctx, c, networkName)
	if err != nil {
		return nil, err
	}
	held := network.Holders{}
	for i := range clusters {
		cluster := &clusters[i]
		if !isSame(cluster, except) {
			hold(held, "the endpoint of ContainerCluster "+cluster.Name, cluster.Spec.ControlPlaneEndpoint.Host)
		}
		if err := holdMachines(ctx, c, held, cluster, except); err != nil {
			return nil, err
		}
	}
	return held, holdDebts(ctx, c, held)
}

func hold(held network.Holders, holder string, addresses ...string) {
	for _, address := range network.ParseAddresses(addresses) {
		held[address] = holder
	}
}

func isSame(a, b client.Object) bool {
	return fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b) && client.ObjectKeyFromObject(a) == client.ObjectKeyFromObject(b)
}

func holdMachines(ctx context.Context, c client.Reader, held network.Holders, cluster *infrav1.ContainerCluster, except client.Object) error {
	machines := &infrav1.ContainerMachineList{}
	inCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Labels[clusterv1.ClusterNameLabel]}
	if err := c.List(ctx, machines, client.InNamespace(cluster.Namespace), inCluster); err != nil {
		return fmt.Errorf("list ContainerMachines: %w", err)
	}
	for i := range machines.Items {
		if machine := &machines.Items[i]; !isSame(machine, except) {
			hold(held, "ContainerMachine "+machine.Name, machine.Spec.Bootstrap.Addresses...)
		}
	}
	return nil
}

func holdDebts(ctx context.Context, c client.Reader, held network.Holders) error {
	indebted := &infrav1.ContainerEngineList{}
	if err := c.List(ctx, indebted); err != nil {
		return fmt.Errorf("list ContainerEngines: %w", err)
	}
	for _, engine := range indebted.Items {
		for _, debt := range engine.Spec.Debts {
			hold(held, "a debt of ContainerEngine "+engine.Name, debt.Addresses...)
		}
	}
	return nil
}
