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

package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

const (
	// mtuOption is the bridge driver's; Docker applies its configured MTU to
	// its own default network only.
	mtuOption      = "com.docker.network.driver.mtu"
	defaultNetwork = "bridge"
	// createTimeout bounds the creation itself, which takes a tenth of a second
	// and cannot be interrupted.
	createTimeout = claimLifetime
)

// CreateNetwork implements engine.Networks.
//
// Docker gives static addresses only in a subnet that the creator named, and
// only Docker knows which subnets are free. So it is let choose one for a
// network under another name, which is removed, and the network is created
// with that subnet. It appears with its final shape in one call: an interruption
// before leaves nothing under the network's name.
func (e *Engine) CreateNetwork(ctx context.Context, spec engine.NetworkSpec) (engine.Network, error) {
	if err := e.createNetwork(ctx, spec); err != nil {
		return engine.Network{}, fmt.Errorf("create network %q: %w", spec.Name, err)
	}
	return e.InspectNetwork(ctx, spec.Name)
}

func (e *Engine) createNetwork(ctx context.Context, spec engine.NetworkSpec) error {
	if err := e.open(ctx); err != nil {
		return err
	}
	if err := adapter.CheckNetwork(spec); err != nil {
		return err
	}
	// Asked before the claim, which is waited for.
	if err := e.nameFree(ctx, spec.Name); err != nil {
		return err
	}
	claim, err := e.claimName(ctx, spec.Name)
	if err != nil {
		return err
	}
	defer claim.release(ctx)
	if err := e.nameFree(ctx, spec.Name); err != nil {
		return err
	}
	// Docker continues creating when its client has gone, and the claim must
	// outlive that: from here on an end of ctx is waited out.
	creating, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	return e.createClaimed(creating, spec)
}

func (e *Engine) nameFree(ctx context.Context, name string) error {
	named, err := e.named(ctx, name)
	if err != nil {
		return err
	}
	if len(named) > 0 {
		return &engine.ConflictError{Resource: engine.ResourceName, Value: name}
	}
	return nil
}

func (e *Engine) createClaimed(ctx context.Context, spec engine.NetworkSpec) error {
	options, err := e.mtu(ctx)
	if err != nil {
		return err
	}
	return adapter.CreateNetwork(ctx, e, spec, adapter.SubnetChoice{
		Choose: e.chooseSubnets,
		Create: func(ctx context.Context, prefixes []netip.Prefix) error {
			return e.createWith(ctx, spec, prefixes, options)
		},
		MayBeTaken: func(err error) bool {
			// An error of no kind may be the same conflict: the network that had the subnet
			// for a moment was gone when the networks were listed.
			isUnknown := kindOf(err) == nil && !errors.Is(err, engine.ErrConflict)
			return isUnknown || engine.IsTaken(err, engine.ResourceSubnet)
		},
	})
}

// mtu returns the driver options for the MTU of Docker's default network,
// where the daemon's configuration sets one: the host's network has a smaller
// one, and larger packets of our nodes would vanish.
func (e *Engine) mtu(ctx context.Context) (map[string]string, error) {
	answer, err := e.client.NetworkInspect(ctx, defaultNetwork, client.NetworkInspectOptions{})
	if errdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get MTU of default network: %w", typed(err))
	}
	value := answer.Network.Options[mtuOption]
	if value == "" {
		return nil, nil
	}
	return map[string]string{mtuOption: value}, nil
}

// chooseSubnets lets Docker choose, for a network that is removed immediately.
func (e *Engine) chooseSubnets(ctx context.Context, name string) ([]engine.Subnet, error) {
	temporary := name + "-subnet-" + token()
	var answer client.NetworkInspectResult
	// Internal, because it has fewer rules in the host's firewall to add and delete.
	_, err := e.client.NetworkCreate(ctx, temporary, client.NetworkCreateOptions{
		Driver: "bridge", Internal: true, Labels: map[string]string{engine.LabelCreating: name},
	})
	if err == nil {
		answer, err = e.client.NetworkInspect(ctx, temporary, client.NetworkInspectOptions{})
	}
	// Removed also when the creation seems not to have succeeded: the answer
	// may have been lost.
	tidy, cancel := adapter.Cleanup(ctx)
	defer cancel()
	if _, removeErr := e.client.NetworkRemove(tidy, temporary, client.NetworkRemoveOptions{}); removeErr != nil && !errdefs.IsNotFound(removeErr) {
		err = errors.Join(err, fmt.Errorf("remove temporary network %q: %w", temporary, typed(removeErr)))
	}
	return subnets(answer.Network.IPAM), typed(err)
}

// createWith creates the network with these subnets. The gateway is named
// because Docker would take the first address of the dynamic slice.
func (e *Engine) createWith(ctx context.Context, spec engine.NetworkSpec, prefixes []netip.Prefix, options map[string]string) error {
	ipv6 := slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Addr().Is6() })
	request := client.NetworkCreateOptions{
		Driver: "bridge", Labels: maps.Clone(spec.Labels), Options: options,
		EnableIPv6: &ipv6, IPAM: &network.IPAM{Driver: "default"},
	}
	for _, prefix := range prefixes {
		config := network.IPAMConfig{Subnet: prefix, Gateway: prefix.Addr().Next()}
		if dynamic := engine.DynamicSlice(prefix); dynamic.IsValid() {
			config.IPRange = dynamic
		}
		request.IPAM.Config = append(request.IPAM.Config, config)
	}
	created, err := e.client.NetworkCreate(ctx, spec.Name, request)
	switch {
	case errdefs.IsConflict(err):
		return &engine.ConflictError{Resource: engine.ResourceName, Value: spec.Name, Err: err}
	case err != nil:
		return e.explainCreate(ctx, prefixes, err)
	}
	return e.settle(ctx, spec.Name, created.ID)
}

// explainCreate finds out whether a network was not created because its subnet
// is another's. Docker answers 403 for it, and 500 where it noticed late, by
// the gateway's address.
func (e *Engine) explainCreate(ctx context.Context, prefixes []netip.Prefix, cause error) error {
	if !errdefs.IsPermissionDenied(cause) && kindOf(cause) != nil {
		return typed(cause)
	}
	return adapter.ExplainCreate(ctx, e, prefixes, cause, errdefs.IsPermissionDenied)
}

// settle gives way to an older network of the same name. Ours cannot make one,
// they hold claims; another program's can, before Docker 25.
func (e *Engine) settle(ctx context.Context, name, id string) error {
	named, err := e.named(ctx, name)
	if err != nil {
		return err
	}
	if len(named) == 0 || named[0].ID == id {
		return nil
	}
	if _, err := e.client.NetworkRemove(ctx, id, client.NetworkRemoveOptions{}); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove network with duplicate name: %w", typed(err))
	}
	return &engine.ConflictError{Resource: engine.ResourceName, Value: name}
}

func older(a, b network.Summary) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}
