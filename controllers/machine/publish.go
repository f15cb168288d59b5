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

package machine

import (
	"context"
	"net/netip"

	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// publish sets what Cluster API reads, and what a lost status is rebuilt from, all
// in one patch: Cluster API waits for seconds where provisioned precedes the rest.
func (r *Reconciler) publish(_ context.Context, s *scope) error {
	if s.containerMachine.Spec.ProviderID == "" {
		s.containerMachine.Spec.ProviderID = identity.ProviderID(s.container.Name)
	}
	s.recordContainer()
	s.publishStatus()
	s.publishPorts()
	return nil
}

// publishStatus sets the status of a machine whose container was started, from the
// record: the container may be missing.
func (s *scope) publishStatus() {
	addresses := clusterv1.MachineAddresses{{
		Type: clusterv1.MachineHostName, Address: identity.HostName(s.machine.Name),
	}}
	for _, address := range s.containerMachine.Spec.Bootstrap.Addresses {
		addresses = append(addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: address})
	}
	s.containerMachine.Status.Addresses = addresses
	s.containerMachine.Status.FailureDomain = s.failureDomain()
	s.containerMachine.Status.Initialization.Provisioned = ptr.To(true)
}

// addresses are those the container was given, which it keeps while it does
// not run; a container that was adopted has those it has now.
func (s *scope) addresses() []netip.Addr {
	if given := network.Addresses(*s.container, s.networkName()); len(given) > 0 {
		return given
	}
	return s.container.Networks[s.networkName()].Addresses
}
