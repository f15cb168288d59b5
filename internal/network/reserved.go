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
	"net/netip"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// leastReservedBits of the smallest slice, which has 8 addresses.
const leastReservedBits = 3

// Reserved is the slice of a subnet from which neither this provider nor the engine gives
// an address to a container: it is for those who announce addresses from within a cluster,
// such as MetalLB and kube-vip. It is the upper quarter of the static addresses. The zero
// Prefix where that is less than 8 addresses, or where the engine gives addresses from the
// whole subnet.
func Reserved(subnet engine.Subnet) netip.Prefix {
	if !subnet.Prefix.IsValid() || wholeIsDynamic(subnet) {
		return netip.Prefix{}
	}
	// The static addresses are those below the dynamic slice.
	const quarter = 2
	dynamic := subnet.Dynamic.Masked()
	bits := dynamic.Bits() + quarter
	if dynamic.Addr().BitLen()-bits < leastReservedBits || dynamic.Addr() == subnet.Prefix.Masked().Addr() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(dynamic.Addr().Prev(), bits).Masked()
}
