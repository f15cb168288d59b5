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

// Engine is what placing a container needs of an engine.
type Engine interface {
	engine.Containers
	engine.Networks
}

// Placement says which container to put where.
type Placement struct {
	// Spec of the container. Place sets its Attachment's network and
	// addresses and the labels that record them.
	Spec engine.Spec
	// Network the container starts on; must exist.
	Network string
	// Addresses that the container must have, at most one per IP family. For
	// each subnet of the network of a family without one, Place chooses an
	// address, and chooses again until one can be had.
	Addresses []netip.Addr
	// Held are addresses that no container is to get although none is seen with them; may be nil.
	Held Holders
	// Prepare is called between create and start with the addresses chosen,
	// to upload files; nil = nothing to prepare. It may be called again for
	// another container of the same name when an address could not be had.
	Prepare func(ctx context.Context, addresses []netip.Addr) error
}

// ErrCreating: the engine has not finished an earlier call to create the container.
var ErrCreating = errors.New("the engine is still creating the container")

// Place creates a container with static addresses, prepares it, starts it and
// returns it as observed then.
//
// Any number of processes may place concurrently: no two of them end with one
// address. Each container prefers an address by its namespace, cluster and
// machine, so that few meet. A claim is a created container, whose labels all
// can see: who finds another claim on its addresses after making its own gives
// way, removes its container and takes another address, and so does who finds
// at start that an address is taken.
//
// A container of the same name and owner that was never started is what an
// interrupted Place left. It is continued: prepared and started. It is replaced
// where its specification is another one or the content of its volumes cannot be
// relied on. Any other container of the name: a ConflictError of ResourceName. The
// engine is still busy with an earlier call to create it: ErrCreating. No address left: *ExhaustedError.
// An address of Addresses is taken: a ConflictError of ResourceAddress that
// names the holder where it is known. Host port taken: a ConflictError of
// ResourceHostPort. Image or network absent: ErrNotFound. A network that takes no static
// addresses, which an engine may say only now: *UnusableError. What the
// engine refuses is removed; what was interrupted (the context ended, or the engine
// did not answer) is left for the next Place.
func Place(ctx context.Context, containers Engine, placement Placement) (engine.Container, error) {
	p := placer{engine: containers, placement: placement, refused: Holders{}}
	for {
		container, err := p.attempt(ctx)
		if err == nil {
			return container, nil
		}
		if !p.mayRetry(err) {
			return engine.Container{}, engine.Failed("place", placement.Spec.Name, fmt.Errorf("on network %q: %w", placement.Network, err))
		}
	}
}
