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

package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Spec says what load balancer a cluster has.
type Spec struct {
	// Owner names the container and labels it.
	Owner identity.Owner
	// Image that is present on the engine.
	Image string
	// Network it starts on; must exist.
	Network string
	// Addresses are pinned; none = choose, to be pinned by the caller from
	// State.Addresses.
	Addresses []netip.Addr
	// HostAddress and HostPort it is published on; the zero address means
	// 127.0.0.1. Port 0 = choose a free one, to be pinned by the caller from
	// State.HostPort; it is then fixed for the container's life.
	HostAddress netip.Addr
	HostPort    uint16
	// Config of the first start, and of every start of a stopped container.
	// Its Port is the one that is published.
	Config haproxy.Config
}

// ErrForeign says that a container of our name is not ours; see ForeignError.
var ErrForeign = errors.New("container belongs to another owner")

// ForeignError names a container that has the load balancer's name and is
// not the owner's. It is never adopted or removed. It matches ErrForeign.
type ForeignError struct {
	// Container is its name.
	Container string
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("container %q exists and does not belong to this cluster: remove or rename it", e.Container)
}

// Is reports whether target is ErrForeign.
func (e *ForeignError) Is(target error) bool { return target == ErrForeign }

// Ensure makes sure that the load balancer's container exists and runs, and
// returns it as observed. What runs already is left alone unless it lacks a
// pinned address or port: then it is made anew with them. A paused container
// stays paused.
//
// Image or network absent: ErrNotFound. A container of our name that is not
// ours: *ForeignError. A pinned address or port taken: a ConflictError of
// ResourceAddress or ResourceHostPort. No address left:
// *network.ExhaustedError. A configuration that cannot be rendered:
// *haproxy.InvalidError.
func Ensure(ctx context.Context, containers network.Engine, spec Spec) (State, error) {
	return State{}, errors.ErrUnsupported
}

// Delete removes the owner's load balancer and succeeds if there is none. A
// container of its name that is not the owner's is left alone.
func Delete(ctx context.Context, containers engine.Containers, owner identity.Owner) error {
	return errors.ErrUnsupported
}
