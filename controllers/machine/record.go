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
	"fmt"
	"net/netip"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/phase"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// record writes a change of spec.bootstrap, at once: what follows the call may not
// be done, or reported, without the record.
func (r *Reconciler) record(ctx context.Context, s *scope, change func(*infrav1.MachineBootstrap)) error {
	// A copy, because the answer replaces the status that this reconcile computes.
	object := s.containerMachine.DeepCopy()
	change(&object.Spec.Bootstrap)
	if equality.Semantic.DeepEqual(object.Spec.Bootstrap, s.containerMachine.Spec.Bootstrap) {
		return nil
	}
	// The whole record, because what this reconcile added to it is not written yet.
	base := s.containerMachine.DeepCopy()
	base.Spec.Bootstrap = infrav1.MachineBootstrap{}
	if err := r.Client.Patch(ctx, object, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("record bootstrap: %w", err)
	}
	s.containerMachine.Spec.Bootstrap = object.Spec.Bootstrap
	s.containerMachine.ResourceVersion = object.ResourceVersion
	return nil
}

// recordContainer sets what a container that replaces the observed one needs. It
// is written together with the provider ID: a provider ID without a record is one
// that a user or another controller set, to adopt a container.
func (s *scope) recordContainer() {
	record := &s.containerMachine.Spec.Bootstrap
	record.Attempt = max(record.Attempt, s.containerAttempt())
	record.Addresses = nil
	for _, address := range s.addresses() {
		record.Addresses = append(record.Addresses, address.String())
	}
	if s.isNode() {
		record.Completed = ptr.To(true)
	}
}

// checkLostState stops the reconcile where a container is missing that cannot be
// recreated, whatever else is missing as well.
func (r *Reconciler) checkLostState(_ context.Context, s *scope) error {
	return s.reportMissing(s.lostState())
}

// checkRepeatable is checkLostState for what the bootstrap data says.
func (r *Reconciler) checkRepeatable(_ context.Context, s *scope) error {
	return s.reportMissing(s.unrepeatable())
}

// reportMissing reports a container that is not recreated, and why. Without a
// reason, or where the container is there, it does nothing.
func (s *scope) reportMissing(lost string) error {
	if lost == "" || s.hasStarted() {
		return nil
	}
	s.wait(infrav1.ContainerNotFoundReason, fmt.Sprintf(
		"container %s not found and not recreated, because %s; delete the Machine, or let a MachineHealthCheck remediate it",
		s.containerName(), lost))
	s.publishStatus()
	return phase.RequeueAfter(0)
}

// lostState says why a missing container must not be recreated; empty where it
// may be. None of it is read from status or annotations of the ContainerMachine,
// which moves and restores lose.
func (s *scope) lostState() string {
	record := s.containerMachine.Spec.Bootstrap
	switch {
	case s.isNode() || ptr.Deref(record.Completed, false):
		return "it held the state of a Node"
	case s.containerMachine.Spec.ProviderID != "" && record.Attempt == 0:
		return "spec.providerID names a container to adopt"
	}
	return ""
}

// unrepeatable is lostState for what only the bootstrap data says.
func (s *scope) unrepeatable() string {
	operation := s.config.KubeadmOperation()
	switch {
	case operation == bootstrap.KubeadmInit && ptr.Deref(s.cluster.Status.Initialization.ControlPlaneInitialized, false):
		return "the control plane of the Cluster is initialized, and kubeadm init would create an empty one"
	case s.containerMachine.Spec.Bootstrap.Attempt > 0 && !s.repeatable():
		return "its bootstrap has started and is not repeatable"
	}
	return ""
}

// repeatable says whether a bootstrap that began and did not complete may run
// again: kubeadm init and the join of a worker leave nothing behind. The join of a
// control plane may have left a member in etcd, which only the replacement of the
// whole Machine removes.
func (s *scope) repeatable() bool {
	operation := s.config.KubeadmOperation()
	return (operation == bootstrap.KubeadmInit || operation == bootstrap.KubeadmJoinWorker) && s.lostState() == ""
}

// mayRepeat reports whether a bootstrap that was interrupted may run again. A kubeadm init
// that has not ended may, although its Node has registered: no other control plane can
// replace this one, and no other controller completes the cluster.
func (s *scope) mayRepeat(result bootstrap.Result) bool {
	if s.config.KubeadmOperation() == bootstrap.KubeadmInit && s.isNode() {
		return !result.KubernetesUp
	}
	return s.repeatable()
}

// containerAttempt is the one the observed container was created for: 0 without a
// container, 1 where its label is damaged.
func (s *scope) containerAttempt() int32 {
	if s.container == nil {
		return 0
	}
	attempt, err := strconv.ParseInt(s.container.Labels[identity.LabelAttempt], 10, 32)
	if err != nil {
		return 1
	}
	return int32(attempt)
}

// nextAttempt follows an interrupted one. A record that is ahead of the container
// is what a crash left before the container was removed.
func (s *scope) nextAttempt() int32 {
	return max(s.containerAttempt()+1, s.containerMachine.Spec.Bootstrap.Attempt)
}

// attempt of the bootstrap that a container to be created is for.
func (s *scope) attempt() int32 {
	return max(1, s.containerAttempt(), s.containerMachine.Spec.Bootstrap.Attempt)
}

// recordedAddresses are those of the container that one to be created replaces.
func (s *scope) recordedAddresses() []netip.Addr {
	var addresses []netip.Addr
	for _, text := range s.containerMachine.Spec.Bootstrap.Addresses {
		if address, err := netip.ParseAddr(text); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses
}
