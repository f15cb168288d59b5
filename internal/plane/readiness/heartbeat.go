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

package readiness

import (
	"context"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// The lease by which the manager says that it runs. Its holder is made new at
// each start; its renewTime is never older than LeaseDuration while the
// manager runs.
const (
	LeaseNamespace = metav1.NamespaceSystem
	LeaseName      = "capcon-plane"
	// LeaseVersionAnnotation is the version of the manager that holds the
	// lease.
	LeaseVersionAnnotation = "capcon.cluster.x-k8s.io/version"
	// LeaseDuration is the time after which a lease that was not renewed
	// says that the manager is gone.
	LeaseDuration = 30 * time.Second
	// leaseRenewal leaves room for two renewals that do not come about.
	leaseRenewal = LeaseDuration / 3
)

// Heartbeat renews the lease, from the moment the webhooks are served and the
// controllers start. It is a runnable of controller-runtime's manager.
type Heartbeat struct {
	// Client that reads Leases from the API server, not from a cache.
	Client client.Client
	// Version is published in the lease. May be empty.
	Version string
}

// NeedLeaderElection puts the heartbeat in the group of the controllers, which
// starts after webhooks and caches.
func (h *Heartbeat) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. An error of the API server is logged and
// tried again: the supervisor may be restarting it.
func (h *Heartbeat) Start(ctx context.Context) error {
	holder := fmt.Sprintf("%s-%d", time.Now().UTC().Format("20060102T150405.000"), os.Getpid())
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := h.renew(ctx, holder, time.Now()); err != nil && ctx.Err() == nil {
			ctrl.Log.WithName("heartbeat").Error(err, "Failed to renew Lease")
		}
	}, leaseRenewal)
	return nil
}

func (h *Heartbeat) renew(ctx context.Context, holder string, now time.Time) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: LeaseNamespace, Name: LeaseName}}
	_, err := controllerutil.CreateOrUpdate(ctx, h.Client, lease, func() error {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, LeaseVersionAnnotation, h.Version)
		lease.Spec.LeaseDurationSeconds = ptr.To(int32(LeaseDuration.Seconds()))
		lease.Spec.RenewTime = &metav1.MicroTime{Time: now}
		if ptr.Deref(lease.Spec.HolderIdentity, "") != holder {
			lease.Spec.HolderIdentity = &holder
			lease.Spec.AcquireTime = &metav1.MicroTime{Time: now}
		}
		return nil
	})
	return err //nolint:wrapcheck // Its only caller logs it.
}
