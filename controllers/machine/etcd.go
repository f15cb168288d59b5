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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/phase"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// etcdTimeout is how long a control plane waits for the removal of its member of etcd: an
// election takes seconds, and an etcd that has lost its quorum never agrees.
const etcdTimeout = time.Minute

// removeEtcdMember removes a control plane that never became a Node from etcd, before its
// container is removed. The KubeadmControlPlane controller finds a member by the Machine's
// Node, and deletes a Machine without one as if it had no member. Where the bootstrap ended
// between the two, etcd counts the lost member as a vote: two members lose their quorum.
func (r *Reconciler) removeEtcdMember(ctx context.Context, s *scope) error {
	if s.container == nil || !s.isControlPlaneOfLivingCluster() || s.isNode() || r.hasDeletedFor(s, etcdTimeout) {
		return nil
	}
	addresses := network.Addresses(*s.container, s.networkName())
	others, err := r.Engine.ListContainers(ctx, s.owner().Select(map[string]string{identity.LabelRole: string(identity.RoleControlPlane)}))
	if err != nil {
		return s.engineError(fmt.Errorf("list control planes: %w", err))
	}
	var errs []error
	for _, other := range others {
		if other.Status != engine.StatusRunning || other.Name == s.container.Name {
			continue
		}
		err := node.RemoveEtcdMember(ctx, r.Engine, other.Name, addresses)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("remove etcd member through container %q: %w", other.Name, err))
	}
	if len(errs) == 0 {
		return nil
	}
	s.setContainerReady(metav1.ConditionFalse, infrav1.DeletingReason,
		fmt.Sprintf("waiting up to %s for the removal of this machine's etcd member: %s", etcdTimeout, errors.Join(errs...)))
	return phase.RequeueAfter(releaseInterval)
}
