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
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// record writes a change of spec.bootstrap, immediately: what follows the call may not
// be done, or reported, without the record.
func (r *Reconciler) record(ctx context.Context, s *scope, change func(*infrav1.MachineBootstrap)) error {
	// A copy, because the answer replaces the status that this reconcile computes.
	object := s.containerMachine.DeepCopy()
	change(&object.Spec.Bootstrap)
	if equality.Semantic.DeepEqual(object.Spec.Bootstrap, s.containerMachine.Spec.Bootstrap) {
		return nil
	}
	// With what this reconcile added to the record and is not written yet.
	base := s.containerMachine.DeepCopy()
	base.Spec.Bootstrap = s.recorded
	if err := r.Client.Patch(ctx, object, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("record bootstrap: %w", err)
	}
	s.containerMachine.Spec.Bootstrap = object.Spec.Bootstrap
	s.containerMachine.ResourceVersion = object.ResourceVersion
	// A patch that is prepared before would require the version of the object before.
	return s.preparePatch(object, r.Client)
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
	if s.containerAttempt() == record.Attempt {
		record.Recreating = nil
	}
}

// checkLostState stops the reconcile where a container is missing that cannot be
// recreated, whatever else is missing as well.
func (r *Reconciler) checkLostState(ctx context.Context, s *scope) error {
	return r.reportMissing(ctx, s, s.lostState())
}

// reportMissing reports a container that is not recreated, and why. Without a
// reason, or where the container is there, it does nothing.
func (r *Reconciler) reportMissing(ctx context.Context, s *scope, lost string) error {
	if lost == "" || s.hasStarted() {
		return nil
	}
	remedy := "delete the Machine, or let a MachineHealthCheck remediate it"
	clusterLost, err := r.isClusterLost(ctx, s)
	if err != nil {
		return err
	}
	if clusterLost {
		// A control plane that replaced it could not join, and nothing removes its member
		// from etcd.
		remedy = fmt.Sprintf("no other control plane is left, and the data of the cluster is lost with it: "+
			"delete the cluster and create it again (capcon down %[1]s, then capcon up %[1]s), or restore a backup of its etcd", s.clusterName)
	}
	s.publishStatus()
	return reconcile.WaitForEvent(infrav1.ContainerNotFoundReason, fmt.Sprintf(
		"container %s not found and not recreated, because %s; %s", s.containerName(), lost, remedy))
}

// isClusterLost reports whether the missing container was that of the last control plane.
func (r *Reconciler) isClusterLost(ctx context.Context, s *scope) (bool, error) {
	initialized := ptr.Deref(s.cluster.Status.Initialization.ControlPlaneInitialized, false)
	if !util.IsControlPlaneMachine(s.machine) || !initialized && !s.holdsNode() {
		return false, nil
	}
	others, err := r.otherControlPlanes(ctx, s)
	if err != nil || len(others) == 0 {
		return err == nil, err
	}
	containers, err := s.engines.ListContainers(ctx, s.owner().Select(map[string]string{identity.LabelRole: string(identity.RoleControlPlane)}))
	if err != nil {
		return false, engineError(fmt.Errorf("list control planes: %w", err))
	}
	return !slices.ContainsFunc(containers, func(container engine.Container) bool {
		return slices.ContainsFunc(others, func(other clusterv1.Machine) bool {
			return other.Spec.InfrastructureRef.Name == container.Labels[identity.LabelMachine]
		})
	}), nil
}

// lostState says why a missing container must not be recreated; empty where it
// may be. None of it is read from status or annotations of the ContainerMachine,
// which moves and restores lose.
func (s *scope) lostState() string {
	record := s.containerMachine.Spec.Bootstrap
	switch {
	case s.isRecreating():
		return ""
	case s.holdsNode():
		return "it held the state of a Node"
	case s.containerMachine.Spec.ProviderID != "" && record.Attempt == 0:
		return "spec.providerID names a container to adopt"
	}
	return ""
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
	return network.ParseAddresses(s.containerMachine.Spec.Bootstrap.Addresses)
}

// publish sets what Cluster API reads, and what a lost status is rebuilt from, all
// in one patch: Cluster API waits for seconds where provisioned precedes the rest.
func (r *Reconciler) publish(_ context.Context, s *scope) error {
	if s.containerMachine.Spec.ProviderID == "" {
		s.containerMachine.Spec.ProviderID = identity.ProviderID(s.container.Name)
	}
	s.recordContainer()
	s.publishStatus()
	s.publishPorts()
	return nil
}

// publishStatus sets the status of a machine whose container was started, from the
// record: the container may be missing.
func (s *scope) publishStatus() {
	addresses := clusterv1.MachineAddresses{{
		Type: clusterv1.MachineHostName, Address: s.hostName(),
	}}
	for _, address := range s.publishedAddresses() {
		addresses = append(addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: address})
	}
	s.containerMachine.Status.Addresses = addresses
	s.containerMachine.Status.FailureDomain = s.failureDomain()
	s.containerMachine.Status.Initialization.Provisioned = ptr.To(true)
}

// publishedAddresses are the recorded ones, in a cluster with IPv6 in the order of its families and
// without others: those that the Node has.
func (s *scope) publishedAddresses() []string {
	if s.cluster == nil || !s.families().Has(network.IPv6) {
		return s.containerMachine.Spec.Bootstrap.Addresses
	}
	var published []string
	for _, address := range s.families().Choose(s.recordedAddresses()) {
		published = append(published, address.String())
	}
	return published
}

// addresses are those the container was given, which it keeps while it does
// not run; a container that was adopted has those it has now.
func (s *scope) addresses() []netip.Addr {
	if given := network.Addresses(*s.container, s.networkName()); len(given) > 0 {
		return given
	}
	return s.container.Networks[s.networkName()].Addresses
}
