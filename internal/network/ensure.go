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
	"net/netip"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// DefaultName of the network that clusters live on.
const DefaultName = "capcon"

// Request says what network is wanted.
type Request struct {
	// Name of the network; empty means DefaultName.
	Name string
	// Subnets, at most one per IP family; none = the engine chooses an IPv4
	// one, and any the network has will do.
	Subnets []netip.Prefix
}

// ErrUnusable says that a network exists and cannot serve; see UnusableError.
var ErrUnusable = errors.New("network is unusable")

// UnusableError says why a network cannot serve and what to do. It matches
// ErrUnusable.
type UnusableError struct {
	// Network is its name.
	Network string
	// Reason and Remedy, for people.
	Reason, Remedy string
}

// Error implements error.
func (e *UnusableError) Error() string {
	return fmt.Sprintf("network %q %s: %s", e.Network, e.Reason, e.Remedy)
}

// Is reports whether target is ErrUnusable.
func (e *UnusableError) Is(target error) bool { return target == ErrUnusable }

// Ensure returns the network, and creates it with identity.LabelManaged where
// it is absent. It may be called by many processes at once: one of them
// creates. A network that exists and lacks an IPv4 or IPv6 subnet asked for,
// has another one, is no bridge, or takes no static addresses:
// *UnusableError. A subnet taken by another network: a ConflictError of
// ResourceSubnet.
func Ensure(ctx context.Context, networks engine.Networks, request Request) (engine.Network, error) {
	return engine.Network{}, errors.ErrUnsupported
}

// Remove removes the network if this provider created it and no container,
// running or not, is attached, and reports whether it is gone. A network
// that is kept for one of these reasons is no error.
func Remove(ctx context.Context, networks engine.Networks, name string) (gone bool, err error) {
	return false, errors.ErrUnsupported
}
