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

package network

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// maxAttempts bounds how often Place chooses again. Each attempt either met
// another one at the same address, or an address that only the engine knew to be
// taken.
const maxAttempts = 32

// cleanupTimeout bounds the removal of a container that could not be placed,
// which also happens when the caller has canceled.
const cleanupTimeout = 30 * time.Second

// placer is one call of Place.
type placer struct {
	engine    Engine
	placement Placement
	// refused are addresses that could not be had although they seemed free.
	refused  Holders
	attempts int
	// chosen are the addresses of the last attempt that were not requested.
	chosen []netip.Addr
}

// mayRetry reports whether other addresses than those chosen would do.
func (p *placer) mayRetry(err error) bool {
	var conflict *engine.ConflictError
	if !errors.As(err, &conflict) || conflict.Resource != engine.ResourceAddress || len(p.chosen) == 0 {
		return false
	}
	if len(p.placement.Addresses) > 0 {
		// It may be a requested address that is taken: then no other helps.
		address, err := netip.ParseAddr(conflict.Value)
		if err != nil || slices.Contains(p.placement.Addresses, address) {
			return false
		}
	}
	for _, address := range p.chosen {
		p.refused[address] = "another container"
	}
	p.attempts++
	return p.attempts < maxAttempts
}

// attempt takes one container to where it runs. Where the engine refused it, it is
// removed; where the attempt was interrupted, it stays for the next Place.
func (p *placer) attempt(ctx context.Context) (engine.Container, error) {
	id, addresses, err := p.claim(ctx)
	if err != nil {
		return engine.Container{}, err
	}
	if err := p.start(ctx, id, addresses); err != nil {
		if interrupted(err) {
			return engine.Container{}, err
		}
		return engine.Container{}, errors.Join(err, p.remove(ctx, id))
	}
	// It runs from here on, and what it runs may already be part of a cluster: no error
	// is a reason to remove it.
	container, err := p.engine.InspectContainer(ctx, id)
	if err != nil {
		return engine.Container{}, fmt.Errorf("inspect: %w", err)
	}
	return container, nil
}

// interrupted says that the engine did not answer a call, or that the caller did
// not wait for the answer: the call may have had its effect.
func interrupted(err error) bool {
	return errors.Is(err, engine.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// claim returns a container that was not started yet, and its addresses: what an
// interrupted Place left, or a new one.
func (p *placer) claim(ctx context.Context) (string, []netip.Addr, error) {
	spec := p.placement.Spec
	spec.Attachment.Network = p.placement.Network
	hash, err := spec.Hash()
	if err != nil {
		return "", nil, fmt.Errorf("hash specification: %w", err)
	}
	leftover, err := p.leftover(ctx, hash)
	if err != nil {
		return "", nil, err
	}
	if leftover != nil {
		addresses := Addresses(*leftover, p.placement.Network)
		p.chosen = slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool { return slices.Contains(p.placement.Addresses, a) })
		return leftover.ID, addresses, nil
	}
	addresses, err := p.choose(ctx)
	if err != nil {
		return "", nil, err
	}
	spec.Attachment.Addresses = addresses
	spec.Labels = maps.Clone(spec.Labels)
	if spec.Labels == nil {
		spec.Labels = map[string]string{}
	}
	spec.Labels[identity.LabelNetwork] = p.placement.Network
	spec.Labels[identity.LabelAddress] = addressLabel(addresses)
	spec.Labels[identity.LabelSpec] = hash
	id, err := p.engine.CreateContainer(ctx, spec)
	if engine.IsTaken(err, engine.ResourceName) {
		if _, inspectErr := p.engine.InspectContainer(ctx, spec.Name); errors.Is(inspectErr, engine.ErrNotFound) {
			return "", nil, fmt.Errorf("create: %w: %w", ErrCreating, err)
		}
	}
	if err != nil {
		return "", nil, engine.Failed("create", spec.Name, err)
	}
	return id, addresses, nil
}

// start takes a created container to where it runs.
func (p *placer) start(ctx context.Context, id string, addresses []netip.Addr) error {
	if err := p.claimed(ctx, id, addresses); err != nil {
		return err
	}
	if p.placement.Prepare != nil {
		if err := p.placement.Prepare(ctx, addresses); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	err := p.engine.StartContainer(ctx, id)
	if errors.Is(err, engine.ErrNoStaticAddresses) {
		return &UnusableError{
			Network: p.placement.Network, Reason: "has a subnet that the engine chose, in which containers cannot have static addresses",
			Remedy: "remove it and create it with --subnet, or use another network; it is created if it does not exist",
		}
	}
	if err != nil {
		return engine.Failed("start", p.placement.Spec.Name, err)
	}
	return nil
}

// choose returns the addresses to try: the requested ones, and one for each other
// subnet of the network.
func (p *placer) choose(ctx context.Context) ([]netip.Addr, error) {
	p.chosen = nil
	network, err := p.engine.InspectNetwork(ctx, p.placement.Network)
	if err != nil {
		return nil, fmt.Errorf("inspect network: %w", err)
	}
	containers, err := p.holders(ctx)
	if err != nil {
		return nil, err
	}
	taken := Taken(network.Name, containers)
	maps.Copy(taken, p.placement.Held)
	for _, address := range p.placement.Addresses {
		if holder, found := taken[address]; found {
			return nil, heldBy(address, holder)
		}
		if slices.ContainsFunc(network.Subnets, func(s engine.Subnet) bool { return gateway(s) == address }) {
			return nil, &engine.ConflictError{
				Resource: engine.ResourceAddress, Value: address.String(),
				Err: fmt.Errorf("used by the gateway of network %q: %w", network.Name, engine.ErrConflict),
			}
		}
	}
	maps.Copy(taken, p.refused)
	addresses := slices.Clone(p.placement.Addresses)
	for _, subnet := range network.Subnets {
		family := subnet.Prefix.Addr().BitLen()
		if slices.ContainsFunc(addresses, func(a netip.Addr) bool { return a.BitLen() == family }) {
			continue
		}
		address, err := Allocate(subnet, taken, p.preferred())
		if err != nil {
			return nil, err
		}
		addresses, p.chosen = append(addresses, address), append(p.chosen, address)
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return addresses, nil
}

// preferred makes containers choose different addresses, and those that met at one
// choose others next. A machine that is created again prefers the address it had.
func (p *placer) preferred() uint32 {
	labels := p.placement.Spec.Labels
	hash := fnv.New32a()
	_, _ = fmt.Fprintf(hash, "%s/%s/%s/%d", labels[identity.LabelNamespace], labels[identity.LabelCluster], labels[identity.LabelMachine], p.attempts)
	return hash.Sum32()
}

// claimed checks that no other container claims the addresses. Of two that
// claim concurrently, at least the one created later sees the other.
func (p *placer) claimed(ctx context.Context, id string, addresses []netip.Addr) error {
	containers, err := p.holders(ctx)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		if holder, held := p.placement.Held[address]; held {
			return heldBy(address, holder)
		}
	}
	for _, container := range containers {
		if container.ID == id || container.Name == p.placement.Spec.Name {
			continue
		}
		for _, address := range Addresses(container, p.placement.Network) {
			if slices.Contains(addresses, address) {
				return heldBy(address, container.Name)
			}
		}
	}
	return nil
}

func heldBy(address netip.Addr, container string) error {
	return &engine.ConflictError{Resource: engine.ResourceAddress, Value: address.String(), Holder: container}
}

// holders are the containers that record an address on the network, of any
// owner.
func (p *placer) holders(ctx context.Context) ([]engine.Container, error) {
	containers, err := p.engine.ListContainers(ctx, map[string]string{identity.LabelNetwork: p.placement.Network})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	return containers, nil
}

// remove rolls back a container that could not be placed.
func (p *placer) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := p.engine.RemoveContainer(ctx, id); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return nil
}

// leftover returns the container that an interrupted Place created and did not
// start, where it can be continued; nil where there is none. One that was created
// from another specification, with other addresses, or whose volumes may be
// incomplete is removed. Its status alone does not say that it was never started:
// Podman 4 reports every container as created after a boot of the host.
func (p *placer) leftover(ctx context.Context, hash string) (*engine.Container, error) {
	spec := p.placement.Spec
	container, err := p.engine.InspectContainer(ctx, spec.Name)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, engine.Failed("inspect", spec.Name, err)
	}
	if container.Status != engine.StatusCreated || !container.StartedAt.IsZero() || !sameOwner(container.Labels, spec.Labels) {
		return nil, &engine.ConflictError{Resource: engine.ResourceName, Value: spec.Name}
	}
	held := Addresses(container, p.placement.Network)
	other := func(a netip.Addr) bool { return !slices.Contains(held, a) }
	if container.Labels[identity.LabelSpec] == hash && !container.Incomplete && len(held) > 0 &&
		!slices.ContainsFunc(p.placement.Addresses, other) {
		return &container, nil
	}
	if err := p.remove(ctx, container.ID); err != nil {
		return nil, fmt.Errorf("replace container %q, which was never started: %w", spec.Name, err)
	}
	return nil, nil
}

func sameOwner(a, b map[string]string) bool {
	for _, key := range []string{identity.LabelNamespace, identity.LabelCluster, identity.LabelOwnerID, identity.LabelMachine} {
		if a[key] != b[key] {
			return false
		}
	}
	return true
}
