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

package adapter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// subnetTries bounds how often a subnet is chosen again: another network took it
	// between choosing and using, or the engine failed to choose one, as Podman
	// does while an interface of the host disappears.
	subnetTries = 8
	subnetPause = 100 * time.Millisecond
)

// CheckNetwork refuses what no network can be.
func CheckNetwork(spec engine.NetworkSpec) error {
	if spec.Name == "" {
		return fmt.Errorf("no name: %w", engine.ErrInvalid)
	}
	for _, prefix := range spec.Subnets {
		if !prefix.IsValid() || prefix != prefix.Masked() {
			return engine.WithKind(fmt.Errorf("subnet %s has an address of a host; use %s", prefix, prefix.Masked()), engine.ErrInvalid)
		}
	}
	return nil
}

// SubnetChoice is how an engine creates a network with a subnet that it chooses itself.
type SubnetChoice struct {
	// Choose returns subnets that are free.
	Choose func(ctx context.Context, name string) ([]engine.Subnet, error)
	// Create creates the network with these subnets.
	Create func(ctx context.Context, prefixes []netip.Prefix) error
	// MayBeTaken reports whether an error of Create may say that a subnet is in use.
	MayBeTaken func(error) bool
}

// CreateNetwork creates a network with the subnets of its spec. It lets the engine choose
// one of IPv4 where the spec has none.
func CreateNetwork(ctx context.Context, networks engine.Inventory, spec engine.NetworkSpec, choice SubnetChoice) error {
	if slices.ContainsFunc(spec.Subnets, func(p netip.Prefix) bool { return p.Addr().Is4() }) {
		return choice.Create(ctx, spec.Subnets)
	}
	// Another IPv4 subnet does not help where a subnet of spec is in use.
	inUse, err := InUse(ctx, networks, spec.Subnets)
	if err != nil {
		return err
	}
	if inUse {
		return &engine.ConflictError{Resource: engine.ResourceSubnet, Value: fmt.Sprint(spec.Subnets)}
	}
	for try := 1; ; try++ {
		chosen, err := choice.subnet(ctx, spec.Name)
		again := err != nil && !errors.Is(err, engine.ErrUnavailable)
		if err == nil {
			err = choice.Create(ctx, append([]netip.Prefix{chosen}, spec.Subnets...))
			again = err != nil && choice.MayBeTaken(err)
		}
		if !again || try == subnetTries {
			return err
		}
		// Jittered, so that two who got the same subnet do not do so again.
		if err := Wait(ctx, rand.N(subnetPause)); err != nil {
			return err
		}
	}
}

func (c SubnetChoice) subnet(ctx context.Context, name string) (netip.Prefix, error) {
	chosen, err := c.Choose(ctx, name)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("allocate subnet: %w", err)
	}
	for _, subnet := range chosen {
		if subnet.Prefix.Addr().Is4() {
			return subnet.Prefix, nil
		}
	}
	return netip.Prefix{}, errors.New("engine allocated no IPv4 subnet")
}

// ExplainCreate finds out whether a network was not created because its subnet is another's,
// which the cause may say, or the networks that there are.
func ExplainCreate(ctx context.Context, networks engine.Inventory, prefixes []netip.Prefix, cause error, says func(error) bool) error {
	isTaken := says(cause)
	if !isTaken {
		var err error
		if isTaken, err = InUse(ctx, networks, prefixes); err != nil {
			return errors.Join(cause, err)
		}
	}
	if isTaken {
		return &engine.ConflictError{Resource: engine.ResourceSubnet, Value: fmt.Sprint(prefixes), Err: cause}
	}
	return cause
}

// InUse reports whether a network of the engine overlaps one of the prefixes.
func InUse(ctx context.Context, networks engine.Inventory, prefixes []netip.Prefix) (bool, error) {
	if len(prefixes) == 0 {
		return false, nil
	}
	others, err := networks.ListNetworks(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("list networks that may use %v: %w", prefixes, err)
	}
	return slices.ContainsFunc(others, func(other engine.Network) bool {
		return slices.ContainsFunc(other.Subnets, func(subnet engine.Subnet) bool {
			return slices.ContainsFunc(prefixes, subnet.Prefix.Overlaps)
		})
	}), nil
}
