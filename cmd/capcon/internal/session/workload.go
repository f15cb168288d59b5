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

package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
)

// QueryTimeout bounds reading what one cluster has.
const QueryTimeout = 10 * time.Second

// Workload returns a client of the API server of a cluster.
func (m *ManagementPlane) Workload(ctx context.Context, name string) (client.WithWatch, error) {
	kubeconfig, err := management.Kubeconfig(ctx, m.Client, management.Namespace, name)
	if err != nil {
		return nil, err
	}
	return m.NewClient(kubeconfig)
}

// WithVolumes adds to a plan the volumes that are lost by it.
func (m *ManagementPlane) WithVolumes(ctx context.Context, plan update.Plan) (update.Plan, error) {
	volumes, nodes, err := m.Volumes(ctx, plan.Cluster)
	if err != nil {
		return plan.WithUnknownVolumes("the cluster's API server cannot be asked: " + management.OneLine(err.Error())), ctx.Err()
	}
	return plan.WithVolumes(volumes, nodes), nil
}

// Volumes returns the volumes and nodes of a workload cluster.
func (m *ManagementPlane) Volumes(ctx context.Context, name string) ([]corev1.PersistentVolume, []corev1.Node, error) {
	c, err := m.Workload(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	volumes, nodes := &corev1.PersistentVolumeList{}, &corev1.NodeList{}
	if err := errors.Join(c.List(ctx, volumes), c.List(ctx, nodes)); err != nil {
		return nil, nil, fmt.Errorf("list PersistentVolumes and Nodes: %w", err)
	}
	return volumes.Items, nodes.Items, nil
}
