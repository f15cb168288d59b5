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
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// creatingInterval is how often to look for a container that the engine has not
// finished: neither engine sends an event when one is created.
const creatingInterval = 2 * time.Second

// ensureLoadBalancer makes sure that the load balancer runs, at its address
// and port.
func (r *Reconciler) ensureLoadBalancer(ctx context.Context, s *scope) error {
	if err := s.checkEndpoint(); err != nil {
		return err
	}
	if !s.hasLoadBalancer() {
		return s.waitForExternalEndpoint()
	}
	name := s.owner().LoadBalancerContainer()
	before := s.loadBalancerBefore
	if _, stopped := s.cluster.Annotations[infrav1.StoppedAnnotation]; stopped && !before.Running {
		return reconcile.WaitForEvent(infrav1.ClusterStoppedReason, "the cluster is stopped")
	}
	image, err := r.chooseLoadBalancerImage(ctx, s, s.Engine)
	if err != nil {
		return s.loadBalancerError(err)
	}
	if !before.Exists {
		if err := ensureLoadBalancerImage(ctx, s, s.Images, image); err != nil {
			return err
		}
	}
	if remaining, refused := r.backoff.Remaining(r.Clock.Now(), s.containerCluster); refused != nil && !before.Running {
		failure := s.loadBalancerError(refused)
		failure.After = remaining
		return failure
	}
	s.loadBalancer = before
	s.controlPlanes, err = r.listControlPlanes(ctx, s)
	if err != nil {
		return s.loadBalancerError(fmt.Errorf("list control planes: %w", err))
	}
	held, err := r.heldAddresses(ctx, s)
	if err != nil {
		return s.loadBalancerError(err)
	}
	hostPorts, hostAddresses := s.publishedPorts()
	s.loadBalancer, err = loadbalancer.Ensure(ctx, s.Engine, loadbalancer.Spec{
		Owner:     s.owner(),
		Image:     image,
		Network:   s.networkName(),
		Addresses: s.pinnedAddresses(), Held: held,
		HostPorts: hostPorts, HostAddresses: hostAddresses,
		Config: s.loadBalancerConfig(),
	}, before)
	if err != nil {
		r.backoff.Record(r.Clock.Now(), s.containerCluster, err)
		return s.loadBalancerError(err)
	}
	r.recordLoadBalancer(s, before)
	if s.loadBalancer.Paused {
		return reconcile.WaitForEvent(infrav1.LoadBalancerPausedReason, fmt.Sprintf("container %s is paused; unpause it", name))
	}
	if !s.loadBalancer.Running {
		// It ended, or went, right after it was started. What it has now
		// must not be pinned.
		return s.loadBalancerError(fmt.Errorf("container %s: %w", name, loadbalancer.ErrNotRunning))
	}
	return nil
}

// publishedPorts of the load balancer, and the addresses of those that are not on 127.0.0.1.
func (s *scope) publishedPorts() (hostPorts map[uint16]uint16, addresses map[uint16]netip.Addr) {
	hostPorts, addresses = map[uint16]uint16{}, map[uint16]netip.Addr{}
	if s.Joint() != nil {
		return hostPorts, addresses // It is reached at its address on the network of all hosts.
	}
	publish := func(containerPort uint16, hostPort int32, address string) {
		hostPorts[containerPort] = uint16(hostPort) //nolint:gosec // The API admits 1 to 65535.
		if parsed, err := netip.ParseAddr(address); err == nil {
			addresses[containerPort] = parsed
		}
	}
	balancer := s.containerCluster.Spec.LoadBalancer
	publish(s.frontendPort(), s.hostPort(), s.hostAddress())
	for _, mapping := range balancer.PortMappings {
		publish(uint16(mapping.ContainerPort), mapping.HostPort, mapping.Address) //nolint:gosec // The API admits 1 to 65535.
	}
	return hostPorts, addresses
}

// recordLoadBalancer emits Events for the changes of the load balancer.
func (r *Reconciler) recordLoadBalancer(s *scope, before loadbalancer.State) {
	switch after := s.loadBalancer; {
	case !before.Exists && after.Exists && s.Joint() != nil:
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "LoadBalancerCreated", "Create",
			"Created load balancer %s at %s, on ContainerEngine %s", after.Name, s.endpointAddress(), s.Name.Name)
	case !before.Exists && after.Exists:
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "LoadBalancerCreated", "Create",
			"Created load balancer %s at %s, published on %s:%d", after.Name, s.endpointAddress(),
			cmp.Or(s.hostAddress(), infrav1.DefaultPortAddress), after.HostPorts[s.frontendPort()])
	case !before.Running && after.Running:
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "LoadBalancerStarted", "Start", "Started load balancer %s", after.Name)
	}
}

func (r *Reconciler) chooseLoadBalancerImage(ctx context.Context, s *scope, images loadbalancer.ImageInspector) (string, error) {
	return loadbalancer.ChooseImage(ctx, images, cmp.Or(s.containerCluster.Spec.LoadBalancer.Image, r.LoadBalancerImage))
}

func ensureLoadBalancerImage(ctx context.Context, s *scope, images *imagepull.Tracker, image string) error {
	status, err := images.Ensure(ctx, image)
	switch {
	case err != nil:
		return s.loadBalancerError(err)
	case status.Present:
		return nil
	}
	reason := infrav1.LoadBalancerImagePullingReason
	if status.Err != nil {
		reason = infrav1.LoadBalancerImagePullFailedReason
	}
	return reconcile.Wait{Reason: reason, Message: status.Text(), After: reconcile.PullInterval}
}

// pinnedAddresses are those the load balancer must have: the endpoint's,
// where that is an address and not a name. On the engine of an object that is the host's.
func (s *scope) pinnedAddresses() []netip.Addr {
	if s.isAdvertised() {
		return nil
	}
	for _, host := range []string{s.containerCluster.Spec.ControlPlaneEndpoint.Host, s.cluster.Spec.ControlPlaneEndpoint.Host} {
		if address, err := netip.ParseAddr(host); err == nil {
			return []netip.Addr{address}
		}
	}
	return nil
}

// checkEndpoint refuses an endpoint whose family the Cluster does not have: no node could use it.
// Webhooks of this provider see neither the Cluster's endpoint nor its ranges.
func (s *scope) checkEndpoint() error {
	for _, input := range []struct{ kind, host string }{
		{"ContainerCluster", s.containerCluster.Spec.ControlPlaneEndpoint.Host}, {"Cluster", s.cluster.Spec.ControlPlaneEndpoint.Host},
	} {
		if err := network.CheckEndpoint(input.host, s.families()); err != nil {
			return reconcile.WaitForEvent(infrav1.EndpointUnsupportedReason,
				fmt.Sprintf("spec.controlPlaneEndpoint.host of the %s: %q %v", input.kind, input.host, err))
		}
	}
	return nil
}

// endpointAddress is that of the load balancer, of the primary family.
func (s *scope) endpointAddress() netip.Addr { return s.families().First(s.loadBalancer.Addresses) }

// waitForExternalEndpoint is for clusters whose control plane endpoint is external.
func (s *scope) waitForExternalEndpoint() error {
	if s.containerCluster.Spec.ControlPlaneEndpoint.Host == "" && s.cluster.Spec.ControlPlaneEndpoint.Host == "" {
		return reconcile.WaitForEvent(infrav1.EndpointMissingReason,
			"spec.loadBalancer.type is None: set spec.controlPlaneEndpoint of the Cluster or the ContainerCluster")
	}
	s.setCondition(infrav1.LoadBalancerReadyCondition, metav1.ConditionTrue, infrav1.LoadBalancerNotUsedReason, "")
	return nil
}

// publish reports the endpoint of the API servers to Cluster API, and pins what
// was chosen. Endpoint and port are what was observed of the running
// container, so that a crash before they are written loses nothing.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	spec := &s.containerCluster.Spec
	endpoint := &spec.ControlPlaneEndpoint
	advertised := s.isAdvertised()
	endpoint.Port = int32(s.endpointPort())
	endpoint.Host = cmp.Or(endpoint.Host, s.cluster.Spec.ControlPlaneEndpoint.Host)
	if s.hasLoadBalancer() {
		own := s.endpointAddress().String()
		spec.LoadBalancer.HostPort = cmp.Or(spec.LoadBalancer.HostPort, int32(s.loadBalancer.HostPorts[s.frontendPort()]))
		if advertised {
			// Nothing outside of the engine's host reaches its networks.
			own, endpoint.Port = s.Placement.AdvertiseAddress, spec.LoadBalancer.HostPort
			spec.LoadBalancer.HostAddress = s.hostAddress()
		}
		endpoint.Host = cmp.Or(endpoint.Host, own)
	}
	domains, err := r.failureDomains(ctx, s)
	if err != nil {
		return err
	}
	s.containerCluster.Status.FailureDomains = domains
	s.containerCluster.Status.Initialization.Provisioned = ptr.To(true)
	return nil
}

// loadBalancerError is the outcome of an error, and decides whether trying again can help.
func (s *scope) loadBalancerError(err error) reconcile.Failure {
	failure := reconcile.Failure{Err: err, Reason: infrav1.LoadBalancerNotReadyReason, Message: reconcile.ErrorText(err, s.containerCluster.Spec.EngineName)}
	var foreign *loadbalancer.ForeignError
	switch {
	case errors.Is(err, engine.ErrUnavailable):
		failure.Reason, failure.Status = infrav1.EngineUnavailableReason, metav1.ConditionUnknown
	case errors.As(err, &foreign):
		failure.Reason, failure.After = infrav1.ContainerNotOwnedReason, reconcile.UserInterval
	case errors.Is(err, network.ErrCreating):
		failure.After = creatingInterval
	case engine.IsTaken(err, engine.ResourceHostPort):
		failure.Reason, failure.After = infrav1.HostPortInUseReason, reconcile.UserInterval
	case engine.IsTaken(err, engine.ResourceAddress):
		failure.Reason, failure.After = infrav1.AddressInUseReason, reconcile.UserInterval
	case errors.Is(err, network.ErrUnusable):
		s.setCondition(infrav1.NetworkReadyCondition, metav1.ConditionFalse, infrav1.NetworkUnusableReason, err.Error())
		failure.After = reconcile.UserInterval
	case errors.Is(err, network.ErrExhausted):
		failure.Reason, failure.After = infrav1.SubnetExhaustedReason, reconcile.UserInterval
	}
	return failure
}
