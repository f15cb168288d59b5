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
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// hadLoadBalancer reports whether the cluster has a load balancer of this provider, which was
// once provisioned.
func (p *startPass) hadLoadBalancer() bool {
	spec := p.scope.containerCluster.Spec.LoadBalancer
	return spec.Type != infrav1.LoadBalancerNone && spec.HostPort != 0
}

// findMissing finds the machines that had a container.
func (p *startPass) findMissing(machines []infrav1.ContainerMachine, found map[string]bool) {
	for i := range machines {
		name, err := identity.ParseProviderID(machines[i].Spec.ProviderID)
		if err != nil || found[name] || !machines[i].DeletionTimestamp.IsZero() {
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
	_, found := machine.Labels[clusterv1.MachineControlPlaneLabel]
	return found
}
