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
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

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

// ensure makes the load balancer what the Service requests, and publishes where it is.
func (b *balancers) ensure(ctx context.Context, service *corev1.Service, known *memory) (*corev1.LoadBalancerStatus, error) {
	plan, image, err := b.plan(ctx, service)
	if err != nil {
		return nil, err
	}
	// An existing one keeps its address and host ports.
	existing, err := b.inspect(ctx, identify(service))
	if err != nil {
		return nil, err
	}
	if plan.hasRelay() && existing.Exists && !existing.HasRelay() {
		plan.warn(reasonRelay, "spec.ports: the load balancer relays no UDP yet: its container is recreated with the same address and host ports; connections are closed")
	}
	b.warn(service, known, plan.warnings)
	spec := b.spec(identify(service))
	spec.Image, spec.Config = image, haproxy.Config{Family: plan.family, Frontends: plan.frontends}
	if !existing.Exists {
		// Several Services are reconciled at the same time, and must not pass the limit together.
		release, err := b.reserve(ctx, spec.Service.UID)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	spec.HostPorts = b.hostPorts(plan.frontends, existing, known.state)
	if spec.Addresses, err = b.addresses(ctx, service, existing, known.state); err != nil {
		return nil, err
	}
	state, err := b.place(ctx, spec, service.Spec.LoadBalancerIP != "", existing)
	if err != nil {
		return nil, err
	}
	// The container may run with an earlier configuration.
	if state, err = loadbalancer.Sync(ctx, b.Engine, state, spec.Config); err != nil {
		return nil, err
	}
	known.state = state
	// The status comes last: clients that read an address can connect.
	return b.publish(service, state, plan.ports)
}

// plan what the Service requests, with an image for it. What it may not request is refused before anything of it exists.
func (b *balancers) plan(ctx context.Context, service *corev1.Service) (_ plan, image string, _ error) {
	nodes, err := b.backendNodes()
	if err != nil {
		return plan{}, "", err
	}
	desired, err := newPlan(service, nodes, true)
	if err != nil {
		return plan{}, "", err
	}
	if image, err = b.image(ctx); err != nil || !desired.hasRelay() {
		return desired, image, err
	}
	withRelay, err := loadbalancer.RelayImage(ctx, b.Engine, image)
	if err != nil || withRelay != "" {
		return desired, withRelay, err
	}
	// A user may load it.
	b.changes.retryLater(identify(service))
	desired, err = newPlan(service, nodes, false)
	return desired, image, err
}

// image of the load balancer, which is present.
func (b *balancers) image(ctx context.Context) (string, error) {
	chosen, err := loadbalancer.ChooseImage(ctx, b.Engine, b.Image)
	if err != nil {
		return "", err
	}
	image, err := b.Images.Ensure(ctx, chosen)
	if err != nil {
		return "", fmt.Errorf("inspect image: %w", err)
	}
	if !image.Present {
		// Without the progress: the message is that of an Event.
		return "", fmt.Errorf("%w: %s", errImage, imagepull.Status{Reference: image.Reference, Err: image.Err}.Text())
	}
	return chosen, nil
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
	existing, err := listContainers(ctx, b.Engine, b.Recorded.Owner)
	if err != nil {
		return nil, err
	}
	taken := sets.KeySet(existing).Union(b.creating).Delete(uid)
	if taken.Len() >= int(b.MaxServices) {
		return nil, fmt.Errorf("%w: the cluster may have %d; delete other Services of type LoadBalancer, or increase spec.limits.loadBalancers of the ContainerCluster or "+
			"--max-load-balancers of its manager", errLimit, b.MaxServices)
	}
	b.creating.Insert(uid)
	return func() {
		b.creations.Lock()
		defer b.creations.Unlock()
		b.creating.Delete(uid)
	}, nil
}

// hostPorts are those that the frontends have; 0 for one that has none, or one out of the
// range. What the Service says of them is ignored: its users do not choose ports of
// the host.
func (b *balancers) hostPorts(frontends []haproxy.Frontend, existing, last loadbalancer.State) map[uint16]uint16 {
	all := map[uint16]uint16{}
	for _, frontend := range frontends {
		all[frontend.Port] = cmp.Or(existing.HostPort(frontend.Port), last.HostPort(frontend.Port))
		if !b.HostPorts.Contains(all[frontend.Port]) {
			all[frontend.Port] = 0
		}
	}
	return all
}

// addresses to pin: the one that the Service requests, or else those it had; none where it
// has none.
func (b *balancers) addresses(ctx context.Context, service *corev1.Service, existing, last loadbalancer.State) ([]netip.Addr, error) {
	if service.Spec.LoadBalancerIP != "" {
		return b.requestedAddress(ctx, service, existing)
	}
	for _, had := range [][]netip.Addr{existing.Addresses, last.Addresses} {
		if len(had) > 0 {
			return had, nil
		}
	}
	// A user of the cluster may have written the status: it is a request.
	var had []netip.Addr
	for _, address := range assigned(service) {
		if b.checkAddress(ctx, address) == nil && !slices.ContainsFunc(had, func(other netip.Addr) bool { return other.BitLen() == address.BitLen() }) {
			had = append(had, address)
		}
	}
	return had, nil
}

// requestedAddress of a Service that requests one.
func (b *balancers) requestedAddress(ctx context.Context, service *corev1.Service, existing loadbalancer.State) ([]netip.Addr, error) {
	requested := service.Spec.LoadBalancerIP
	address, err := netip.ParseAddr(requested)
	if err != nil || !familiesOf(service).Has(network.FamilyOf(address)) {
		return nil, fmt.Errorf("%w: spec.loadBalancerIP: %q is not an address of spec.ipFamilies (%s)",
			errUnsupported, requested, strings.Join(familyNames(service), ", "))
	}
	if !slices.Contains(existing.Addresses, address) {
		if err := b.checkAddress(ctx, address); err != nil {
			return nil, fmt.Errorf("spec.loadBalancerIP: %w", err)
		}
	}
	return []netip.Addr{address}, nil
}

func familyNames(service *corev1.Service) []string {
	names := make([]string, 0, len(service.Spec.IPFamilies))
	for _, family := range service.Spec.IPFamilies {
		names = append(names, string(family))
	}
	return names
}

// checkAddress refuses what a Service may not have: *network.SubnetError.
func (b *balancers) checkAddress(ctx context.Context, address netip.Addr) error {
	existing, err := b.Engine.InspectNetwork(ctx, b.Network)
	if err != nil {
		return fmt.Errorf("inspect network: %w", err)
	}
	return network.CheckStatic(existing, address)
}

// place creates or starts the container. Where another container or process has taken its
// address, or one of its host ports, meanwhile, it chooses another one for that.
func (b *balancers) place(ctx context.Context, spec loadbalancer.Spec, keepAddress bool, existing loadbalancer.State) (loadbalancer.State, error) {
	for {
		state, err := loadbalancer.Ensure(ctx, b.Engine, spec, existing)
		var conflict *engine.ConflictError
		switch {
		case errors.Is(err, loadbalancer.ErrNoHostPort):
			return state, fmt.Errorf("%w: spec.limits.hostPortRange of the ContainerCluster, in --host-port-range of its manager", err)
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
