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
	"maps"
	"net/netip"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/union"
)

// CheckShared says why the networks of one name, by the names of the engines that have them, cannot be the one network of a cluster over these
// engines: *UnusableError. They are of driver macvlan, have the same subnets and gateways, and give dynamic addresses from different ranges,
// which leave static addresses. Whether the hosts are on one layer-2 network is not known of them.
func CheckShared(networks map[string]engine.Network, request Request) error {
	names := slices.Sorted(maps.Keys(networks))
	first := networks[names[0]]
	unusable := func(name, reason, remedy string) error {
		return &UnusableError{Network: request.Name, Reason: fmt.Sprintf("of ContainerEngine %q %s", name, reason), Remedy: remedy}
	}
	for i, name := range names {
		this := networks[name]
		switch {
		case this.Driver != macvlan:
			return unusable(name, fmt.Sprintf("has driver %q", this.Driver), "use a macvlan network (network create -d macvlan), which all engines of the cluster have")
		case len(this.Subnets) == 0:
			return unusable(name, "has no subnet", "create it with --subnet")
		case !slices.EqualFunc(this.Subnets, first.Subnets, sameSubnet):
			return unusable(name, fmt.Sprintf("has %s, and that of %q has %s", ranges(this), names[0], ranges(first)),
				"create it with the same --subnet and --gateway on all engines")
		}
		for _, other := range names[:i] {
			if at := slices.IndexFunc(this.Subnets, func(subnet engine.Subnet) bool { return overlap(subnet, networks[other].Subnets) }); at >= 0 {
				return unusable(name, fmt.Sprintf("gives dynamic addresses of %s, as that of %q does", dynamic(this.Subnets[at]), other),
					"create it with another --ip-range on each engine")
			}
		}
	}
	joined := first
	joined.Driver, joined.Internal = "bridge", false
	joined.Subnets = slices.Clone(first.Subnets)
	for i := range joined.Subnets {
		for _, other := range networks {
			joined.Subnets[i].Dynamic = union.Covering(dynamic(joined.Subnets[i]), dynamic(other.Subnets[i]))
		}
		if wholeIsDynamic(joined.Subnets[i]) {
			return unusable(names[0], fmt.Sprintf("has no range left for static addresses in %s: those of --ip-range on all engines are too far apart", joined.Subnets[i].Prefix),
				"create it with ranges next to each other, such as 10.0.0.192/28 and 10.0.0.208/28 of 10.0.0.0/24")
		}
	}
	return usable(joined, request)
}

// macvlan is the driver whose containers are on the layer-2 network of an interface of the host.
const macvlan = "macvlan"

func dynamic(subnet engine.Subnet) netip.Prefix {
	if subnet.Dynamic.IsValid() {
		return subnet.Dynamic
	}
	return subnet.Prefix
}

func overlap(subnet engine.Subnet, others []engine.Subnet) bool {
	return slices.ContainsFunc(others, func(other engine.Subnet) bool { return dynamic(subnet).Overlaps(dynamic(other)) })
}

func sameSubnet(a, b engine.Subnet) bool { return a.Prefix == b.Prefix && gateway(a) == gateway(b) }

func ranges(network engine.Network) []string {
	var texts []string
	for _, subnet := range network.Subnets {
		texts = append(texts, fmt.Sprintf("%s with gateway %s", subnet.Prefix, gateway(subnet)))
	}
	return texts
}
