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
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/controllers/phase"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// lookAgain is when something that only a person can mend is looked at again:
// no event tells that a network or a mount was mended.
const lookAgain = 15 * time.Second

// observeContainer looks for the machine's container, and refuses one that is
// somebody else's. One that is gone is made again only where no Node lived in
// it: what made it a Node went with it.
func (r *Reconciler) observeContainer(ctx context.Context, s *scope) error {
	if id := s.containerMachine.Spec.ProviderID; id != "" {
		if _, err := identity.ParseProviderID(id); err != nil {
			s.wait(infrav1.ContainerFailedReason, "spec.providerID is not one of this provider: "+err.Error())
			return phase.Wait(0)
		}
	}
	if s.owner().ID == "" && s.containerMachine.Spec.ProviderID == "" {
		// Without an identity there is no name to look for.
		return nil
	}
	name := s.containerName()
	container, err := r.Engine.InspectContainer(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound) && s.isNode():
		s.wait(infrav1.ContainerMissingReason, fmt.Sprintf(
			"container %s is gone and its state with it; delete the Machine, or let a MachineHealthCheck replace it", name))
		s.containerMachine.Status.Initialization.Provisioned = ptr.To(true)
		return phase.Wait(0)
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return s.engineError(fmt.Errorf("inspect container %q: %w", name, err))
	case !s.owns(container):
		s.setContainerReady(metav1.ConditionFalse, infrav1.ContainerNotOursReason, fmt.Sprintf(
			"container %s exists and is not this machine's (it belongs to %s); remove or rename it", name, describeOwner(container.Labels)))
		return phase.Wait(lookAgain)
	}
	s.container = &container
	return nil
}

// owns says whether the container is this machine's: by its labels, or because
// spec.providerID names it and its labels do not say that it is another
// cluster's. So machines are taken over that were declared anew.
func (s *scope) owns(container engine.Container) bool {
	if s.containerMachine.Spec.ProviderID == identity.ProviderID(container.Name) {
		return s.owner().MayOwn(container.Labels)
	}
	return s.owner().Owns(container.Labels) && container.Labels[identity.LabelMachine] == s.containerMachine.Name
}

func describeOwner(labels map[string]string) string {
	if labels[identity.LabelCluster] == "" {
		return "nobody this provider knows"
	}
	return fmt.Sprintf("machine %q of cluster %s/%s, owner ID %s",
		labels[identity.LabelMachine], labels[identity.LabelNamespace], labels[identity.LabelCluster], labels[identity.LabelOwnerID])
}

// ensureContainer makes the machine's container exist.
func (r *Reconciler) ensureContainer(ctx context.Context, s *scope) error {
	if s.hasLived() {
		return nil
	}
	// One that was created and never started is what a crash left: it may
	// lack its bootstrap.
	if remaining, refused := r.Refusals.Recall(s.containerMachine); refused != nil {
		_ = s.placeError(refused)
		return phase.Wait(remaining)
	}
	s.attempt = max(1, s.currentAttempt())
	return r.createContainer(ctx, s)
}

// checkContainer says what the container does, and starts one that ended. It
// does not stop the reconcile: how the bootstrap stands can be told of every
// container there is.
func (r *Reconciler) checkContainer(ctx context.Context, s *scope) error {
	switch s.container.Status {
	case engine.StatusRunning:
		s.checkAttachment()
		s.notRunning = r.reportRestart(s)
	case engine.StatusPaused:
		s.setContainerReady(metav1.ConditionFalse, infrav1.ContainerPausedReason, fmt.Sprintf("container %s is paused; unpause it", s.container.Name))
		s.notRunning = phase.Wait(0)
	case engine.StatusExited, engine.StatusCreated:
		// Podman says "created" of every container after a boot of its host.
		s.notRunning = r.startContainer(ctx, s)
	default:
		s.setContainerReady(metav1.ConditionFalse, infrav1.ContainerStoppedReason, fmt.Sprintf("container %s is %s", s.container.Name, s.container.Status))
		s.notRunning = phase.Wait(time.Second)
	}
	return nil
}

// checkAttachment: a container that was taken off its network still runs, and
// is of no use.
func (s *scope) checkAttachment() {
	endpoint, attached := s.container.Networks[s.networkName()]
	if !attached || len(endpoint.Addresses) == 0 {
		s.setContainerReady(metav1.ConditionFalse, infrav1.ContainerDisconnectedReason,
			fmt.Sprintf("container %s is not on network %s; connect it with its address", s.container.Name, s.networkName()))
		return
	}
	for _, address := range network.Addresses(*s.container, s.networkName()) {
		if !slices.Contains(endpoint.Addresses, address) {
			s.setContainerReady(metav1.ConditionFalse, infrav1.ContainerDisconnectedReason,
				fmt.Sprintf("container %s has lost its address %s on network %s", s.container.Name, address, s.networkName()))
			return
		}
	}
	s.setContainerReady(metav1.ConditionTrue, infrav1.ContainerRunningReason, "")
}

// reportRestart tells of a container that ended and that the engine itself
// started again before anybody looked. It returns when that is over; nil where
// there was no such end.
func (r *Reconciler) reportRestart(s *scope) error {
	death, remaining := r.Deaths.Recent(s.container.ID)
	if remaining == 0 {
		return nil
	}
	message := fmt.Sprintf("container %s %s and was started again", s.container.Name, death)
	s.setContainerReady(metav1.ConditionFalse, infrav1.ContainerRestartedReason, message)
	r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeWarning, "ContainerRestarted", "Restart", "The %s", message)
	return phase.Wait(remaining)
}

// createContainer creates the container with its bootstrap inside and starts
// it. From then on the node needs nobody.
func (r *Reconciler) createContainer(ctx context.Context, s *scope) error {
	image, err := s.image()
	if err != nil {
		return err
	}
	facts, err := r.Host.Observe(ctx, image, s.networkName())
	if err != nil {
		return s.engineError(err)
	}
	if refused := facts.Probed.PrivilegedError; refused != nil {
		return s.engineError(fmt.Errorf("run a privileged container: %w", refused))
	}
	archives, err := s.archives(facts.Node)
	if err != nil {
		return s.engineError(err)
	}
	spec := node.Spec(s.nodeMachine(image), facts.Node)
	container, err := network.Place(ctx, r.Engine, network.Placement{
		Spec:      spec,
		Network:   s.networkName(),
		Addresses: s.keepAddresses(),
		Prepare: func(ctx context.Context, _ []netip.Addr) error {
			for _, archive := range archives {
				if err := r.Engine.Upload(ctx, spec.Name, bytes.NewReader(archive)); err != nil {
					return fmt.Errorf("upload bootstrap: %w", err)
				}
			}
			return nil
		},
	})
	if err != nil {
		err = fmt.Errorf("create container %q: %w", spec.Name, err)
		r.Refusals.Keep(s.containerMachine, err, lookAgain)
		return s.placeError(err)
	}
	s.container = &container
	r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeNormal, "ContainerCreated", "Create",
		"Created container %s from image %s, attempt %d", container.Name, image, s.attempt)
	return nil
}

// keepAddresses are those of a container that is made anew.
func (s *scope) keepAddresses() []netip.Addr {
	if s.container == nil || s.attempt == 1 {
		return nil
	}
	return network.Addresses(*s.container, s.networkName())
}

func (s *scope) nodeMachine(image string) node.Machine {
	labels := s.owner().ContainerLabels(s.role(), s.containerMachine.Name)
	labels[identity.LabelAttempt] = strconv.Itoa(s.attempt)
	labels[identity.LabelFailureDomain] = s.failureDomain()
	return node.Machine{
		Container: s.containerName(),
		Hostname:  identity.HostName(s.machine.Name),
		Image:     image,
		Labels:    labels,
		Mounts:    s.mounts(),
	}
}

// archives are what is uploaded before the first start.
func (s *scope) archives(host node.Host) ([][]byte, error) {
	// An unknown version is the user's own image: taken as current.
	minor, err := node.Minor(s.version())
	if err != nil {
		minor = 0
	}
	bootstrapping, err := bootstrap.Archive(bootstrap.Input{
		Config:   s.config,
		Instance: s.instance(),
		KubeletFlags: node.KubeletFlags(node.Kubelet{
			ProviderID:      identity.ProviderID(s.containerName()),
			Zone:            s.failureDomain(),
			KubernetesMinor: minor,
		}, host),
	})
	if err != nil {
		return nil, fmt.Errorf("pack bootstrap: %w", err)
	}
	adaptation, err := node.Archive(host)
	if err != nil {
		return nil, fmt.Errorf("pack adaptation to the host: %w", err)
	}
	return [][]byte{bootstrapping, adaptation}, nil
}

// placeError reports why there is no container, and decides whether trying
// again at once can help.
func (s *scope) placeError(err error) error {
	reason, status, result := infrav1.ContainerFailedReason, metav1.ConditionFalse, err
	switch {
	case errors.Is(err, engine.ErrUnavailable):
		reason, status = infrav1.EngineUnavailableReason, metav1.ConditionUnknown
	case errors.Is(err, network.ErrExhausted):
		reason, result = infrav1.SubnetExhaustedReason, phase.Wait(lookAgain)
	case engine.IsTaken(err, engine.ResourceName):
		reason, result = infrav1.ContainerNotOursReason, phase.Wait(lookAgain)
	case errors.Is(err, engine.ErrInvalid):
		// Such as an extraMount whose path does not exist.
		result = phase.Wait(lookAgain)
	}
	s.setContainerReady(status, reason, err.Error())
	s.setBootstrapCompleted(metav1.ConditionFalse, infrav1.WaitingForContainerReason, "")
	return result
}
