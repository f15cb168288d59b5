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
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
)

// CheckName says why no cluster can live on a network of that name, whatever
// the engine: *UnusableError.
func CheckName(name string) error {
	if slices.Contains(connect.ReservedNetworks(), name) {
		return &UnusableError{
			Network: name, Reason: "is a predefined network of the engine, without static addresses",
			Remedy: "use another network; it is created if it does not exist",
		}
	}
	return nil
}

// SubnetError says why no network can be created with a subnet.
type SubnetError struct {
	// Subnet of the input.
	Subnet string
	// Reason and Remedy, for users.
	Reason, Remedy string
}

// Error implements error.
func (e *SubnetError) Error() string {
	return fmt.Sprintf("subnet %q %s; %s", e.Subnet, e.Reason, e.Remedy)
}

// leastHostBits of a subnet that has two static addresses, of a load balancer
// and of one machine: the lower half of eight holds the network's own, the
// gateway's and these.
const leastHostBits = 3

// ParseSubnets reads the subnets that a network is to be created with: a comma-separated list with at most one
// of each family, as in Kubernetes' flags; none of an empty one. Otherwise: *SubnetError.
func ParseSubnets(list string) ([]netip.Prefix, error) {
	if list == "" {
		return nil, nil
	}
	var subnets []netip.Prefix
	for text := range strings.SplitSeq(list, ",") {
		subnet, err := ParseSubnet(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		same := func(other netip.Prefix) bool { return FamilyOf(other.Addr()) == FamilyOf(subnet.Addr()) }
		if at := slices.IndexFunc(subnets, same); at >= 0 {
			return nil, &SubnetError{subnet.String(), fmt.Sprintf("is of the same family as %s", subnets[at]), "use at most one subnet of each family"}
		}
		subnets = append(subnets, subnet)
	}
	return subnets, nil
}

// ParseSubnet reads a subnet that a network is to be created with. One that no
// engine would create, or that has no room for a cluster: *SubnetError.
func ParseSubnet(text string) (netip.Prefix, error) {
	refuse := func(reason, remedy string) (netip.Prefix, error) {
		return netip.Prefix{}, &SubnetError{Subnet: text, Reason: reason, Remedy: remedy}
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil || prefix.Addr().Is4In6():
		return refuse("is not in CIDR notation", "use for example 172.30.0.0/16 or fd00:30::/64")
	case prefix != prefix.Masked():
		return refuse("has host bits set", "use "+prefix.Masked().String())
	case !reachable(prefix):
		return refuse("is not a usable unicast range", "use a private range, such as 172.30.0.0/16 or fd00:30::/64")
	case prefix.Addr().BitLen()-prefix.Bits() < leastHostBits:
		return refuse("is too small for a load balancer and a machine",
			fmt.Sprintf("use a larger range, at least a /%d", prefix.Addr().BitLen()-leastHostBits))
	}
	return prefix, nil
}

// reachable leaves out what no engine creates a network with: everything, and
// what means this host, this link or many hosts. Public ranges stay: some
// have one that is routed to them.
func reachable(prefix netip.Prefix) bool {
	first := prefix.Addr()
	return prefix.Bits() > 0 && !first.IsUnspecified() && !first.IsLoopback() && !first.IsMulticast() &&
		!first.IsLinkLocalUnicast() && !first.IsLinkLocalMulticast()
}

// EndpointError says why an address cannot be the endpoint of a cluster.
type EndpointError struct {
	// Reason and Remedy, for users.
	Reason, Remedy string
}

// Error implements error.
func (e *EndpointError) Error() string { return e.Reason + "; " + e.Remedy }

// CheckEndpoint says why no cluster of these families can have its endpoint at a host:
// *EndpointError. A DNS name is not resolved.
func CheckEndpoint(host string, families Families) error {
	if address, err := netip.ParseAddr(host); err == nil {
		return checkEndpoint(address, families)
	}
	return nil
}

func checkEndpoint(address netip.Addr, families Families) error {
	switch {
	case address.Zone() != "" || address.Is4In6():
		return &EndpointError{"has a zone, or is an IPv4 address in the form of IPv6", "use an IPv4 or IPv6 address without a zone, or a DNS name"}
	case !families.Has(FamilyOf(address)):
		return &EndpointError{
			fmt.Sprintf("is an %s address, and the address ranges of the Cluster (%s, %s) have no %[1]s", FamilyOf(address), PodRangesField, ServiceRangesField),
			"use an address of their family, or add ranges",
		}
	}
	return nil
}

// CheckAddress says why no container of a subnet can have an address, whatever
// network has the subnet: *SubnetError. Which address is the gateway's only the
// network itself says.
func CheckAddress(subnet netip.Prefix, address netip.Addr) error {
	refuse := func(reason string) error {
		return &SubnetError{Subnet: subnet.String(), Reason: reason, Remedy: "use another address of the subnet"}
	}
	switch {
	case !subnet.Contains(address):
		return refuse(fmt.Sprintf("does not contain %s", address))
	case outermost(subnet, address, lastAddress(subnet)):
		return refuse(fmt.Sprintf("reserves %s as network or broadcast address", address))
	}
	return nil
}

// CheckStatic says why no container may have an address on a network: *SubnetError. It
// is not in a subnet, or is kept for others. Whether it is free shows when a container has it.
func CheckStatic(network engine.Network, address netip.Addr) error {
	var err error = &SubnetError{Subnet: network.Name, Reason: fmt.Sprintf("does not contain %s", address), Remedy: "use an address of the network"}
	for _, subnet := range network.Subnets {
		if subnet.Prefix.Addr().BitLen() != address.BitLen() {
			continue
		}
		if err = CheckAddress(subnet.Prefix, address); err != nil {
			continue
		}
		switch {
		case address == gateway(subnet):
			return &SubnetError{Subnet: subnet.Prefix.String(), Reason: fmt.Sprintf("has its gateway at %s", address), Remedy: "use another address of the subnet"}
		case Reserved(subnet).Contains(address):
			return &SubnetError{
				Subnet: subnet.Prefix.String(),
				Reason: fmt.Sprintf("reserves %s for addresses that are announced from within clusters, as all of %s", address, Reserved(subnet)),
				Remedy: "use another address of the subnet",
			}
		}
		return nil
	}
	return err
}
