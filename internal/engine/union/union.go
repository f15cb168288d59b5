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

// Package union makes the engines of one cluster look like one: a container is found on whichever has it, and a list
// has those of all. What is created is created on the first.
//
//	cluster := union.New(func() []union.Member { return []union.Member{{Name: "a", Engine: a}, {Name: "b", Engine: b}} })
package union

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/forward"
)

// Member is one of the engines.
type Member struct {
	// Name of it in messages.
	Name   string
	Engine engine.Engine
	// Err says why there is no Engine.
	Err error
}

// Engine is all of the members. Methods that change a container change it where it is. A container that no member has is not
// found only if all have responded. Images, volumes, the host and what is created are those of the first member.
type Engine struct {
	forward.Engine

	members func() []Member
}

// PartialError says which members did not respond to a list, which has what the others have. It matches
// engine.ErrUnavailable.
type PartialError struct {
	// Missing are the names of the members.
	Missing []string
	// Err is why.
	Err error
}

// Error implements error.
func (e *PartialError) Error() string {
	return fmt.Sprintf("no response from %s: %v", strings.Join(e.Missing, ", "), e.Err)
}

// Unwrap makes it an engine.ErrUnavailable.
func (e *PartialError) Unwrap() []error { return []error{engine.ErrUnavailable, e.Err} }

// New returns the union of the members at the time of each call, of which there is at least one.
func New(members func() []Member) *Engine {
	u := &Engine{members: members}
	u.Engine = forward.New(u.pass)
	return u
}

// ofContainer are the methods that a member without the container refuses as not found, and so changes nothing.
var ofContainer = []string{"InspectContainer", "StartContainer", "StopContainer", "UpdateResources", "Exec", "Download", "ContainerLog"}

func (u *Engine) pass(ctx context.Context, call forward.Call, do func(context.Context, engine.Engine) error) error {
	members := u.members()
	if !slices.Contains(ofContainer, call.Method) {
		return members[0].do(ctx, do)
	}
	var notFound error
	var unknown []error
	for _, member := range members {
		err := member.do(ctx, do)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			notFound = cmp.Or(notFound, err)
		case errors.Is(err, engine.ErrUnavailable):
			unknown = append(unknown, err)
		default:
			return err
		}
	}
	if len(unknown) > 0 {
		return errors.Join(unknown...)
	}
	return notFound
}

func (m Member) do(ctx context.Context, do func(context.Context, engine.Engine) error) error {
	if m.Engine == nil {
		return m.Err
	}
	return do(ctx, m.Engine)
}

// ListContainers implements engine.ContainerReader. Where a member does not respond, the list has those of the others, and the error
// is a *PartialError.
func (u *Engine) ListContainers(ctx context.Context, selector map[string]string) ([]engine.Container, error) {
	var all []engine.Container
	var partial PartialError
	for _, member := range u.members() {
		err := member.do(ctx, func(ctx context.Context, eng engine.Engine) error {
			containers, err := eng.ListContainers(ctx, selector)
			all = append(all, containers...)
			return err
		})
		switch {
		case errors.Is(err, engine.ErrUnavailable):
			partial.Missing, partial.Err = append(partial.Missing, member.Name), cmp.Or(partial.Err, err)
		case err != nil:
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b engine.Container) int { return cmp.Compare(a.Name, b.Name) })
	if len(partial.Missing) > 0 {
		return all, &partial
	}
	return all, nil
}

// Find the member that has a container: engine.ErrNotFound if none has, and that is known of all.
func (u *Engine) Find(ctx context.Context, name string) (Member, error) {
	var notFound error
	var unknown []error
	for _, member := range u.members() {
		err := member.do(ctx, func(ctx context.Context, eng engine.Engine) error {
			_, err := eng.InspectContainer(ctx, name)
			return err
		})
		switch {
		case err == nil:
			return member, nil
		case errors.Is(err, engine.ErrNotFound):
			notFound = err
		default:
			unknown = append(unknown, err)
		}
	}
	if len(unknown) > 0 {
		return Member{}, errors.Join(unknown...)
	}
	return Member{}, notFound
}

// RemoveContainer implements engine.ContainerWriter.
func (u *Engine) RemoveContainer(ctx context.Context, name string) error {
	member, err := u.Find(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return member.Engine.RemoveContainer(ctx, name)
}

// Upload implements engine.Archiver. The archive can be read once.
func (u *Engine) Upload(ctx context.Context, name string, archive io.Reader) error {
	member, err := u.Find(ctx, name)
	if err != nil {
		return err
	}
	return member.Engine.Upload(ctx, name, archive)
}

// Networks of a name on each member: an error if a member does not respond or lacks it.
func (u *Engine) Networks(ctx context.Context, name string) (map[string]engine.Network, error) {
	networks := map[string]engine.Network{}
	for _, member := range u.members() {
		err := member.do(ctx, func(ctx context.Context, eng engine.Engine) error {
			network, err := eng.InspectNetwork(ctx, name)
			networks[member.Name] = network
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("network %q of ContainerEngine %q: %w", name, member.Name, err)
		}
	}
	return networks, nil
}

// InspectNetwork implements engine.Networks: the network of the first member. No address of it is dynamic on one
// of the others.
func (u *Engine) InspectNetwork(ctx context.Context, name string) (engine.Network, error) {
	networks, err := u.Networks(ctx, name)
	if err != nil {
		return engine.Network{}, err
	}
	network := networks[u.members()[0].Name]
	network.Subnets = slices.Clone(network.Subnets)
	for i := range network.Subnets {
		for _, other := range networks {
			network.Subnets[i] = joined(network.Subnets[i], other.Subnets)
		}
	}
	return network, nil
}

// joined is a subnet whose dynamic addresses are also those of the same subnet of others.
func joined(subnet engine.Subnet, others []engine.Subnet) engine.Subnet {
	for _, other := range others {
		if other.Prefix == subnet.Prefix && subnet.Dynamic.IsValid() {
			subnet.Dynamic = Covering(subnet.Dynamic, cmp.Or(other.Dynamic, other.Prefix))
		}
	}
	return subnet
}

// Covering is the smallest prefix that has both, which are of one family.
func Covering(a, b netip.Prefix) netip.Prefix {
	bits := min(a.Bits(), b.Bits())
	for bits > 0 && netip.PrefixFrom(a.Addr(), bits).Masked() != netip.PrefixFrom(b.Addr(), bits).Masked() {
		bits--
	}
	return netip.PrefixFrom(a.Addr(), bits).Masked()
}

// Events implements engine.EventSource: those of the first member. Others have streams of their own.
func (u *Engine) Events(ctx context.Context, handle func(engine.Event)) {
	if first := u.members()[0]; first.Engine != nil {
		first.Engine.Events(ctx, handle)
	}
}

// Close implements engine.Host. The members are closed by those who opened them.
func (u *Engine) Close() error { return nil }

var _ engine.Engine = (*Engine)(nil)
