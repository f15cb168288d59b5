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

package clusterpower

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// observe the containers and what should have one. It returns errors of the API server only.
func (p *startPass) observe(ctx context.Context) error {
	machines, err := p.machines(ctx, p.scope)
	if err != nil {
		return err
	}
	listed, err := p.Reconciler.containers(ctx, p.scope)
	if p.engineError = err; p.engineError != nil {
		return nil //nolint:nilerr // It is part of what is observed.
	}
	maintained, existing := map[string]bool{}, map[string]bool{}
	for i := range machines {
		_, maintained[machines[i].Name] = machines[i].Annotations[infrav1.MaintenanceAnnotation]
	}
	hasControlPlane, keepsControlPlane := false, false
	sorted := tiers(listed)
	slices.Reverse(sorted)
	for _, container := range slices.Concat(sorted...) {
		existing[container.Name] = true
		if maintained[container.Labels[identity.LabelMachine]] {
			p.maintained++
			keepsControlPlane = keepsControlPlane || roleOf(container) == identity.RoleControlPlane
			continue
		}
		hasControlPlane = hasControlPlane || roleOf(container) == identity.RoleControlPlane
		p.containers = append(p.containers, container)
	}
	p.findMissing(machines, existing)
	// Before it was initialized, a control plane has no data, and is recreated.
	p.isLost = !hasControlPlane && !keepsControlPlane && ptr.Deref(p.scope.cluster.Status.Initialization.ControlPlaneInitialized, false) &&
		slices.ContainsFunc(machines, func(machine infrav1.ContainerMachine) bool {
			return isControlPlane(machine) && machine.Spec.ProviderID != ""
		})
	p.noAPIServer = !hasControlPlane && slices.ContainsFunc(machines, isControlPlane)
	if name := p.scope.recorded.Owner.LoadBalancerContainer(); p.hadLoadBalancer() && !existing[name] {
		p.missing = append(p.missing, fmt.Sprintf("load balancer %s not found", name))
		p.noAPIServer = true
	}
	return nil
}

func roleOf(container engine.Container) identity.Role {
	return identity.Role(container.Labels[identity.LabelRole])
}

// hadLoadBalancer reports whether the cluster has a load balancer of this provider, which was
// once provisioned.
func (p *startPass) hadLoadBalancer() bool {
	spec := p.scope.containerCluster.Spec.LoadBalancer
	return spec.Type != infrav1.LoadBalancerNone && spec.HostPort != 0
}

// findMissing finds the machines that had a container.
func (p *startPass) findMissing(machines []infrav1.ContainerMachine, existing map[string]bool) {
	for i := range machines {
		name, err := identity.ParseProviderID(machines[i].Spec.ProviderID)
		if err != nil || existing[name] || !machines[i].DeletionTimestamp.IsZero() {
			continue
		}
		p.missing = append(p.missing, fmt.Sprintf("container %s of ContainerMachine %s not found", name, machines[i].Name))
	}
}

// remedies for what is missing.
func (p *startPass) remedies() []string {
	switch {
	case len(p.missing) == 0:
	case p.isLost:
		return []string{fmt.Sprintf("no control plane is left, and the data of the cluster is lost with it: delete the cluster and create it again "+
			"(capcon down %[1]s, then capcon up %[1]s), or restore a backup of its etcd", p.scope.cluster.Name)}
	case isPausedByUser(p.scope.cluster):
		return []string{"nothing is recreated or replaced while the Cluster is paused: unset its spec.paused"}
	}
	return nil
}

func isControlPlane(machine infrav1.ContainerMachine) bool {
	_, labeled := machine.Labels[clusterv1.MachineControlPlaneLabel]
	return labeled
}

// tiers of containers, in the order in which they are stopped: what is used is stopped
// after what uses it.
func tiers(containers []engine.Container) [][]engine.Container {
	order := map[identity.Role]int{
		identity.RoleWorker: 0, identity.RoleServiceLoadBalancer: 1, identity.RoleControlPlane: 1, identity.RoleLoadBalancer: 2,
	}
	sorted := make([][]engine.Container, 3) //nolint:mnd // As in order.
	for _, container := range containers {
		if tier, known := order[roleOf(container)]; known {
			sorted[tier] = append(sorted[tier], container)
		}
	}
	return sorted
}
