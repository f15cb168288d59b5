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

package up

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// checkNetwork refuses a network of the engine that the cluster could not use: nothing but another
// cluster would help once it has been created.
func (r *run) checkNetwork(ctx context.Context, name string) error {
	var given infrav1.Network
	if r.request.Topology != nil {
		decodeVariable(r.request.Topology.Variables, objects.NetworkVariable, &given)
	}
	subnets, err := network.ParseSubnets(given.Subnet)
	if err != nil {
		return nil //nolint:nilerr // admit refuses it
	}
	on, err := r.on(ctx)
	if err != nil {
		return err
	}
	request := network.Request{Name: name, Families: r.request.Families(), Subnets: subnets}
	if len(r.others) > 0 {
		err = r.checkShared(ctx, on, request)
	} else {
		err = network.Check(ctx, on.Engine, request)
	}
	if unusable, is := errors.AsType[*network.UnusableError](err); is {
		return input.Refuse(input.Problem{Field: "--network", Value: name, Reason: unusable.Reason, Remedy: unusable.Remedy})
	}
	return err
}

// checkShared refuses a network that is not one on all engines of the cluster.
func (r *run) checkShared(ctx context.Context, first *session.Session, request network.Request) error {
	networks := map[string]engine.Network{}
	add := func(on *session.Session) error {
		found, err := on.Engine.InspectNetwork(ctx, request.Name)
		if errors.Is(err, engine.ErrNotFound) {
			return &network.UnusableError{
				Network: request.Name, Reason: fmt.Sprintf("of ContainerEngine %q not found", on.EngineName),
				Remedy: fmt.Sprintf("create it on each engine, here with \"%s network create -d macvlan\"", on.Info.Name),
			}
		}
		networks[on.EngineName] = found
		return err
	}
	if err := errors.Join(add(first), r.onOthers(ctx, add)); err != nil {
		return err
	}
	return network.CheckShared(networks, request)
}

// decideRanges keeps the cluster's address ranges away from those that nodes and Pods have
// to reach: networks of the engine, and networks, name servers and proxies of this host.
func (r *run) decideRanges(ctx context.Context, values *objects.Values) error {
	used, err := r.usedRanges(ctx)
	if err != nil {
		return err
	}
	if reason := input.CheckCapacity(r.request.PodCIDR, int(values.ControlPlanes+values.Workers)); reason != "" {
		return input.Refuse(input.Problem{
			Field: "--pod-cidr", Value: r.request.PodCIDR, Reason: reason, Remedy: "use a larger range, such as " + input.DefaultPodCIDR,
		})
	}
	values.PodCIDR, values.ServiceCIDR, err = input.Ranges(r.request, used)
	return err
}

// usedRanges are those of the engine, of this host if the engine is on it, and of proxies:
// nodes use them wherever they are. In memory, nothing is reached.
func (r *run) usedRanges(ctx context.Context) ([]input.UsedRange, error) {
	if r.session.InMemory {
		return nil, nil
	}
	on, err := r.on(ctx)
	if err != nil {
		return nil, err
	}
	networks, err := on.Engine.ListNetworks(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	var used []input.UsedRange
	for _, found := range networks {
		for _, subnet := range found.Subnets {
			used = append(used, input.UsedRange{Prefix: subnet.Prefix, By: fmt.Sprintf("subnet %s of network %q", subnet.Prefix, found.Name)})
		}
	}
	if !plane.NeedsTunnels(on.Info) {
		used = append(used, r.session.HostNetworks()...)
	}
	return append(used, proxyAddresses(r.session.Getenv)...), nil
}

// proxyAddresses of the environment that are no names. No proxy is printed: it may have a
// password.
func proxyAddresses(getenv func(string) string) []input.UsedRange {
	var used []input.UsedRange
	proxies, _ := proxiesOf(getenv)
	for _, proxy := range proxies {
		if address, err := netip.ParseAddr(proxyHost(proxy.Value)); err == nil {
			address = address.Unmap().WithZone("")
			used = append(used, input.UsedRange{
				Prefix: netip.PrefixFrom(address, address.BitLen()), By: fmt.Sprintf("proxy %s (%s)", address, proxy.Name),
			})
		}
	}
	return used
}
