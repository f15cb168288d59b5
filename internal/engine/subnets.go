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

package engine

import "net/netip"

// DynamicSlice is the part of a subnet that CreateNetwork leaves to the
// engine's dynamic addresses: the upper half. Static addresses come from the
// lower half, where the gateway has the first. Halves, because a network
// serves both our nodes, which are static, and whatever else a user attaches;
// the upper one, because users choose addresses from the bottom. A subnet of
// fewer than eight addresses cannot be divided usefully: the zero Prefix. Of a
// subnet of IPv6 only the first 2^32 addresses are divided, the size of all of
// IPv4: Docker 20.10 cannot count up to the end of a /64.
func DynamicSlice(subnet netip.Prefix) netip.Prefix {
	const leastHostBits, mostHostBits = 3, 32
	if !subnet.IsValid() || subnet.Addr().BitLen()-subnet.Bits() < leastHostBits {
		return netip.Prefix{}
	}
	subnet = netip.PrefixFrom(subnet.Masked().Addr(), max(subnet.Bits(), subnet.Addr().BitLen()-mostHostBits))
	address := subnet.Masked().Addr().AsSlice()
	address[subnet.Bits()/8] |= 1 << (7 - subnet.Bits()%8)
	upper, _ := netip.AddrFromSlice(address)
	return netip.PrefixFrom(upper, subnet.Bits()+1)
}
