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
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// checkMounts refuses what would break the node, or show its secrets on the
// host, before anything is done for it. Webhooks refuse the same, where they
// are asked.
func (r *Reconciler) checkMounts(_ context.Context, s *scope) error {
	if s.hasStarted() {
		return nil
	}
	var refusals []string
	for _, refused := range node.CheckMounts(s.mounts(), script.Paths()) {
		refusals = append(refusals, refused.Error())
	}
	if len(refusals) == 0 {
		return nil
	}
	return reconcile.WaitForEvent(infrav1.ContainerFailedReason, "spec.extraMounts and spec.devices: "+strings.Join(refusals, "; and "))
}

// wantedFailureDomain is where the machine is to be put, "" = anywhere.
func (s *scope) wantedFailureDomain() string {
	return cmp.Or(s.machine.Spec.FailureDomain, s.containerMachine.Annotations[infrav1.FailureDomainAnnotation])
}

// failureDomain is where the container was put: its Node has the label, and
// keeps it whatever the Machine says later. One that was adopted is where it
// is said to be.
func (s *scope) failureDomain() string {
	if s.hasStarted() {
		if domain, recorded := s.container.Labels[identity.LabelFailureDomain]; recorded {
			return domain
		}
	}
	wanted := s.wantedFailureDomain()
	switch {
	case wanted != "" || !s.IsRemote():
		return wanted
	case s.isSpread():
		return cmp.Or(s.Placement.FailureDomain, s.Name.Name)
	default:
		return s.Placement.FailureDomain
	}
}

// checkFailureDomain refuses one that the Cluster does not have, most likely
// misspelt, and one that cannot become the label of a Node: the kubelet would
// not start. A Cluster that declares none has none to compare with.
func (r *Reconciler) checkFailureDomain(_ context.Context, s *scope) error {
	domain := s.wantedFailureDomain()
	if s.hasStarted() || domain == "" {
		return nil
	}
	declared := s.cluster.Status.FailureDomains
	switch {
	case len(declared) > 0 && !slices.ContainsFunc(declared, func(d clusterv1.FailureDomain) bool { return d.Name == domain }):
		return waitForUser(infrav1.ContainerFailedReason, fmt.Sprintf(
			"failure domain %q of the Machine is not a failure domain of the Cluster (%s); use one of these, or add it to spec.failureDomains of the ContainerCluster",
			domain, failureDomainNames(declared)))
	case len(validation.IsValidLabelValue(domain)) > 0:
		return waitForUser(infrav1.ContainerFailedReason, fmt.Sprintf(
			"failure domain %q of the Machine is not a valid label value; use at most 63 letters, digits, dashes, "+
				"underscores and dots, beginning and ending with a letter or digit", domain))
	}
	return nil
}

func failureDomainNames(domains []clusterv1.FailureDomain) string {
	names := make([]string, 0, len(domains))
	for _, domain := range domains {
		names = append(names, domain.Name)
	}
	return strings.Join(names, ", ")
}

// ports that the machine publishes; those without a host port get a free one. Webhooks
// refuse an address that is not valid.
func (s *scope) ports() []engine.PortBinding {
	var ports []engine.PortBinding
	for _, mapping := range s.containerMachine.Spec.PortMappings {
		port := engine.PortBinding{
			HostPort:      uint16(mapping.HostPort),      //nolint:gosec // The API admits 1 to 65535.
			ContainerPort: uint16(mapping.ContainerPort), //nolint:gosec // The API admits 1 to 65535.
		}
		if mapping.Protocol == infrav1.PortProtocolUDP {
			port.Protocol = engine.ProtocolUDP
		}
		// The zero value is all addresses.
		address, err := netip.ParseAddr(cmp.Or(mapping.Address, infrav1.DefaultPortAddress))
		if err == nil && !address.IsUnspecified() {
			port.HostAddress = address
		}
		ports = append(ports, port)
	}
	return ports
}

func hostPortText(port engine.PortBinding) string {
	address := port.HostAddress
	if !address.IsValid() {
		address = netip.IPv4Unspecified()
	}
	return netip.AddrPortFrom(address, port.HostPort).String() + "/" + port.Protocol.Name()
}

// checkPorts refuses a host port that another machine has, before anything is created. What
// other processes have is found when the container is started.
func (r *Reconciler) checkPorts(ctx context.Context, s *scope) error {
	if s.hasStarted() {
		return nil
	}
	isOwn := func(container engine.Container) bool { return container.Name == s.containerName() }
	held, err := network.HeldPorts(ctx, s.Engine, s.ports(), isOwn)
	if err != nil {
		return engineError(err)
	}
	if len(held) == 0 {
		return nil
	}
	return waitForUser(infrav1.HostPortInUseReason, fmt.Sprintf(
		"spec.portMappings: host port %s is published by container %s; use another host port, or omit hostPort if the template has several replicas",
		hostPortText(held[0].Port), held[0].HolderText()))
}

// publishPorts sets the ports in the status. A container that does not run keeps those it had.
func (s *scope) publishPorts() {
	if len(s.container.Ports) == 0 {
		return
	}
	mappings := make([]infrav1.PortMapping, 0, len(s.container.Ports))
	for _, port := range s.container.Ports {
		mapping := infrav1.PortMapping{
			ContainerPort: int32(port.ContainerPort), HostPort: int32(port.HostPort),
			Address: netip.IPv4Unspecified().String(), Protocol: infrav1.PortProtocolTCP,
		}
		if port.HostAddress.IsValid() {
			mapping.Address = port.HostAddress.String()
		}
		if port.Protocol == engine.ProtocolUDP {
			mapping.Protocol = infrav1.PortProtocolUDP
		}
		mappings = append(mappings, mapping)
	}
	s.containerMachine.Status.PortMappings = mappings
}

// image is the one of the spec, or the one known for the Machine's version.
func (s *scope) image() (string, error) {
	if image := s.containerMachine.Spec.Image; image != "" {
		return image, nil
	}
	image, err := node.Image(s.version())
	if err != nil {
		return "", fmt.Errorf("choose node image: %w", err)
	}
	return image, nil
}

// ensureImage fetches the image of a container that is to be created.
func (r *Reconciler) ensureImage(ctx context.Context, s *scope) error {
	if s.hasStarted() {
		return nil
	}
	image, err := s.image()
	if err != nil {
		return reconcile.WaitForEvent(infrav1.VersionUnsupportedReason, err.Error()+"; set spec.image, or use a known version")
	}
	status, err := s.Images.Ensure(ctx, image)
	switch {
	case err != nil:
		return engineError(err)
	case status.Present:
		return nil
	case status.Err != nil:
		return reconcile.Wait{Reason: infrav1.ImagePullFailedReason, Message: status.Text(), After: reconcile.PullInterval}
	default:
		return reconcile.Wait{Reason: infrav1.ImagePullingReason, Message: status.Text(), After: reconcile.PullInterval}
	}
}

// engineError is the outcome where the engine answered that instead of doing its work.
func engineError(err error) error {
	failure := reconcile.Failure{Err: err, Condition: infrav1.ContainerReadyCondition, Reason: infrav1.ContainerFailedReason}
	if errors.Is(err, engine.ErrUnavailable) {
		failure.Status, failure.Reason = metav1.ConditionUnknown, infrav1.EngineUnavailableReason
	}
	return failure
}

// waitForUser is the outcome where only a user can correct why there is no container.
func waitForUser(reason, message string) error {
	return reconcile.Wait{Reason: reason, Message: message, After: reconcile.UserInterval}
}
