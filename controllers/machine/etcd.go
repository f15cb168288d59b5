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
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// etcdTimeout is how long a control plane waits for the removal of its member of etcd: an
// election takes seconds, a boot of all containers less than a minute, and an etcd that has
// lost its quorum never agrees. etcd is asked once also after it.
const etcdTimeout = time.Minute

// removeEtcdMember removes a control plane from etcd before its container is removed, through
// any other control plane that has etcd. The KubeadmControlPlane controller does so for the
// Machines of Nodes, while it reaches the API server; it deletes a Machine without a Node as
// if it had no member, and etcd counts the lost member as a vote: two members lose their quorum.
func (r *Reconciler) removeEtcdMember(ctx context.Context, s *scope) error {
	if !s.isControlPlaneOfLivingCluster() {
		return nil
	}
	others, err := r.Engine.ListContainers(ctx, s.owner().Select(map[string]string{identity.LabelRole: string(identity.RoleControlPlane)}))
	if err != nil {
		return engineError(fmt.Errorf("list control planes: %w", err))
	}
	others = slices.DeleteFunc(others, func(c engine.Container) bool { return s.container != nil && c.Name == s.container.Name })
	addresses := s.etcdAddresses(others)
	if len(addresses) == 0 {
		return nil
	}
	var errs []error
	for _, other := range others {
		if other.Status != engine.StatusRunning {
			errs = append(errs, fmt.Errorf("container %q is not running", other.Name))
			continue
		}
		err := node.RemoveEtcdMember(ctx, r.Engine, other.Name, addresses)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, node.ErrNoEtcd):
			errs = append(errs, fmt.Errorf("remove etcd member through container %q: %w", other.Name, err))
		}
	}
	if len(errs) == 0 || r.hasDeletedFor(s, etcdTimeout) {
		return nil
	}
	return waitToDelete(fmt.Sprintf("waiting up to %s for the removal of this machine's etcd member: %s", etcdTimeout, errors.Join(errs...)))
}

// etcdAddresses are those that the machine's member has. Those of a container that is
// missing are recorded, and may belong to another control plane by now.
func (s *scope) etcdAddresses(others []engine.Container) []netip.Addr {
	if s.container != nil {
		return network.Addresses(*s.container, s.networkName())
	}
	addresses := s.recordedAddresses()
	for _, other := range others {
		taken := network.Addresses(other, s.networkName())
		addresses = slices.DeleteFunc(addresses, func(address netip.Addr) bool { return slices.Contains(taken, address) })
	}
	return addresses
}
