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
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Holders maps the addresses of a network that are taken to the name of the
// container that holds each.
type Holders map[netip.Addr]string

// ErrExhausted says that a subnet has no static address left; see
// ExhaustedError.
var ErrExhausted = errors.New("no free static address")

// ExhaustedError says which subnet is full. It matches ErrExhausted.
type ExhaustedError struct {
	// Subnet that was searched.
	Subnet engine.Subnet
	// Static is how many static addresses it has, Taken how many of them
	// are held.
	Static, Taken int
}

// Error implements error.
func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("subnet %s has no free static address: %d of %d are in use; delete clusters on this network, or use another network with a larger subnet",
		e.Subnet.Prefix, e.Taken, e.Static)
}

// Is reports whether target is ErrExhausted.
func (e *ExhaustedError) Is(target error) bool { return target == ErrExhausted }

// spread is over how many addresses containers are spread by their names. Those
// that are created at the same time do not see each other: one that meets another
// has to create its container again, which takes as long as the engine copies the
// image's volumes. Of ten concurrently, two meet in one of a hundred cases.
const spread = 4096

// Allocate returns the first static address of the subnet that is not taken:
// outside the dynamic and the reserved slice, neither the gateway nor, in IPv4, the network's
// own or its broadcast address. Where the whole subnet is dynamic, as in a
// network made by hand, it searches from the end: engines hand out dynamic
// addresses from the beginning. It begins at the preferred address, counted from the first
// one, and continues at the beginning. None left: *ExhaustedError.
func Allocate(subnet engine.Subnet, taken Holders, preferred uint32) (netip.Addr, error) {
	if !subnet.Prefix.IsValid() {
		return netip.Addr{}, &ExhaustedError{Subnet: subnet}
	}
	last := lastAddress(subnet.Prefix)
	next := func(address netip.Addr) netip.Addr { return after(address, subnet.Dynamic) }
	address := subnet.Prefix.Masked().Addr()
	if wholeIsDynamic(subnet) {
		next, address = netip.Addr.Prev, last
	} else if subnet.Dynamic.Contains(address) {
		address = next(address)
	}
	kept := Reserved(subnet)
	// One of so many is free, unless the subnet is exhausted.
	var usable []netip.Addr
	for ; address.IsValid() && subnet.Prefix.Contains(address) && len(usable) < spread+len(taken); address = next(address) {
		if !isUnusable(subnet, address, last) && !kept.Contains(address) {
			usable = append(usable, address)
		}
	}
	for i := range usable {
		address := usable[(int(preferred%spread)+i)%len(usable)]
		if _, found := taken[address]; !found {
			return address, nil
		}
	}
	return netip.Addr{}, &ExhaustedError{Subnet: subnet, Static: len(usable), Taken: len(usable)}
}

// after is the address after this one and after the dynamic slice.
func after(address netip.Addr, dynamic netip.Prefix) netip.Addr {
	address = address.Next()
	if dynamic.IsValid() && dynamic.Contains(address) {
		return lastAddress(dynamic).Next()
	}
	return address
}

func wholeIsDynamic(subnet engine.Subnet) bool {
	return !subnet.Dynamic.IsValid() ||
		subnet.Dynamic.Bits() <= subnet.Prefix.Bits() && subnet.Dynamic.Overlaps(subnet.Prefix)
}

// isUnusable reports whether no container can have the address.
func isUnusable(subnet engine.Subnet, address, last netip.Addr) bool {
	return address == gateway(subnet) || outermost(subnet.Prefix, address, last)
}

// gateway of a subnet. Engines make it the first address where they do not
// report it.
func gateway(subnet engine.Subnet) netip.Addr {
	if subnet.Gateway.IsValid() {
		return subnet.Gateway
	}
	return subnet.Prefix.Masked().Addr().Next()
}

// outermost reports whether the address is the network's own or, in IPv4, its
// broadcast address.
func outermost(prefix netip.Prefix, address, last netip.Addr) bool {
	return address == prefix.Masked().Addr() || address.Is4() && address == last
}

// lastAddress of a prefix: in IPv4 its broadcast address.
func lastAddress(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Masked().Addr().AsSlice()
	for bit := prefix.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// Taken returns the addresses of the network of that name that are recorded in
// the labels of the containers, running or not. Others, such as the static
// address of a container that a user attached, show when a container that wants
// one is started.
func Taken(network string, containers []engine.Container) Holders {
	taken := Holders{}
	for _, container := range containers {
		for _, address := range Addresses(container, network) {
			taken[address] = container.Name
		}
	}
	return taken
}

// Addresses returns the static addresses recorded in a container's labels for
// the network of that name, IPv4 first; none where it holds none there.
func Addresses(container engine.Container, network string) []netip.Addr {
	if container.Labels[identity.LabelNetwork] != network {
		return nil
	}
	var addresses []netip.Addr
	for text := range strings.SplitSeq(container.Labels[identity.LabelAddress], addressSeparator) {
		// A label that we did not write holds no address.
		if address, err := netip.ParseAddr(text); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// ParseAddresses reads recorded addresses; what is none is left out.
func ParseAddresses(texts []string) []netip.Addr {
	var addresses []netip.Addr
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// addressSeparator between the addresses of two families in one label.
const addressSeparator = ","

// addressLabel is the value that Addresses reads.
func addressLabel(addresses []netip.Addr) string {
	texts := make([]string, len(addresses))
	for i, address := range addresses {
		texts[i] = address.String()
	}
	return strings.Join(texts, addressSeparator)
}

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
