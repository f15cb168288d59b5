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

package lan

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// patience with a response: the kernel gives up an address that no host has after three seconds, and a busy host
// starts a process late.
const patience = 10 * time.Second

const (
	// executeLimit bounds the command that asks, which ends by itself.
	executeLimit = patience + 15*time.Second
	// removeLimit bounds removing a container, also when the caller has gone.
	removeLimit = 30 * time.Second
)

// Check says why the network does not connect the hosts: *network.UnusableError, which names them. It creates a container
// on each, with an address that the engine gives, and has each of them ask all others. The containers are removed before it
// returns. Those that it leaves when it is killed have the owner's labels, and identity.RoleProbe.
//
// Image or network absent: engine.ErrNotFound. A container of that name is left: engine.ErrConflict.
func Check(ctx context.Context, request Request) (err error) {
	var probes []probe
	defer func() {
		if failed := remove(ctx, probes); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	for _, host := range request.Hosts {
		id, err := request.create(ctx, host)
		if err != nil {
			return err
		}
		probes = append(probes, probe{host: host, id: id})
		started := &probes[len(probes)-1]
		if started.addresses, err = request.start(ctx, host, id); err != nil {
			return err
		}
	}
	for i, from := range probes {
		others := slices.Delete(slices.Clone(probes), i, i+1)
		if err := request.ask(ctx, from, others); err != nil {
			return err
		}
	}
	return nil
}

// probe is a container on a host.
type probe struct {
	host      Host
	id        string
	addresses []netip.Addr
}

func (r Request) create(ctx context.Context, host Host) (string, error) {
	spec := r.container(host)
	id, err := host.Engine.CreateContainer(ctx, spec)
	if err != nil {
		return "", fmt.Errorf("on ContainerEngine %q: %w", host.Name, engine.Failed("create", spec.Name, err))
	}
	return id, nil
}

// start a container that was created, and return its addresses.
func (r Request) start(ctx context.Context, host Host, id string) ([]netip.Addr, error) {
	err := host.Engine.Upload(ctx, id, files(r.Families))
	if err == nil {
		err = host.Engine.StartContainer(ctx, id)
	}
	var container engine.Container
	if err == nil {
		container, err = host.Engine.InspectContainer(ctx, id)
	}
	addresses := r.Families.Choose(container.Networks[r.Network].Addresses)
	if err == nil && len(addresses) < len(r.Families) {
		err = fmt.Errorf("%w: status %s, addresses %v", errNoAddress, container.Status, addresses)
	}
	if err != nil {
		return nil, fmt.Errorf("on ContainerEngine %q: %w", host.Name, engine.Failed("start", r.name(host), err))
	}
	return addresses, nil
}

// errNoAddress: it ended, or the engine's range is exhausted.
var errNoAddress = errors.New("container has no address on the network")

// ask the others from one container.
func (r Request) ask(ctx context.Context, from probe, others []probe) error {
	var all []netip.Addr
	for _, other := range others {
		all = append(all, other.addresses...)
	}
	limited, cancel := context.WithTimeout(ctx, executeLimit)
	defer cancel()
	output, err := from.host.Engine.Exec(limited, from.id, command(all))
	if err != nil {
		return fmt.Errorf("on ContainerEngine %q: %w", from.host.Name, engine.Failed("ask other hosts from", r.name(from.host), err))
	}
	reached := parse(string(output.Stdout))
	var silent, cut []string
	for _, other := range others {
		name := fmt.Sprintf("%q", other.host.Name)
		switch worst := slices.MinFunc(other.addresses, func(a, b netip.Addr) int { return int(reached[a]) - int(reached[b]) }); reached[worst] {
		case Silent:
			silent = append(silent, name)
		case Connects:
			cut = append(cut, name)
		case Responds:
		}
	}
	unusable := &network.UnusableError{Network: r.Network}
	switch {
	case len(silent) > 0:
		unusable.Reason = fmt.Sprintf("does not connect ContainerEngine %q with %s: no response within %s", from.host.Name, strings.Join(silent, ", "), patience)
		unusable.Remedy = "connect its parent interfaces on these hosts to one LAN or VLAN, whose switch accepts several MAC addresses on a port"
	case len(cut) > 0:
		unusable.Reason = fmt.Sprintf("carries only small packets to ContainerEngine %q from %s: a response of %d bytes does not arrive within %s",
			from.host.Name, strings.Join(cut, ", "), responseBytes, patience)
		unusable.Remedy = "give its parent interfaces on these hosts an MTU that all switches and tunnels between them carry"
	default:
		return nil
	}
	return unusable
}

// remove the containers, also when the caller has gone.
func remove(ctx context.Context, probes []probe) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	var failed []error
	for _, probe := range probes {
		if err := probe.host.Engine.RemoveContainer(ctx, probe.id); err != nil {
			failed = append(failed, fmt.Errorf("remove probe container from ContainerEngine %q: %w", probe.host.Name, err))
		}
	}
	return errors.Join(failed...)
}
