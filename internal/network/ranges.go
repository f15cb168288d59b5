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

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Ranges of the Pods and Services of a cluster, in CIDR notation.
type Ranges struct {
	Pods, Services []string
}

// each calls a function for each range that can be read, until it returns an error.
func (r Ranges) each(visit func(field, whose string, each netip.Prefix) error) error {
	for _, of := range []struct {
		field, whose string
		texts        []string
	}{{PodRangesField, "Pods", r.Pods}, {ServiceRangesField, "Services", r.Services}} {
		for _, text := range of.texts {
			parsed, err := netip.ParsePrefix(text)
			if err != nil {
				continue // FamiliesOf refuses it.
			}
			if err := visit(of.field, of.whose, parsed); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckOverlap says which subnet of a network to be created has addresses of Pods or Services: *SubnetError. Nodes
// could not reach the one or the other.
func CheckOverlap(subnets []netip.Prefix, ranges Ranges) error {
	for _, subnet := range subnets {
		err := ranges.each(func(field, whose string, each netip.Prefix) error {
			if !subnet.Overlaps(each) {
				return nil
			}
			return &SubnetError{subnet.String(), fmt.Sprintf("overlaps the range %s of %s (%s of the Cluster)", each, whose, field), "use another subnet"}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// CheckNetwork says which of the ranges has addresses of a network: *RangesError.
func (r Ranges) CheckNetwork(network engine.Network) error {
	return r.each(func(field, _ string, each netip.Prefix) error {
		for _, subnet := range network.Subnets {
			if subnet.Prefix.Overlaps(each) {
				return &RangesError{field, each.String(), fmt.Sprintf("overlaps subnet %s of network %q", subnet.Prefix, network.Name), "use another range"}
			}
		}
		return nil
	})
}
