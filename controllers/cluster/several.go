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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/debts"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/union"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// A cluster over several engines has its load balancer on one of them, its home, and a network on which all of them are.

// chooseHome chooses the engine of the load balancer, and another one where that is lost.
func (r *Reconciler) chooseHome(ctx context.Context, containerCluster *infrav1.ContainerCluster) error {
	inventory, err := placement.ReadInventory(ctx, r.Client, containerCluster.Namespace)
	if err != nil {
		return err
	}
	home, err := inventory.ChooseHome(containerCluster)
	if err != nil || home == containerCluster.Spec.EngineName {
		return err
	}
	before := containerCluster.DeepCopy()
	containerCluster.Spec.EngineName = home
	if err := r.Client.Patch(ctx, containerCluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write engine of the load balancer: %w", err)
	}
	return nil
}

// findLoadBalancer observes the load balancer of a cluster over several engines. One on another engine than its home is removed: two
// would have one address. While an engine does not respond, it may have the load balancer, and none is created.
func (r *Reconciler) findLoadBalancer(ctx context.Context, s *scope) error {
	if !s.hasLoadBalancer() {
		return nil
	}
	name := s.owner().LoadBalancerContainer()
	existing, err := loadbalancer.Inspect(ctx, s.Home(), name)
	if err != nil {
		return s.bothErrors(err)
	}
	s.loadBalancerBefore = existing
	if existing.Exists {
		return nil
	}
	elsewhere, err := s.Joint().Find(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return r.leaveLoadBalancer(ctx, s)
	case err != nil:
		return s.bothErrors(err)
	}
	container, err := elsewhere.Engine.InspectContainer(ctx, name)
	if err == nil && !s.owner().Owns(container.Labels) {
		err = &loadbalancer.ForeignError{Container: name}
	}
	if err == nil {
		err = engine.Remove(ctx, elsewhere.Engine, container)
	}
	if err != nil {
		return s.bothErrors(err)
	}
	r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "ContainerRemoved", "Remove",
		"Removed load balancer %s from ContainerEngine %s; creating it on %s", name, elsewhere.Name, s.Name.Name)
	return nil
}

// leaveLoadBalancer records that engines that are lost may have the load balancer, before it is created on another one: without its
// address, which that one has.
func (r *Reconciler) leaveLoadBalancer(ctx context.Context, s *scope) error {
	name := s.owner().LoadBalancerContainer()
	for _, member := range s.containerCluster.Spec.EngineNames {
		lost, err := r.lostMember(ctx, s.containerCluster, member)
		if err != nil {
			return err
		}
		if lost == nil {
			continue
		}
		before := len(lost.Spec.Debts)
		if err := debts.Record(ctx, r.Client, lost, debts.OfContainer(s.owner(), name)); err != nil {
			return s.bothErrors(err)
		}
		if len(lost.Spec.Debts) > before {
			r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeWarning, "LeftOnLostEngine", "Release",
				"Left load balancer %s on lost ContainerEngine %s; creating it on %s", name, lost.Name, s.Name.Name)
		}
	}
	return nil
}

// sharedNetwork checks that the network of a cluster over several engines is one, and returns it.
func (s *scope) sharedNetwork(ctx context.Context, request network.Request) (engine.Network, error) {
	networks, err := s.Joint().Networks(ctx, request.Name)
	if err != nil {
		return engine.Network{}, err
	}
	if err := network.CheckShared(networks, request); err != nil {
		return engine.Network{}, err
	}
	return s.Joint().InspectNetwork(ctx, request.Name)
}

// failureDomains of the Cluster: those of the spec, or of the engines of a cluster over several.
func (r *Reconciler) failureDomains(ctx context.Context, s *scope) ([]clusterv1.FailureDomain, error) {
	if s.Joint() == nil {
		return s.containerCluster.Spec.FailureDomains, nil
	}
	inventory, err := placement.ReadInventory(ctx, r.Client, s.containerCluster.Namespace)
	if err != nil {
		return nil, err
	}
	return inventory.FailureDomains(s.containerCluster), nil
}

// recordedControlPlanes are those on engines that do not respond, as their objects have them: their Nodes may run.
func (r *Reconciler) recordedControlPlanes(ctx context.Context, s *scope, known machines, partial *union.PartialError) ([]loadbalancer.Machine, error) {
	list := &infrav1.ContainerMachineList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.containerCluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.cluster.Name}); err != nil {
		return nil, fmt.Errorf("list ContainerMachines: %w", err)
	}
	missing := sets.New(partial.Missing...)
	var recorded []loadbalancer.Machine
	for i := range list.Items {
		machine := &list.Items[i]
		container, err := identity.ParseProviderID(machine.Spec.ProviderID)
		if err != nil || !known.controlPlane.Has(machine.Name) || !missing.Has(machine.Annotations[infrav1.EngineNameAnnotation]) {
			continue
		}
		address := s.families().First(network.ParseAddresses(machine.Spec.Bootstrap.Addresses))
		if address.IsValid() {
			recorded = append(recorded, loadbalancer.Machine{
				Container: container, Address: address, Port: s.backendPort(), Deleting: known.deleting.Has(machine.Name),
			})
		}
	}
	return recorded, nil
}

// recordDebts of what a cluster that is deleted has on those of its engines that are lost.
func (r *Reconciler) recordDebts(ctx context.Context, s *scope) error {
	for _, name := range s.containerCluster.Spec.EngineNames {
		lost, err := r.lostMember(ctx, s.containerCluster, name)
		if err != nil {
			return err
		}
		if lost != nil {
			if err := r.recordDebt(ctx, s, lost); err != nil {
				return err
			}
		}
	}
	return nil
}

// allLost reports whether all engines of a cluster over several are lost.
func (r *Reconciler) allLost(ctx context.Context, containerCluster *infrav1.ContainerCluster) (bool, error) {
	for _, name := range containerCluster.Spec.EngineNames {
		lost, err := r.lostMember(ctx, containerCluster, name)
		if err != nil || lost == nil {
			return false, err
		}
	}
	return true, nil
}

func (r *Reconciler) lostMember(ctx context.Context, containerCluster *infrav1.ContainerCluster, name string) (*infrav1.ContainerEngine, error) {
	member := &infrav1.ContainerCluster{ObjectMeta: containerCluster.ObjectMeta, Spec: infrav1.ContainerClusterSpec{EngineName: name}}
	lost, err := debts.LostEngine(ctx, r.Client, member)
	if err != nil {
		return nil, fmt.Errorf("get ContainerEngine %q: %w", name, err)
	}
	return lost, nil
}

// engineToClusters: what an administrator says of an engine decides where load balancers are, and which failure domains there are.
func (r *Reconciler) engineToClusters(ctx context.Context, object client.Object) []ctrl.Request {
	return r.listWhere(ctx, func(cluster *infrav1.ContainerCluster) bool {
		return cluster.Namespace == object.GetNamespace() && slices.Contains(cluster.Spec.EngineNames, object.GetName())
	})
}

// heldAddresses are those that containers on engines that are lost may have; none for a cluster on one engine.
func (r *Reconciler) heldAddresses(ctx context.Context, s *scope) (network.Holders, error) {
	if s.Joint() == nil {
		return nil, nil
	}
	return placement.HeldAddresses(ctx, r.Client, s.networkName(), s.containerCluster)
}
