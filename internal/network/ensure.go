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
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// DefaultName of the network that clusters live on.
const DefaultName = "capcon"

// IPv6Name of the network that clusters with IPv6 live on: the other may lack that family.
const IPv6Name = "capcon-ipv6"

// DefaultOf is the name of the network that clusters of these families live on.
func DefaultOf(families Families) string {
	if families.Has(IPv6) {
		return IPv6Name
	}
	return DefaultName
}

// Request describes the desired network.
type Request struct {
	// Name of the network; empty means DefaultName.
	Name string
	// Subnets, at most one per IP family; none = the engine chooses an IPv4
	// one, and any the network has will do.
	Subnets []netip.Prefix
	// Families that the cluster has; none = IPv4. With IPv6 the network must have both, because
	// the ports that engines publish lead to IPv4 addresses.
	Families Families
	// Created is called with the network where this call created it; may be nil.
	Created func(engine.Network)
}

// ErrUnusable says that a network exists and cannot serve; see UnusableError.
var ErrUnusable = errors.New("network is unusable")

// UnusableError says why a network cannot serve and what to do. It matches
// ErrUnusable.
type UnusableError struct {
	// Network is its name.
	Network string
	// Reason and Remedy, for users.
	Reason, Remedy string
	// Lacks is the family that the cluster has and the network lacks; empty if that is not the reason.
	Lacks Family
}

// Error implements error.
func (e *UnusableError) Error() string {
	return fmt.Sprintf("network %q %s; %s", e.Network, e.Reason, e.Remedy)
}

// Is reports whether target is ErrUnusable.
func (e *UnusableError) Is(target error) bool { return target == ErrUnusable }

// Ensure returns the network, and creates it with identity.LabelManaged where
// it is absent. It may be called by many processes concurrently: one of them
// creates. A name that CheckName refuses, and a network that exists and lacks
// a requested IPv4 or IPv6 subnet or family, has another one, is no bridge, or takes no
// static addresses: *UnusableError, with the network. A subnet taken by another network: a
// ConflictError of ResourceSubnet.
func Ensure(ctx context.Context, networks engine.Networks, request Request) (engine.Network, error) {
	name := cmp.Or(request.Name, DefaultName)
	if err := CheckName(name); err != nil {
		return engine.Network{}, err
	}
	network, err := networks.InspectNetwork(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		network, err = create(ctx, networks, name, request)
	}
	if err != nil {
		return engine.Network{}, fmt.Errorf("ensure network %q: %w", name, err)
	}
	return network, usable(network, request)
}

// Check says whether Ensure would refuse the network: *UnusableError, as there. One that does not
// exist is usable. Nothing is created.
func Check(ctx context.Context, networks engine.Networks, request Request) error {
	name := cmp.Or(request.Name, DefaultName)
	network, err := networks.InspectNetwork(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("check network %q: %w", name, err)
	}
	return usable(network, request)
}

func create(ctx context.Context, networks engine.Networks, name string, request Request) (engine.Network, error) {
	network, err := networks.CreateNetwork(ctx, engine.NetworkSpec{
		Name:    name,
		Labels:  map[string]string{identity.LabelManaged: "true"},
		Subnets: subnets(request),
	})
	if engine.IsTaken(err, engine.ResourceName) {
		// Another process was faster; its network is as good as ours.
		return networks.InspectNetwork(ctx, name)
	}
	if err == nil && request.Created != nil {
		request.Created(network)
	}
	return network, err
}

// subnets of a network to be created: the requested ones, and one of IPv6 where the cluster needs
// it. The engine chooses that of IPv4, because it knows the host's routes.
func subnets(request Request) []netip.Prefix {
	isIPv6 := func(subnet netip.Prefix) bool { return FamilyOf(subnet.Addr()) == IPv6 }
	if !request.Families.Has(IPv6) || slices.ContainsFunc(request.Subnets, isIPv6) {
		return request.Subnets
	}
	return append(slices.Clone(request.Subnets), uniqueLocal())
}

// uniqueLocal is a /64 that no other network has: its 56 bits are random, as RFC 4193 has it. What
// is derived from a name would be the same on two engines of one host.
func uniqueLocal() netip.Prefix {
	const first, network, bits = 0xfd, 8, 64
	var address [16]byte
	_, _ = rand.Read(address[:network]) // never returns an error
	address[0] = first
	return netip.PrefixFrom(netip.AddrFrom16(address), bits)
}

// usable checks that containers can have static addresses in the desired subnets.
func usable(network engine.Network, request Request) error {
	unusable := func(reason, remedy string) error {
		return &UnusableError{Network: network.Name, Reason: reason, Remedy: remedy}
	}
	if network.Driver != "" && network.Driver != "bridge" {
		return unusable(fmt.Sprintf("has driver %q", network.Driver), "use a bridge network; it is created if it does not exist")
	}
	if network.Internal {
		return unusable("is internal: no port of its containers is published on the host", "use a network that was created without --internal")
	}
	if len(network.Subnets) == 0 {
		return unusable("has no subnet", remedyOther)
	}
	if err := lacking(network, request); err != nil {
		return err
	}
	for _, prefix := range request.Subnets {
		at := slices.IndexFunc(network.Subnets, func(s engine.Subnet) bool { return s.Prefix.Addr().BitLen() == prefix.Addr().BitLen() })
		if at < 0 {
			return unusable(fmt.Sprintf("has no subnet of the IP family of %s", prefix), remedyOther)
		}
		if found := network.Subnets[at].Prefix; found != prefix.Masked() {
			return unusable(fmt.Sprintf("has subnet %s instead of %s", found, prefix.Masked()),
				"use its subnet, omit the subnet, or use another network")
		}
	}
	for _, subnet := range network.Subnets {
		// Without this, the first container would find out.
		if _, err := Allocate(subnet, nil, 0); err != nil {
			return unusable(fmt.Sprintf("has subnet %s, which is too small", subnet.Prefix), remedyOther)
		}
	}
	return nil
}

// lacking says which family a network lacks: *UnusableError.
func lacking(network engine.Network, request Request) error {
	has := func(family Family) bool {
		return slices.ContainsFunc(network.Subnets, func(s engine.Subnet) bool { return FamilyOf(s.Prefix.Addr()) == family })
	}
	switch {
	case request.Families.Has(IPv6) && !has(IPv6):
		return &UnusableError{Network: network.Name, Lacks: IPv6, Reason: "has no IPv6 subnet, and the cluster has IPv6 ranges", Remedy: remedyFamily}
	case !has(IPv4) && len(request.Subnets) == 0:
		return &UnusableError{
			Network: network.Name, Lacks: IPv4, Reason: "has no IPv4 subnet",
			Remedy: "set its IPv6 subnet in spec.network.subnet, or use another network",
		}
	}
	return nil
}

const remedyFamily = "use another network, such as " + IPv6Name + "; it is created with both families if it does not exist"

const remedyOther = "remove it, or use another network; it is created if it does not exist"

// Remove removes the network if this provider created it and no container,
// running or not, is attached, and reports whether it is gone. A network
// that is kept for one of these reasons is no error.
func Remove(ctx context.Context, networks engine.Networks, name string) (gone bool, err error) {
	network, err := networks.InspectNetwork(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("inspect network %q: %w", name, err)
	}
	if _, managed := network.Labels[identity.LabelManaged]; !managed {
		return false, nil
	}
	err = networks.RemoveNetwork(ctx, name)
	if errors.Is(err, engine.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove network %q: %w", name, err)
	}
	return true, nil
}
