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

	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// connectionInterval is how often the end of a connection is checked for. Nothing reports it;
// the ClusterCache ends it after five failed probes, ten seconds apart.
const connectionInterval = 2 * time.Second

// waitForDisconnect delays a kubeadm init while this manager is connected to the cluster of an
// earlier one. The new cluster has the same endpoint and the same CA: watches continue in it
// without noticing, caches keep the objects of the earlier one, and controllers that
// read them, such as that of ClusterResourceSets, find objects that do not exist. Other managers
// probe the same endpoint in the same way.
func (r *Reconciler) waitForDisconnect(ctx context.Context, s *scope) error {
	if s.hasStarted() || s.config.KubeadmOperation() != userdata.KubeadmInit {
		return nil
	}
	_, err := r.ClusterCache.GetClient(ctx, client.ObjectKeyFromObject(s.cluster))
	switch {
	case errors.Is(err, clustercache.ErrClusterNotConnected):
		return nil
	case err != nil:
		return fmt.Errorf("get client of the workload cluster: %w", err)
	}
	return reconcile.Wait{
		Reason: infrav1.ContainerCreatingReason, Message: "waiting for the connection to the API server of an earlier container to end",
		After: connectionInterval,
	}
}
