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
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/controllers/clustercache"

	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// leasesTimeout bounds the requests to an API server that may have lost its etcd.
const leasesTimeout = 5 * time.Second

// releaseLeases releases the Leases of kube-controller-manager and kube-scheduler that a
// removed control plane holds. It was killed after it left etcd and could not release them
// itself. Without this, no other one leads for 15 seconds, the default duration of a Lease:
// Pods that are evicted are not replaced, Services keep endpoints that are gone, and no
// kubelet joins. A Lease that is not released expires, so that an error is logged only.
func (r *Reconciler) releaseLeases(ctx context.Context, s *scope) error {
	if !s.isControlPlaneOfLivingCluster() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leasesTimeout)
	defer cancel()
	workload, err := r.ClusterCache.GetUncachedClient(ctx, client.ObjectKeyFromObject(s.cluster))
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return nil
	}
	if err == nil {
		// The identity of a process is the name of its host and a random part.
		host := identity.HostName(s.machine.Name) + "_"
		err = errors.Join(releaseLease(ctx, workload, "kube-controller-manager", host), releaseLease(ctx, workload, "kube-scheduler", host))
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Failed to release Leases of the removed control plane; waiting for their expiry", "reason", err.Error())
	}
	return nil
}

// releaseLease as client-go's leader election does, if a process of the host holds it.
func releaseLease(ctx context.Context, workload client.Client, name, host string) error {
	lease := &coordinationv1.Lease{}
	if err := workload.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: name}, lease); err != nil {
		return fmt.Errorf("get Lease: %w", err)
	}
	if !strings.HasPrefix(ptr.Deref(lease.Spec.HolderIdentity, ""), host) {
		return nil
	}
	original := lease.DeepCopy()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To(""), ptr.To[int32](1)
	// Another process may have acquired it since.
	if err := workload.Patch(ctx, lease, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("release Lease %q: %w", name, err)
	}
	return nil
}
