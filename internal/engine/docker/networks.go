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
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// InspectNetwork implements engine.Networks.
func (e *Engine) InspectNetwork(ctx context.Context, name string) (engine.Network, error) {
	raw, err := e.network(ctx, name)
	if err != nil {
		return engine.Network{}, err
	}
	return observedNetwork(raw.Network), nil
}

// network finds a network by its exact name. Of several, which Docker before
// version 25 permits, it takes the oldest, as CreateNetwork does.
func (e *Engine) network(ctx context.Context, name string) (network.Inspect, error) {
	fail := func(err error) (network.Inspect, error) {
		return network.Inspect{}, fmt.Errorf("inspect network %q: %w", name, err)
	}
	if err := e.open(ctx); err != nil {
		return fail(err)
	}
	if name == "" {
		return fail(fmt.Errorf("no name: %w", engine.ErrInvalid))
	}
	answer, err := e.client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err == nil && answer.Network.Name == name {
		return answer.Network, nil
	}
	if err != nil && kindOf(err) != nil && !errdefs.IsInvalidArgument(err) {
		return fail(typed(err))
	}
	// Taken for an ID, or ambiguous.
	named, err := e.named(ctx, name)
	if err != nil {
		return fail(err)
	}
	if len(named) == 0 {
		return fail(engine.ErrNotFound)
	}
	answer, err = e.client.NetworkInspect(ctx, named[0].ID, client.NetworkInspectOptions{})
	if err != nil {
		return fail(typed(err))
	}
	return answer.Network, nil
}

// named returns the networks of that exact name, the oldest first.
func (e *Engine) named(ctx context.Context, name string) ([]network.Summary, error) {
	all, err := e.client.NetworkList(ctx, client.NetworkListOptions{Filters: client.Filters{}.Add("name", name)})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", typed(err))
	}
	// Docker's filter also matches parts of names.
	named := slices.DeleteFunc(all.Items, func(n network.Summary) bool { return n.Name != name })
	slices.SortFunc(named, older)
	return named, nil
}

// ListNetworks implements engine.Inventory.
func (e *Engine) ListNetworks(ctx context.Context, selector map[string]string) ([]engine.Network, error) {
	if err := e.open(ctx); err != nil {
		return nil, err
	}
	raw, err := e.client.NetworkList(ctx, client.NetworkListOptions{Filters: labelFilter(selector)})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", typed(err))
	}
	observed := func(listed network.Summary) engine.Network { return observedNetwork(listed.Network) }
	return adapter.List(raw.Items, observed, func(n engine.Network) string { return n.Name }), nil
}

func observedNetwork(raw network.Network) engine.Network {
	return engine.Network{
		ID: raw.ID, Name: raw.Name, Labels: raw.Labels, Driver: raw.Driver, Internal: raw.Internal, CreatedAt: raw.Created,
		Subnets: subnets(raw.IPAM),
	}
}

func subnets(ipam network.IPAM) []engine.Subnet {
	var out []engine.Subnet
	for _, config := range ipam.Config {
		if config.Subnet.IsValid() {
			out = append(out, engine.Subnet{Prefix: config.Subnet.Masked(), Gateway: config.Gateway, Dynamic: config.IPRange.Masked()})
		}
	}
	slices.SortStableFunc(out, func(a, b engine.Subnet) int { return a.Prefix.Addr().BitLen() - b.Prefix.Addr().BitLen() })
	return out
}

// RemoveNetwork implements engine.Networks. Docker itself would remove the
// network of stopped containers, which then could not start again.
func (e *Engine) RemoveNetwork(ctx context.Context, name string) error {
	fail := func(err error) error { return fmt.Errorf("remove network %q: %w", name, err) }
	if err := e.open(ctx); err != nil {
		return fail(err)
	}
	if err := e.sweep(ctx, name); err != nil {
		return fail(err)
	}
	raw, err := e.network(ctx, name)
	if err != nil {
		return engine.IgnoreNotFound(err)
	}
	attached, err := e.attached(ctx, raw)
	if err != nil {
		return fail(err)
	}
	if attached != "" {
		return fail(fmt.Errorf("container %q is attached: %w", attached, engine.ErrConflict))
	}
	_, err = e.client.NetworkRemove(ctx, raw.ID, client.NetworkRemoveOptions{})
	switch {
	case err == nil, errdefs.IsNotFound(err):
		return nil
	case errdefs.IsPermissionDenied(err):
		// Docker's answer for a network with active endpoints.
		return fail(engine.WithKind(err, engine.ErrConflict))
	default:
		return fail(typed(err))
	}
}

// sweep removes what interrupted creations of the network left behind.
func (e *Engine) sweep(ctx context.Context, name string) error {
	answer, err := e.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return fmt.Errorf("get engine time: %w", typed(err))
	}
	_, err = e.tidyClaims(ctx, name, tidying{now: parseTime(answer.Info.SystemTime)})
	return err
}

// attached names a container on the network, running or not, or "". A
// container that never ran knows the network by name only.
func (e *Engine) attached(ctx context.Context, raw network.Inspect) (string, error) {
	for _, reference := range []string{raw.ID, raw.Name} {
		answer, err := e.client.ContainerList(ctx, client.ContainerListOptions{
			All: true, Filters: client.Filters{}.Add("network", reference),
		})
		if err != nil {
			return "", fmt.Errorf("list attached containers: %w", typed(err))
		}
		if len(answer.Items) > 0 {
			return ownName(answer.Items[0].Names), nil
		}
	}
	return "", nil
}

// ConnectNetwork implements engine.Networks.
func (e *Engine) ConnectNetwork(ctx context.Context, name, containerName string, attachment engine.Attachment) error {
	fail := func(err error) error {
		return fmt.Errorf("connect container %q to network %q: %w", containerName, name, err)
	}
	id, isAttached, err := e.attachment(ctx, name, containerName)
	if err != nil || isAttached {
		return err
	}
	raw, err := e.network(ctx, name)
	if err != nil {
		return fail(err)
	}
	if err := adapter.Permits(subnets(raw.IPAM), attachment.Addresses); err != nil {
		return fail(err)
	}
	_, cause := e.client.NetworkConnect(ctx, raw.ID, client.NetworkConnectOptions{
		Container: id, EndpointConfig: endpointSettings(attachment),
	})
	if cause == nil {
		return nil
	}
	if _, isAttached, err := e.attachment(ctx, name, containerName); err == nil && isAttached {
		return nil
	}
	// Docker 20.10 keeps the attachment that did not come about in the
	// container's configuration, for its next start.
	if _, err := e.client.NetworkDisconnect(ctx, raw.ID, client.NetworkDisconnectOptions{Container: id, Force: true}); err != nil && !errdefs.IsNotFound(err) {
		cause = errors.Join(cause, err)
	}
	if errdefs.IsPermissionDenied(cause) && len(attachment.Addresses) > 0 {
		conflict := e.heldAddress(ctx, name, attachment.Addresses)
		if conflict == nil {
			conflict = &engine.ConflictError{Resource: engine.ResourceAddress, Value: adapter.Join(attachment.Addresses, ", ")}
		}
		conflict.Err = cause
		return fail(conflict)
	}
	return fail(typed(cause))
}

// attachment reports a container's ID and whether it is on the network: a
// running one has an endpoint there, another is configured to get one.
func (e *Engine) attachment(ctx context.Context, name, containerName string) (string, bool, error) {
	raw, err := e.inspect(ctx, containerName)
	if err != nil || raw.NetworkSettings == nil {
		return "", false, err
	}
	at, ok := raw.NetworkSettings.Networks[name]
	if ok && observed(raw).Status == engine.StatusRunning {
		ok = at != nil && at.EndpointID != ""
	}
	return raw.ID, ok, nil
}

// DisconnectNetwork implements engine.Networks.
func (e *Engine) DisconnectNetwork(ctx context.Context, name, containerName string) error {
	raw, err := e.network(ctx, name)
	if err != nil {
		return engine.IgnoreNotFound(err)
	}
	id, isAttached, err := e.attachment(ctx, name, containerName)
	if err != nil || !isAttached {
		return engine.IgnoreNotFound(err)
	}
	_, cause := e.client.NetworkDisconnect(ctx, raw.ID, client.NetworkDisconnectOptions{Container: id, Force: true})
	if cause == nil || errdefs.IsNotFound(cause) {
		return nil
	}
	if _, isAttached, err := e.attachment(ctx, name, containerName); !isAttached && (err == nil || errors.Is(err, engine.ErrNotFound)) {
		return nil
	}
	return fmt.Errorf("disconnect container %q from network %q: %w", containerName, name, typed(cause))
}
