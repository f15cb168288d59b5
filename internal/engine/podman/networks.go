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
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// networkBody is a network as Podman's API takes and returns it.
type networkBody struct {
	Name    string       `json:"name"`
	ID      string       `json:"id,omitempty"`
	Driver  string       `json:"driver"`
	Created time.Time    `json:"created,omitzero"`
	Subnets []subnetBody `json:"subnets,omitempty"`
	IPv6    bool         `json:"ipv6_enabled"`
	DNS     bool         `json:"dns_enabled"`
	// Internal is only read.
	Internal bool              `json:"internal,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
}

type subnetBody struct {
	Subnet  netip.Prefix `json:"subnet"`
	Gateway netip.Addr   `json:"gateway,omitzero"`
	Lease   *leaseRange  `json:"lease_range,omitempty"`
}

type leaseRange struct {
	Start netip.Addr `json:"start_ip,omitzero"`
	End   netip.Addr `json:"end_ip,omitzero"`
}

func networkPath(name string) string { return "/networks/" + url.PathEscape(name) }

// InspectNetwork implements engine.Networks.
func (e *Engine) InspectNetwork(ctx context.Context, name string) (engine.Network, error) {
	raw, err := e.network(ctx, name)
	if err != nil {
		return engine.Network{}, err
	}
	return raw.observed(), nil
}

// ListNetworks implements engine.Inventory. Several labels are an "or" for some
// versions, so what they answer is looked through.
func (e *Engine) ListNetworks(ctx context.Context, selector map[string]string) ([]engine.Network, error) {
	var answer []networkBody
	if err := e.call(ctx, get("/networks/json").filtered(labelFilter(selector)), &answer); err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	answer = slices.DeleteFunc(answer, func(n networkBody) bool { return !adapter.Carries(n.Labels, selector) })
	return adapter.List(answer, networkBody.observed, func(n engine.Network) string { return n.Name }), nil
}

// network finds a network by its exact name: Podman takes the beginning of an ID
// too.
func (e *Engine) network(ctx context.Context, name string) (networkBody, error) {
	fail := func(err error) (networkBody, error) {
		return networkBody{}, fmt.Errorf("inspect network %q: %w", name, err)
	}
	if name == "" {
		return fail(fmt.Errorf("no name: %w", engine.ErrInvalid))
	}
	var raw networkBody
	if err := e.call(ctx, get(networkPath(name)+"/json"), &raw); err != nil {
		return fail(err)
	}
	if raw.Name != name {
		return fail(engine.ErrNotFound)
	}
	return raw, nil
}

func (n networkBody) observed() engine.Network {
	return engine.Network{
		ID: n.ID, Name: n.Name, Labels: n.Labels, Driver: n.Driver, Internal: n.Internal, CreatedAt: n.Created, Subnets: n.subnets(),
	}
}

func (n networkBody) subnets() []engine.Subnet {
	var out []engine.Subnet
	for _, raw := range n.Subnets {
		subnet := engine.Subnet{Prefix: raw.Subnet.Masked(), Gateway: raw.Gateway}
		if raw.Lease != nil {
			subnet.Dynamic = raw.Lease.prefix(subnet.Prefix)
		}
		out = append(out, subnet)
	}
	slices.SortStableFunc(out, func(a, b engine.Subnet) int { return a.Prefix.Addr().BitLen() - b.Prefix.Addr().BitLen() })
	return out
}

// leaseOf is the range of addresses of a slice, without the last one of the
// subnet, which is the broadcast address of IPv4.
func leaseOf(dynamic netip.Prefix) *leaseRange {
	if !dynamic.IsValid() {
		return nil
	}
	last := dynamic.Addr().AsSlice()
	for bit := dynamic.Bits(); bit < dynamic.Addr().BitLen(); bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	end, _ := netip.AddrFromSlice(last)
	return &leaseRange{Start: dynamic.Addr(), End: end.Prev()}
}

// prefix is the smallest one with all addresses of the range: of a range that
// a user chose, it may have more. Of one that is open at an end it is
// none, which means the whole subnet.
func (r leaseRange) prefix(subnet netip.Prefix) netip.Prefix {
	if !r.Start.IsValid() || !r.End.IsValid() {
		return netip.Prefix{}
	}
	for bits := r.Start.BitLen(); bits > subnet.Bits(); bits-- {
		if candidate := netip.PrefixFrom(r.Start, bits).Masked(); candidate.Contains(r.End) {
			return candidate
		}
	}
	return subnet
}

// RemoveNetwork implements engine.Networks. It also removes what interrupted
// creations of the network left behind.
func (e *Engine) RemoveNetwork(ctx context.Context, name string) error {
	fail := func(err error) error { return fmt.Errorf("remove network %q: %w", name, err) }
	if err := e.sweep(ctx, name); err != nil {
		return fail(err)
	}
	if _, err := e.network(ctx, name); err != nil {
		return engine.IgnoreNotFound(err)
	}
	if err := e.removeNetwork(ctx, name); err != nil {
		return fail(err)
	}
	return nil
}

// removal is what Podman answers for each requested network.
type removal struct {
	Name string
	Err  any
}

func (e *Engine) removeNetwork(ctx context.Context, name string) error {
	var removed []removal
	err := e.call(ctx, remove(networkPath(name)), &removed)
	if err != nil {
		return engine.IgnoreNotFound(err)
	}
	for _, one := range removed {
		if one.Err != nil {
			return fmt.Errorf("%v", one.Err)
		}
	}
	return nil
}

// connectBody attaches a container to a network.
type connectBody struct {
	Container string `json:"container"`
	perNetworkBody
}

type disconnectBody struct {
	Container string `json:"Container"`
	Force     bool   `json:"Force"`
}

// ConnectNetwork implements engine.Networks. Whether an address is free is looked
// up first: a running container whose connection fails on Podman cannot be inspected
// any more, and taking it off frees the address of its rightful holder.
func (e *Engine) ConnectNetwork(ctx context.Context, name, containerName string, attachment engine.Attachment) error {
	fail := func(err error) error {
		return fmt.Errorf("connect container %q to network %q: %w", containerName, name, err)
	}
	raw, err := e.inspect(ctx, containerName)
	if err != nil || isAttached(observed(raw), name) {
		return err
	}
	answer, err := e.network(ctx, name)
	if err != nil {
		return fail(err)
	}
	if err := adapter.Permits(answer.subnets(), attachment.Addresses); err != nil {
		return fail(err)
	}
	if err := reserved(answer.subnets(), attachment.Addresses); err != nil {
		return fail(err)
	}
	conflict, err := e.held(ctx, name, claim{desired: attachment.Addresses, by: raw.ID})
	if err != nil {
		return fail(err)
	}
	if conflict != nil {
		return fail(conflict)
	}
	body := connectBody{Container: raw.ID, perNetworkBody: perNetworkBody{StaticIPs: attachment.Addresses}}
	if err := e.call(ctx, post(networkPath(name)+"/connect").sending(body), nil); err != nil {
		return e.explainConnect(ctx, fail, connecting{network: name, container: raw.ID, cause: err})
	}
	return nil
}

type connecting struct {
	network, container string
	cause              error
}

// explainConnect takes a container off the network again whose connection failed
// and which would stay impossible to inspect. Of a race for an address, which is
// what is left after looking, the winner may then lose it to a later start.
func (e *Engine) explainConnect(ctx context.Context, fail func(error) error, c connecting) error {
	answer, err := e.InspectContainer(ctx, c.container)
	if err == nil && isAttached(answer, c.network) {
		return nil
	}
	if err != nil && !errors.Is(err, engine.ErrNotFound) && ctx.Err() == nil {
		err = e.disconnect(ctx, c.network, c.container)
		if _, inspectErr := e.inspect(ctx, c.container); inspectErr != nil {
			c.cause = errors.Join(c.cause, err, inspectErr)
		}
	}
	if address, ok := saysAddressTaken(c.cause); ok {
		return fail(&engine.ConflictError{Resource: engine.ResourceAddress, Value: address.String(), Err: c.cause})
	}
	return fail(c.cause)
}

// isAttached reports whether a container is on a network: a running one by
// having an address there, another by what it is configured to get.
func isAttached(container engine.Container, network string) bool {
	_, ok := container.Networks[network]
	return ok
}

// DisconnectNetwork implements engine.Networks.
func (e *Engine) DisconnectNetwork(ctx context.Context, name, containerName string) error {
	if _, err := e.network(ctx, name); err != nil {
		return engine.IgnoreNotFound(err)
	}
	var cause error
	raw, err := e.inspect(ctx, containerName)
	if err == nil && isAttached(observed(raw), name) {
		if cause = e.disconnect(ctx, name, raw.ID); cause == nil {
			return nil
		}
		raw, err = e.inspect(ctx, containerName)
	}
	if isCause(err, define.ErrInternal) {
		cause = errors.Join(cause, e.completeDisconnect(ctx, name, containerName))
		raw, err = e.inspect(ctx, containerName)
	}
	if err == nil && !isAttached(observed(raw), name) || errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("disconnect container %q from network %q: %w", containerName, name, errors.Join(cause, err))
}

// completeDisconnect makes a container one that can be inspected again. Podman
// takes a container off the network in its database before it has netavark do it,
// which fails while another container of the host starts or ends aardvark-dns
// ("aardvark pid not found"). From then on the database and the state of the
// container disagree, which only another connection ends.
func (e *Engine) completeDisconnect(ctx context.Context, name, container string) error {
	if err := e.call(ctx, post(networkPath(name)+"/connect").sending(connectBody{Container: container}), nil); err != nil {
		return fmt.Errorf("connect it again: %w", err)
	}
	return e.disconnect(ctx, name, container)
}

func (e *Engine) disconnect(ctx context.Context, name, id string) error {
	return e.call(ctx, post(networkPath(name)+"/disconnect").sending(disconnectBody{Container: id}), nil)
}
