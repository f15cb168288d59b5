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

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/network/lan"
)

// checkHosts proves that containers on all engines of a cluster over several reach each other, before the first container of the cluster
// is created. What it left when its manager was killed is removed, and it begins again.
func (r *Reconciler) checkHosts(ctx context.Context, s *scope, request network.Request) error {
	if s.Joint() == nil || s.provisioned() {
		return nil
	}
	members, err := r.Engines.Members(s.containerCluster)
	if err != nil {
		return s.bothErrors(err)
	}
	began, err := removeProbes(ctx, s.owner(), members)
	if err != nil {
		return s.networkError(err)
	}
	if began || len(members) < 2 {
		return nil
	}
	var hosts []lan.Host
	for _, member := range members {
		image, err := r.chooseLoadBalancerImage(ctx, s, member.Engine)
		if err != nil {
			return s.bothErrors(err)
		}
		if err := ensureLoadBalancerImage(ctx, s, member.Images, image); err != nil {
			return err
		}
		hosts = append(hosts, lan.Host{Name: member.Name.Name, Engine: member.Engine, Image: image})
	}
	ctrl.LoggerFrom(ctx).Info("Checking whether containers of all engines reach each other", "network", request.Name)
	if err := lan.Check(ctx, lan.Request{Owner: s.owner(), Network: request.Name, Families: request.Families, Hosts: hosts}); err != nil {
		return s.networkError(err)
	}
	return nil
}

// removeProbes of a cluster from its engines, and report whether they have other containers of it.
func removeProbes(ctx context.Context, owner identity.Owner, members []*engines.Connection) (others bool, err error) {
	for _, member := range members {
		containers, err := member.Engine.ListContainers(ctx, owner.Labels())
		if err != nil {
			return false, fmt.Errorf("list containers: %w", err)
		}
		for _, container := range containers {
			if identity.Role(container.Labels[identity.LabelRole]) != identity.RoleProbe {
				others = true
				continue
			}
			if err := engine.Remove(ctx, member.Engine, container); err != nil {
				return false, err
			}
		}
	}
	return others, nil
}
