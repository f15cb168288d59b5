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

package serviceloadbalancer

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// reasonFailed is that of the service controller's Event for the same.
const reasonFailed = "SyncLoadBalancerFailed"

// isFinal reports whether the next attempt would fail as this one did, until the Service is
// changed.
func isFinal(err error) bool {
	var invalid *haproxy.InvalidError
	var subnet *network.SubnetError
	var rejected *loadbalancer.RejectedError
	return errors.Is(err, errUnsupported) || errors.Is(err, engine.ErrInvalid) ||
		errors.As(err, &rejected) || errors.As(err, &invalid) || errors.As(err, &subnet)
}

// reconcile makes the load balancer what the Service requests. It reports how that ended, with
// one Event, and arranges the next attempt where it may end otherwise. It returns
// cloudprovider.ImplementedElsewhere for what it has handled.
func (b *balancers) reconcile(ctx context.Context, service *corev1.Service, known *memory) (*corev1.LoadBalancerStatus, error) {
	balanced, err := b.ensure(ctx, service, known)
	if err == nil {
		b.report(service, known, reasonFailed, "")
		return balanced, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if b.report(service, known, reasonFailed, err.Error()) {
		ctrl.LoggerFrom(b.ctx).Error(err, "Failed to ensure load balancer", "Service", service.Namespace+"/"+service.Name)
	}
	if !isFinal(err) {
		b.changes.retry(identify(service))
	}
	return nil, cloudprovider.ImplementedElsewhere
}

// warn of what the load balancer does otherwise than the Service may expect.
func (b *balancers) warn(service *corev1.Service, known *memory, warnings map[string]string) {
	for _, reason := range []string{reasonProtocol, reasonReserved, reasonNodePort, reasonSources, reasonAffinity, reasonNodes, reasonProxy, reasonRelay} {
		b.report(service, known, reason, warnings[reason])
	}
}

// report emits an Event where it is another one than the last of that reason; empty = there
// is nothing to report any more.
func (b *balancers) report(service *corev1.Service, known *memory, reason, message string) (isNew bool) {
	isNew = message != "" && known.reported[reason] != message
	known.reported[reason] = message
	if isNew {
		b.events.Event(service, corev1.EventTypeWarning, reason, message)
	}
	return isNew
}
