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
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// ensureNetwork makes sure that the network exists and that this process can
// reach what is on it.
func (r *Reconciler) ensureNetwork(ctx context.Context, s *scope) error {
	if _, err := familiesOf(s.cluster); err != nil && !s.provisioned() {
		return reconcile.Wait{
			Condition: infrav1.NetworkReadyCondition, Reason: infrav1.AddressRangesInvalidReason, Message: "of the Cluster: " + err.Error(),
		}
	}
	if err := s.checkIPv6(); err != nil {
		return err
	}
	request := network.Request{Name: s.networkName(), Families: rangesFamilies(s.cluster)}
	subnets, err := network.ParseSubnets(s.containerCluster.Spec.Network.Subnet)
	if err == nil && !s.provisioned() {
		err = network.CheckOverlap(subnets, s.ranges())
	}
	if err != nil {
		return reconcile.Wait{Condition: infrav1.NetworkReadyCondition, Reason: infrav1.NetworkUnusableReason, Message: "spec.network: " + err.Error()}
	}
	request.Subnets = subnets
	request.Created = func(created engine.Network) {
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "NetworkCreated", "Create", "Created network %s", created.Name)
	}
	existing, err := s.findNetwork(ctx, request)
	if len(existing.Subnets) > 0 && (err == nil || s.provisioned()) {
		s.containerCluster.Status.Network = networkStatus(existing)
	}
	if err != nil {
		return s.networkError(err)
	}
	if err := s.checkRanges(existing); err != nil {
		return err
	}
	if err := r.checkHosts(ctx, s, request); err != nil {
		return err
	}
	if err := r.joinNetwork(ctx, s, existing); err != nil {
		return s.networkError(err)
	}
	s.setCondition(infrav1.NetworkReadyCondition, metav1.ConditionTrue, infrav1.NetworkReadyReason, "")
	return nil
}

func (s *scope) findNetwork(ctx context.Context, request network.Request) (engine.Network, error) {
	if s.Joint() != nil {
		return s.sharedNetwork(ctx, request)
	}
	return network.Ensure(ctx, s.Engine, request)
}

// ranges of Pods and Services of the Cluster.
func (s *scope) ranges() network.Ranges {
	return network.Ranges{Pods: s.cluster.Spec.ClusterNetwork.Pods.CIDRBlocks, Services: s.cluster.Spec.ClusterNetwork.Services.CIDRBlocks}
}

// checkRanges refuses Pods and Services with addresses of the network: no node could reach one or the other.
func (s *scope) checkRanges(existing engine.Network) error {
	err := s.ranges().CheckNetwork(existing)
	if err == nil || s.provisioned() {
		return nil
	}
	return reconcile.Wait{
		Condition: infrav1.NetworkReadyCondition, Reason: infrav1.AddressRangesInvalidReason, Message: "of the Cluster: " + err.Error(),
	}
}

// checkIPv6 refuses IPv6 where the kernel of the engine's host is known to lack it: engines say so
// in different words, and some only when a container starts.
func (s *scope) checkIPv6() error {
	host, known := s.Host.Known()
	if !known || host.Probed.IPv6 != 0 || !rangesFamilies(s.cluster).Has(network.IPv6) {
		return nil
	}
	return reconcile.Wait{
		Condition: infrav1.NetworkReadyCondition, Reason: infrav1.NetworkUnusableReason, After: reconcile.UserInterval,
		Message: "IPv6 is disabled in the kernel of the engine's host, and the Cluster has IPv6 ranges; " +
			"boot the host without ipv6.disable=1, or create the Cluster with IPv4 ranges only",
	}
}

func networkStatus(existing engine.Network) infrav1.NetworkStatus {
	var status infrav1.NetworkStatus
	for _, subnet := range existing.Subnets {
		status.Subnets = append(status.Subnets, subnet.Prefix.String())
		if reserved := network.Reserved(subnet); reserved.IsValid() {
			status.ReservedSubnets = append(status.ReservedSubnets, reserved.String())
		}
	}
	return status
}

func (s *scope) networkError(err error) error {
	failure := reconcile.Failure{
		Err:       fmt.Errorf("ensure network %q: %w", s.networkName(), err),
		Condition: infrav1.NetworkReadyCondition, Reason: infrav1.NetworkNotReadyReason, Message: err.Error(),
	}
	var unusable *network.UnusableError
	if errors.As(err, &unusable) && unusable.Lacks != "" && s.provisioned() {
		// Its name cannot be changed any more.
		failure.Message = fmt.Sprintf("network %q %s; the cluster continues with %v: for %s, create another cluster",
			unusable.Network, unusable.Reason, s.families(), unusable.Lacks)
	}
	switch {
	case errors.Is(err, engine.ErrUnavailable):
		failure.Reason, failure.Status = infrav1.EngineUnavailableReason, metav1.ConditionUnknown
	case errors.Is(err, network.ErrUnusable), errors.Is(err, engine.ErrConflict), errors.Is(err, engine.ErrInvalid):
		// Only the user can fix it; a retry at a long interval is enough.
		failure.Reason, failure.After = infrav1.NetworkUnusableReason, reconcile.UserInterval
	}
	return failure
}
