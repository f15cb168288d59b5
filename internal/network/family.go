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
)

// Family of IP addresses.
type Family string

// The families.
const (
	IPv4 Family = "IPv4"
	IPv6 Family = "IPv6"
)

// FamilyOf an address.
func FamilyOf(address netip.Addr) Family {
	if address.Unmap().Is4() {
		return IPv4
	}
	return IPv6
}

// Families of a cluster, at most one of each, the primary one first.
type Families []Family

// RangesError says which address range of a cluster cannot be used.
type RangesError struct {
	// Field of the Cluster, such as "spec.clusterNetwork.pods.cidrBlocks".
	Field string
	// Value of it.
	Value string
	// Reason and Remedy, for users.
	Reason, Remedy string
}

// Error implements error.
func (e *RangesError) Error() string {
	return fmt.Sprintf("%s: %q %s; %s", e.Field, e.Value, e.Reason, e.Remedy)
}

// The fields of a Cluster that decide its families.
const (
	PodRangesField     = "spec.clusterNetwork.pods.cidrBlocks"
	ServiceRangesField = "spec.clusterNetwork.services.cidrBlocks"
)

// FamiliesOf a cluster with these ranges of Pods and Services. Its nodes need an address of each
// family of its Pods. Without ranges it has IPv4. Two ranges of one family, Services of a family
// that Pods lack, another primary family of Services than of Pods, ranges that overlap, and those
// of no unicast addresses or of this host or link only: *RangesError.
func FamiliesOf(pods, services []string) (Families, error) {
	podRanges, err := parseRanges(PodRangesField, pods)
	if err != nil {
		return nil, err
	}
	serviceRanges, err := parseRanges(ServiceRangesField, services)
	if err != nil {
		return nil, err
	}
	for _, serviceRange := range serviceRanges {
		if at := slices.IndexFunc(podRanges, serviceRange.Overlaps); at >= 0 {
			return nil, &RangesError{ServiceRangesField, serviceRange.String(), "overlaps the range of Pods " + podRanges[at].String(), "use another range"}
		}
	}
	families, ofServices := familiesOf(podRanges), familiesOf(serviceRanges)
	switch {
	case len(families) == 0 && len(ofServices) == 0:
		return Families{IPv4}, nil
	case len(families) == 0:
		return ofServices, nil
	case len(ofServices) == 0:
		return families, nil
	}
	for i, family := range ofServices {
		if !families.Has(family) {
			return nil, &RangesError{ServiceRangesField, serviceRanges[i].String(), "has a family that the ranges of Pods lack",
				fmt.Sprintf("add a range of %s to %s, or remove it", family, PodRangesField)}
		}
	}
	if families[0] != ofServices[0] {
		return nil, &RangesError{ServiceRangesField, serviceRanges[0].String(), fmt.Sprintf("comes first, and the first range of Pods is of %s", families[0]),
			"use the same order for both: the first range decides the primary family"}
	}
	return families, nil
}

func parseRanges(field string, texts []string) ([]netip.Prefix, error) {
	ranges := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		parsed, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, &RangesError{field, text, "is not in CIDR notation", "use for example 10.244.0.0/16 or fd00:10:244::/56"}
		}
		if !reachable(parsed) {
			return nil, &RangesError{field, text, "is not a usable unicast range", "use a private range, such as 10.244.0.0/16 or fd00:10:244::/56"}
		}
		same := func(other netip.Prefix) bool { return FamilyOf(other.Addr()) == FamilyOf(parsed.Addr()) }
		if at := slices.IndexFunc(ranges, same); at >= 0 {
			return nil, &RangesError{field, text, fmt.Sprintf("is of the same family as %s", ranges[at]), "use at most one range of each family"}
		}
		ranges = append(ranges, parsed)
	}
	return ranges, nil
}

func familiesOf(ranges []netip.Prefix) Families {
	families := make(Families, 0, len(ranges))
	for _, each := range ranges {
		families = append(families, FamilyOf(each.Addr()))
	}
	return families
}

// Has reports whether the family is one of them.
func (f Families) Has(family Family) bool { return slices.Contains(f, family) }

// On a network with these subnets: those that it has. A network with none of them has its own; without subnets
// nothing is known of it.
func (f Families) On(subnets []netip.Prefix) Families {
	if len(subnets) == 0 {
		return f
	}
	has := familiesOf(subnets)
	if both := slices.DeleteFunc(slices.Clone(f), func(family Family) bool { return !has.Has(family) }); len(both) > 0 {
		return both
	}
	return has
}

// Choose the addresses of these families, in their order.
func (f Families) Choose(addresses []netip.Addr) []netip.Addr {
	var chosen []netip.Addr
	for _, family := range f {
		for _, address := range addresses {
			if FamilyOf(address) == family {
				chosen = append(chosen, address)
			}
		}
	}
	return chosen
}

// First address of the primary family; the zero value where there is none.
func (f Families) First(addresses []netip.Addr) netip.Addr {
	if len(f) == 0 {
		return netip.Addr{}
	}
	if chosen := f[:1].Choose(addresses); len(chosen) > 0 {
		return chosen[0]
	}
	return netip.Addr{}
}
