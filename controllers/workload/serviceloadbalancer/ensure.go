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
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// errImage says that the image is not on the engine yet.
var errImage = errors.New("image is not present")

// errLimit says that the cluster has as many load balancers as it may have.
var errLimit = errors.New("limit of load balancers is reached")

// ensure makes the load balancer what the Service says, and publishes where it is.
func (b *balancers) ensure(ctx context.Context, service *corev1.Service) (*corev1.LoadBalancerStatus, error) {
	nodes, err := b.backendNodes()
	if err != nil {
		return nil, err
	}
	plan, err := newPlan(service, nodes)
	if err != nil {
		return nil, err
	}
	b.warn(service, plan.warnings)
	state, err := b.apply(ctx, service, plan)
	if err != nil {
		return nil, err
	}
	b.change(service.UID, func(one *memory) { one.state = state })
	balanced := status(state, plan.ports)
	return balanced, b.publish(service, balanced, formatHostPorts(state.HostPorts))
}

// backendNodes are the Nodes of now. Those that the service controller passes were listed
// before the Service was locked: a call may get older ones than the call before it.
func (b *balancers) backendNodes() ([]*corev1.Node, error) {
	all, err := b.nodes.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	var nodes []*corev1.Node
	for _, node := range all {
		if _, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]; !excluded {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// apply makes the load balancer what the plan says.
func (b *balancers) apply(ctx context.Context, service *corev1.Service, plan plan) (loadbalancer.State, error) {
	found, err := b.inspect(ctx, identify(service))
	if err != nil {
		return loadbalancer.State{}, err
	}
	chosen, err := loadbalancer.ChooseImage(ctx, b.Engine, b.Image)
	if err != nil {
		return loadbalancer.State{}, err
	}
	image, err := b.Images.Ensure(ctx, chosen)
	if err != nil {
		return loadbalancer.State{}, fmt.Errorf("inspect image: %w", err)
	}
	if !image.Present {
		// Without the progress: the message is that of an Event.
		return loadbalancer.State{}, fmt.Errorf("%w: %s", errImage, imagepull.Status{Reference: image.Reference, Err: image.Err}.Text())
	}
	spec := b.spec(identify(service))
	spec.Image = chosen
	spec.Config = haproxy.Config{Frontends: plan.frontends}
	if !found.Exists {
		release, err := b.reserve(ctx, spec.Service.UID)
		if err != nil {
			return loadbalancer.State{}, err
		}
		defer release()
	}
	before, _ := b.recall(service.UID)
	spec.HostPorts = b.hostPorts(plan, before.state, found)
	if spec.Addresses, err = b.addresses(ctx, service, before.state, found); err != nil {
		return loadbalancer.State{}, err
	}
	state, err := b.place(ctx, spec, service.Spec.LoadBalancerIP != "", found)
	if errors.Is(err, loadbalancer.ErrNoHostPort) {
		err = fmt.Errorf("%w: spec.limits.hostPortRange of the ContainerCluster, in --host-port-range of its manager", err)
	}
	if err != nil {
		return state, err
	}
	return loadbalancer.Sync(ctx, b.Engine, state, spec.Config)
}

// reserve a place for another load balancer, until its container exists: errLimit where
// the cluster has as many as it may have.
func (b *balancers) reserve(ctx context.Context, uid string) (release func(), _ error) {
	if b.MaxServices == math.MaxInt32 {
		return func() {}, nil
	}
	b.creations.Lock()
	defer b.creations.Unlock()
	// While it is locked, no container of the others can be missed: it exists, or is in creating.
	existing, err := listContainers(ctx, b.Engine, b.Owner)
	if err != nil {
		return nil, err
	}
	count := int32(0)
	for other := range existing {
		if other != uid && !b.creating[other] {
			count++
		}
	}
	for other := range b.creating {
		if other != uid {
			count++
		}
	}
	if count >= b.MaxServices {
		return nil, fmt.Errorf("%w: the cluster may have %d; delete other Services of type LoadBalancer, or increase spec.limits.loadBalancers of the ContainerCluster or "+
			"--max-load-balancers of its manager",
			errLimit, b.MaxServices)
	}
	b.creating[uid] = true
	return func() {
		b.creations.Lock()
		defer b.creations.Unlock()
		delete(b.creating, uid)
	}, nil
}

// hostPorts are those that the plan's ports have; 0 for one that has none, or one out of the
// range. What the Service says of them is ignored: its users do not choose ports of
// the host.
func (b *balancers) hostPorts(plan plan, before, found loadbalancer.State) map[uint16]uint16 {
	all := map[uint16]uint16{}
	for _, frontend := range plan.frontends {
		port := frontend.Port
		all[port] = cmp.Or(found.HostPort(port), before.HostPort(port))
		if !b.HostPorts.Contains(all[port]) {
			all[port] = 0
		}
	}
	return all
}

// addresses to pin: the one that the Service asks for, or else the one it had; none where it
// has none.
func (b *balancers) addresses(ctx context.Context, service *corev1.Service, before, found loadbalancer.State) ([]netip.Addr, error) {
	if asked := service.Spec.LoadBalancerIP; asked != "" {
		address, err := netip.ParseAddr(asked)
		if err != nil || !address.Is4() {
			return nil, fmt.Errorf("%w: spec.loadBalancerIP: %q is not an IPv4 address", errUnsupported, asked)
		}
		if address == found.Address() {
			return []netip.Addr{address}, nil
		}
		if err := b.checkAddress(ctx, address); err != nil {
			return nil, fmt.Errorf("spec.loadBalancerIP: %w", err)
		}
		return []netip.Addr{address}, nil
	}
	if had := cmp.Or(found.Address(), before.Address()); had.IsValid() {
		return []netip.Addr{had}, nil
	}
	// A user of the cluster may have written the status: it is a wish.
	if had := assigned(service); had.IsValid() && b.checkAddress(ctx, had) == nil {
		return []netip.Addr{had}, nil
	}
	return nil, nil
}

// checkAddress refuses what a Service may not have: *network.SubnetError.
func (b *balancers) checkAddress(ctx context.Context, address netip.Addr) error {
	found, err := b.Engine.InspectNetwork(ctx, b.Network)
	if err != nil {
		return fmt.Errorf("inspect network: %w", err)
	}
	return network.CheckStatic(found, address)
}

// place creates or finds the container. Where another container or process has taken its
// address, or one of its host ports, meanwhile, it chooses another one for that.
func (b *balancers) place(ctx context.Context, spec loadbalancer.Spec, keepAddress bool, found loadbalancer.State) (loadbalancer.State, error) {
	for {
		state, err := loadbalancer.Ensure(ctx, b.Engine, spec, found)
		var conflict *engine.ConflictError
		switch {
		case !errors.As(err, &conflict):
			return state, err
		case conflict.Resource == engine.ResourceAddress && !keepAddress && len(spec.Addresses) > 0:
			spec.Addresses = nil
		case conflict.Resource != engine.ResourceHostPort || !unpin(spec.HostPorts, conflict.Value):
			return state, err
		}
	}
}

// unpin the host port that is taken; false if it is not pinned.
func unpin(hostPorts map[uint16]uint16, taken string) bool {
	for port, hostPort := range hostPorts {
		if strconv.Itoa(int(hostPort)) == taken {
			hostPorts[port] = 0
			return true
		}
	}
	return false
}

// assigned is the address in the status of a Service; the zero value where it has none.
func assigned(service *corev1.Service) netip.Addr {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if address, err := netip.ParseAddr(ingress.IP); err == nil {
			return address
		}
	}
	return netip.Addr{}
}

func status(state loadbalancer.State, ports []corev1.PortStatus) *corev1.LoadBalancerStatus {
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{
		IP: state.Address().String(),
		// Nodes connect to it as other clients do, and do not bypass it.
		IPMode: ptr.To(corev1.LoadBalancerIPModeProxy),
		Ports:  ports,
	}}}
}

// publish address and host ports in the Service.
func (b *balancers) publish(service *corev1.Service, balanced *corev1.LoadBalancerStatus, hostPorts string) error {
	if helpers.LoadBalancerStatusEqual(&service.Status.LoadBalancer, balanced) && service.Annotations[HostPortsAnnotation] == hostPorts {
		return nil
	}
	published := service.DeepCopy()
	published.Status.LoadBalancer = *balanced
	if published.Annotations == nil {
		published.Annotations = map[string]string{}
	}
	published.Annotations[HostPortsAnnotation] = hostPorts
	_, err := helpers.PatchService(b.client.CoreV1(), service, published)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("publish address and host ports of Service: %w", err)
	}
	return nil
}
