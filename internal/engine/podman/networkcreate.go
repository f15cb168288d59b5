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

package podman

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// creatingLifetime is after how long a network that exists only until its
// subnet is known counts as left behind by
// one who was interrupted: far longer than creating takes.
const creatingLifetime = 15 * time.Second

// CreateNetwork implements engine.Networks.
//
// Podman confines dynamic addresses only in a subnet that the creator named, and
// only Podman knows which subnets are free. So it is let choose one for a network
// under another name, which is removed, and the network is created with that
// subnet. It appears with its final shape in one call: an interruption
// before leaves nothing under the network's name. Of two callers that create one name
// Podman lets one win.
func (e *Engine) CreateNetwork(ctx context.Context, spec engine.NetworkSpec) (engine.Network, error) {
	if err := e.createNetwork(ctx, spec); err != nil {
		return engine.Network{}, fmt.Errorf("create network %q: %w", spec.Name, err)
	}
	return e.InspectNetwork(ctx, spec.Name)
}

func (e *Engine) createNetwork(ctx context.Context, spec engine.NetworkSpec) error {
	if err := adapter.CheckNetwork(spec); err != nil {
		return err
	}
	if err := e.nameFree(ctx, spec.Name); err != nil {
		return err
	}
	if err := e.sweep(ctx, spec.Name); err != nil {
		return err
	}
	return adapter.CreateNetwork(ctx, e, spec, adapter.SubnetChoice{
		Choose:     e.chooseSubnets,
		Create:     func(ctx context.Context, prefixes []netip.Prefix) error { return e.createWith(ctx, spec, prefixes) },
		MayBeTaken: func(err error) bool { return engine.IsTaken(err, engine.ResourceSubnet) },
	})
}

func (e *Engine) nameFree(ctx context.Context, name string) error {
	_, err := e.network(ctx, name)
	if err == nil {
		return &engine.ConflictError{Resource: engine.ResourceName, Value: name}
	}
	return engine.IgnoreNotFound(err)
}

// interfaceAttempts bounds the attempts of postNetwork. With bridges created and deleted
// all the time, one request of 750 failed.
const interfaceAttempts = 10

// postNetwork creates a network. Podman first reads the addresses of the host's interfaces,
// which fails where an interface appears at that moment. Nothing is created then, and another
// request is the remedy.
func (e *Engine) postNetwork(ctx context.Context, body networkBody, into any) error {
	for attempt := 1; ; attempt++ {
		err := e.call(ctx, post("/networks/create").sending(body), into)
		if attempt == interfaceAttempts || !isCause(err, errNoSuchInterface) {
			return err
		}
	}
}

// chooseSubnets lets Podman choose, for a network that is removed immediately.
func (e *Engine) chooseSubnets(ctx context.Context, name string) ([]engine.Subnet, error) {
	temporary := networkBody{
		Name: name + "-subnet-" + strings.ToLower(rand.Text()), Driver: "bridge", Labels: map[string]string{engine.LabelCreating: name},
	}
	var created networkBody
	err := e.postNetwork(ctx, temporary, &created)
	// Removed also when the creation seems not to have succeeded: the answer may
	// have been lost.
	tidy, cancel := adapter.Cleanup(ctx)
	defer cancel()
	if removeErr := e.removeNetwork(tidy, temporary.Name); removeErr != nil {
		err = errors.Join(err, fmt.Errorf("remove temporary network %q: %w", temporary.Name, removeErr))
	}
	return created.subnets(), err
}

// createWith creates the network with these subnets, gateway and lease range
// spelled out.
func (e *Engine) createWith(ctx context.Context, spec engine.NetworkSpec, prefixes []netip.Prefix) error {
	body := networkBody{
		Name: spec.Name, Driver: "bridge", Labels: maps.Clone(spec.Labels), DNS: true,
		IPv6: slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Addr().Is6() }),
	}
	for _, prefix := range prefixes {
		body.Subnets = append(body.Subnets, subnetBody{
			Subnet: prefix, Gateway: prefix.Addr().Next(), Lease: leaseOf(engine.DynamicSlice(prefix)),
		})
	}
	err := e.postNetwork(ctx, body, nil)
	switch {
	case err == nil:
		return nil
	case isCause(err, define.ErrNetworkExists), errors.Is(err, engine.ErrConflict):
		return &engine.ConflictError{Resource: engine.ResourceName, Value: spec.Name, Err: err}
	case errors.Is(err, engine.ErrUnavailable), ctx.Err() != nil:
		return err
	default:
		return adapter.ExplainCreate(ctx, e, prefixes, err, saysSubnetTaken)
	}
}

// saysSubnetTaken reads the words of Podman's network library, the same from 4.3 to 5.8: that
// the subnet is one of the host's own shows nowhere else. Should they change, the creation
// still fails with the cause, only without the type.
func saysSubnetTaken(cause error) bool {
	return strings.Contains(cause.Error(), "is already used on the host or by another config")
}

// sweep removes the temporary networks that interrupted creations of the name
// left behind.
func (e *Engine) sweep(ctx context.Context, name string) error {
	var answer []networkBody
	list := get("/networks/json").filtered(labelFilter(map[string]string{engine.LabelCreating: name}))
	header, err := e.callForHeader(ctx, list, &answer)
	if err != nil {
		return fmt.Errorf("list temporary networks: %w", err)
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return fmt.Errorf("get engine time: %w", err)
	}
	for _, network := range answer {
		if network.Labels[engine.LabelCreating] != name || now.Sub(network.Created) < creatingLifetime {
			continue
		}
		if err := e.removeNetwork(ctx, network.Name); err != nil {
			return fmt.Errorf("remove temporary network %q: %w", network.Name, err)
		}
	}
	return nil
}
