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
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	nodes "github.com/capi-samples/cluster-api-provider-container/controllers/node"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

const (
	// creatingInterval is the interval for a call that the engine has not finished:
	// neither engine sends an event when a container is created.
	creatingInterval = 2 * time.Second
)

// observeContainer looks up the machine's container, and refuses one that another
// object owns.
func (r *Reconciler) observeContainer(ctx context.Context, s *scope) error {
	if id := s.containerMachine.Spec.ProviderID; id != "" {
		if _, err := identity.ParseProviderID(id); err != nil {
			return reconcile.WaitForEvent(infrav1.ContainerFailedReason, "spec.providerID is not a provider ID of this provider: "+err.Error())
		}
	}
	if s.owner().ID == "" && s.containerMachine.Spec.ProviderID == "" {
		// Without an identity there is no name to look for.
		return nil
	}
	name := s.containerName()
	container, err := s.Engine.InspectContainer(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return engineError(engine.Failed("inspect", name, err))
	}
	owner, err := r.otherOwner(ctx, s, container)
	if err != nil {
		return err
	}
	if owner != "" {
		return reconcile.Wait{Condition: infrav1.ContainerReadyCondition, Reason: infrav1.ContainerNotOwnedReason, Message: fmt.Sprintf(
			"container %s already exists and is not owned by this ContainerMachine (owner: %s); remove or rename it", name, owner), After: reconcile.UserInterval}
	}
	s.container = &container
	return nil
}

// ensureContainer creates and starts the machine's container, or continues a
// creation that was interrupted before the start.
func (r *Reconciler) ensureContainer(ctx context.Context, s *scope) error {
	if s.hasStarted() {
		return nil
	}
	if s.isStopped() {
		return reconcile.WaitForEvent(infrav1.ClusterStoppedReason, "the cluster is stopped")
	}
	if remaining, refused := r.backoff.Remaining(r.Clock.Now(), s.containerMachine); refused != nil {
		failure := s.placeFailure(refused)
		failure.After = remaining
		return failure
	}
	return r.createContainer(ctx, s)
}

// superviseContainer reports what the container does, starts one that exited, and
// observes the bootstrap: its progress is known of every container, running or not.
func (r *Reconciler) superviseContainer(ctx context.Context, s *scope) error {
	state := r.containerState(s)
	s.setContainerState(state)
	if state.reason == infrav1.ContainerRestartedReason {
		r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeWarning, "ContainerRestarted", "Restart", "The %s", state.message)
	}
	var outcome error
	switch state.next {
	case nextStart:
		outcome = r.startContainer(ctx, s, state)
	case nextWait:
		outcome = reconcile.Wait{After: state.requeueAfter}
	case nextBootstrap:
	}
	return reconcile.Join(outcome, r.observeBootstrap(ctx, s, state.next))
}

// containerState of the container as it was observed last.
func (r *Reconciler) containerState(s *scope) containerState {
	_, maintenance := s.containerMachine.Annotations[infrav1.MaintenanceAnnotation]
	input := stateInput{
		network: s.networkName(), maintenance: maintenance, stopped: s.isStopped(), loops: r.Exits.IsCrashLooping(s.container.ID),
	}
	if s.container.Status == engine.StatusRunning {
		// The first question begins the time for which an exit is reported.
		input.exit, input.reported = r.Exits.Recent(s.container.ID)
	}
	return stateOf(*s.container, input)
}

// readRegistries reads the configuration of registries that a container is created with.
// Invalid credentials are refused before anything is created.
func (r *Reconciler) readRegistries(ctx context.Context, s *scope) (err error) {
	if s.hasStarted() || s.containerCluster == nil {
		return nil
	}
	s.registryFiles, err = r.Nodes.RegistryFiles(ctx, s.containerCluster)
	if invalid := new(nodes.CredentialsError); errors.As(err, &invalid) {
		return waitForUser(infrav1.RegistryCredentialsInvalidReason, invalid.Error())
	}
	return err
}

// createContainer plans the container and acts on the plan.
func (r *Reconciler) createContainer(ctx context.Context, s *scope) error {
	image, err := s.image()
	if err != nil {
		return err
	}
	facts, err := s.Host.Observe(ctx, image, s.networkName())
	if err != nil {
		return engineError(err)
	}
	plan, err := s.plan(image, facts)
	if err != nil {
		return err
	}
	if plan.held, err = r.heldAddresses(ctx, s); err != nil {
		return err
	}
	return r.create(ctx, s, plan)
}

// create the container with its bootstrap data inside and start it. From then on the node
// bootstraps without the controller.
func (r *Reconciler) create(ctx context.Context, s *scope, plan plan) error {
	if err := r.resetResourceSets(ctx, s); err != nil {
		return err
	}
	if plan.machine.Volume != "" {
		if _, err := clustervolume.Ensure(ctx, s.Engine, s.owner()); err != nil {
			return volumeFailure(err)
		}
	}
	placement := network.Placement{
		Network:   plan.network,
		Addresses: plan.addresses,
		Held:      plan.held,
		Prepare: func(ctx context.Context, addresses []netip.Addr) error {
			archive, err := plan.archive(addresses)
			if err != nil {
				return err
			}
			if err := s.Engine.Upload(ctx, plan.machine.Container, bytes.NewReader(archive)); err != nil {
				return fmt.Errorf("upload bootstrap: %w", err)
			}
			return nodes.UploadRegistries(ctx, s.Engine, plan.machine.Container, plan.registries)
		},
	}
	continued := s.container != nil
	var container engine.Container
	var err error
	for _, ports := range plan.ports {
		placement.Spec = plan.spec(ports)
		if container, err = s.place(ctx, placement); !engine.IsTaken(err, engine.ResourceHostPort) {
			break
		}
	}
	if err != nil {
		err = engine.Failed("create", plan.machine.Container, err)
		if !errors.Is(err, network.ErrCreating) {
			r.backoff.Record(r.Clock.Now(), s.containerMachine, err)
		}
		return s.placeFailure(err)
	}
	s.container = &container
	if !continued {
		r.Nodes.RecordRegistries(client.ObjectKeyFromObject(s.containerMachine), container.ID, plan.registries)
	}
	r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeNormal, "ContainerCreated", "Create",
		"Created container %s from image %s, attempt %d", container.Name, plan.machine.Image, s.attempt())
	return nil
}

// heldAddresses are those that containers on engines that are lost may have; none for a cluster on one engine.
func (r *Reconciler) heldAddresses(ctx context.Context, s *scope) (network.Holders, error) {
	if !s.isSpread() {
		return nil, nil
	}
	return placement.HeldAddresses(ctx, r.Client, s.networkName(), s.containerMachine)
}

// place the container, at another address where the one it had is taken: nothing refers to
// the address of a machine that has not become a Node.
func (s *scope) place(ctx context.Context, placement network.Placement) (engine.Container, error) {
	container, err := network.Place(ctx, s.engines, placement)
	if engine.IsTaken(err, engine.ResourceAddress) && len(placement.Addresses) > 0 {
		placement.Addresses = nil
		container, err = network.Place(ctx, s.engines, placement)
	}
	return container, err
}

// volumeFailure says why there is no volume for the container.
func volumeFailure(err error) error {
	if foreign := new(clustervolume.NotOwnedError); errors.As(err, &foreign) {
		return waitForUser(infrav1.ContainerFailedReason, foreign.Error())
	}
	return engineError(err)
}

// placeFailure says why there is no container, and when creating it again can help.
func (s *scope) placeFailure(err error) reconcile.Failure {
	failure := reconcile.Failure{Err: err, Reason: infrav1.ContainerFailedReason, Message: reconcile.ErrorText(err, s.Name.Name)}
	switch {
	case errors.Is(err, engine.ErrUnavailable):
		failure.Reason, failure.Status = infrav1.EngineUnavailableReason, metav1.ConditionUnknown
	case errors.Is(err, network.ErrCreating):
		failure.Reason, failure.After = infrav1.ContainerCreatingReason, creatingInterval
	case errors.Is(err, network.ErrExhausted):
		failure.Reason, failure.After = infrav1.SubnetExhaustedReason, reconcile.UserInterval
	case engine.IsTaken(err, engine.ResourceHostPort):
		failure.Reason, failure.After = infrav1.HostPortInUseReason, reconcile.UserInterval
	case engine.IsTaken(err, engine.ResourceName):
		failure.Reason, failure.After = infrav1.ContainerNotOwnedReason, reconcile.UserInterval
	case errors.Is(err, engine.ErrInvalid), errors.Is(err, network.ErrUnusable):
		// Such as an extraMount whose path does not exist.
		failure.After = reconcile.UserInterval
	}
	return failure
}

// sendFailure sends an Event when the machine fails for good, which it reports in its Ready
// condition from then on.
func (r *Reconciler) sendFailure(s *scope) {
	// Without conditions where the object is gone.
	reason := conditions.GetReason(s.containerMachine, infrav1.MachineReadyCondition)
	before := meta.FindStatusCondition(s.conditions, infrav1.MachineReadyCondition)
	if before != nil && before.Reason == reason {
		return
	}
	switch reason {
	case infrav1.ContainerNotFoundReason, infrav1.BootstrapFailedReason, infrav1.BootstrapTimeoutReason, infrav1.VersionUnsupportedReason:
		message := conditions.GetMessage(s.containerMachine, infrav1.MachineReadyCondition)
		r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
	}
}
