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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// Managed returns the ContainerCluster of a Cluster, and whose containers are where. It
// returns nil where this manager does not reconcile it: another provider's, one that the
// filter does not select, that is externally managed or moved, or that has no owner ID yet.
func Managed(ctx context.Context, c client.Reader, cluster *clusterv1.Cluster, watchFilter string) (*infrav1.ContainerCluster, EngineRecord, error) {
	existing, err := Get(ctx, c, cluster)
	if err != nil || existing == nil {
		return nil, EngineRecord{}, err
	}
	if !reconcile.Selected(existing, watchFilter) || annotations.IsExternallyManaged(existing) || reconcile.MovedAway(existing) || existing.OwnerID() == "" {
		ctrl.LoggerFrom(ctx).V(4).Info("ContainerCluster is not reconciled by this manager")
		return nil, EngineRecord{}, nil
	}
	return existing, RecordOf(existing, cluster.Name), nil
}

// Get returns the ContainerCluster of a Cluster; nil where there is none.
func Get(ctx context.Context, c client.Reader, cluster *clusterv1.Cluster) (*infrav1.ContainerCluster, error) {
	ref := cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupVersion.Group || ref.Kind != "ContainerCluster" {
		return nil, nil
	}
	existing := &infrav1.ContainerCluster{}
	err := c.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, existing)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get ContainerCluster: %w", err)
	}
	return existing, nil
}
