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

package clustervolume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Node of a cluster, as it was observed.
type Node struct {
	engine.Container
	// HasVolume says that the node runs, and mounts the volume of the cluster.
	HasVolume bool
	// Unknown says why it is not known what the node has mounted, as of one that is paused; empty = it
	// is. A container that does not run has nothing mounted, and has nothing when it starts again.
	Unknown string
	Mounts  Mounts
}

// State of the volume of a cluster.
type State struct {
	// Nodes by the names of their containers.
	Nodes map[string]Node
	// Directories of PersistentVolumes with their tokens; nil where no node has the volume mounted.
	Directories map[string]Token
}

// names of the nodes, sorted.
func (s State) names() []string { return slices.Sorted(maps.Keys(s.Nodes)) }

// AnyNode that runs commands on the volume.
func (s State) AnyNode() (container string, found bool) {
	for _, name := range s.names() {
		if s.Nodes[name].HasVolume {
			return name, true
		}
	}
	return "", false
}

// Nodes runs commands in the nodes of a cluster.
type Nodes struct {
	Engine engine.Executor
	// List the containers of the cluster. It returns an error if they may be on another engine.
	List func(ctx context.Context) ([]engine.Container, error)
	// Concurrent is how many nodes are observed at the same time; one by default.
	Concurrent int
}

// Observe all nodes.
func (n Nodes) Observe(ctx context.Context) (State, error) {
	containers, err := n.List(ctx)
	if err != nil {
		return State{}, err
	}
	containers = slices.DeleteFunc(containers, func(c engine.Container) bool {
		role := identity.Role(c.Labels[identity.LabelRole])
		return role != identity.RoleControlPlane && role != identity.RoleWorker
	})
	observed := make([]Observation, len(containers))
	errs := make([]error, len(containers))
	slots := make(chan struct{}, max(1, n.Concurrent))
	var running sync.WaitGroup
	for i, container := range containers {
		observe := func() { observed[i], errs[i] = Observe(ctx, n.Engine, container.Name) }
		switch {
		case container.Status != engine.StatusRunning:
		case n.Concurrent <= 1:
			observe()
		default:
			running.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				observe()
			})
		}
	}
	running.Wait()
	state := State{Nodes: map[string]Node{}}
	for i, container := range containers {
		node := Node{Container: container, Mounts: observed[i].Mounts}
		switch {
		case container.Status == engine.StatusExited, container.Status == engine.StatusCreated, errors.Is(errs[i], ErrNoVolume):
		case container.Status != engine.StatusRunning:
			node.Unknown = "is " + string(container.Status)
		case errs[i] != nil:
			node.Unknown = "does not respond: " + errs[i].Error()
		default:
			node.HasVolume = true
			state.merge(observed[i].Directories)
		}
		state.Nodes[container.Name] = node
	}
	return state, ctx.Err()
}

// merge the tokens that several nodes have read, one after the other: the latest counts.
func (s *State) merge(directories map[string]Token) {
	if s.Directories == nil {
		s.Directories = map[string]Token{}
	}
	for name, token := range directories {
		if before, found := s.Directories[name]; !found || before.Number < token.Number {
			s.Directories[name] = token
		}
	}
}

// Use of a PersistentVolume.
type Use struct {
	Volume string
	// Shared says that Pods on several nodes may use it at the same time.
	Shared bool
	// Containers of the nodes with Pods that use it, in the order in which they get it.
	Containers []string
}

// Decision about one PersistentVolume.
type Decision struct {
	Volume string
	// Shared says that several nodes may have it.
	Shared bool
	// Bind it into these nodes, once it is unbound from the others.
	Bind, Unbind []string
	// Through is the node whose container runs the commands of a move.
	Through string
	// Blocked says why Pods have to wait; empty = they do not. Holder is the container that has it
	// mounted, where that is the reason.
	Blocked, Holder string
}

// Decide where a PersistentVolume is bound. It is bound into another node only if all others are
// known not to have it mounted, but for a bind that no Pod uses. What a node has mounted that
// is not observed follows from the token: only its container may have it.
func (s State) Decide(use Use) Decision {
	d := Decision{Volume: use.Volume, Shared: use.Shared}
	candidates := slices.DeleteFunc(slices.Clone(use.Containers), func(name string) bool { return !s.Nodes[name].HasVolume })
	if len(candidates) == 0 {
		d.Blocked = s.olderNode(use.Containers)
		return d
	}
	token, exists := s.Directories[use.Volume]
	if !exists {
		d.Blocked = ErrNoDirectory.Error()
		return d
	}
	if use.Shared {
		d.Bind = slices.DeleteFunc(candidates, func(name string) bool { return s.Nodes[name].Mounts.Bound[use.Volume] })
		return d
	}
	d.Through = candidates[0]
	if has := slices.IndexFunc(candidates, func(name string) bool { return s.Nodes[name].has(use.Volume) }); has >= 0 {
		d.Through = candidates[has]
	}
	d.Holder, d.Blocked, d.Unbind = s.others(use.Volume, d.Through)
	target := s.Nodes[d.Through]
	if d.Blocked == "" && (!target.Mounts.Bound[use.Volume] || token.Container != target.ID) {
		d.Bind = []string{d.Through}
	}
	return d
}

// olderNode says that Pods are on a node that was created without the volume; empty if they are on
// none.
func (s State) olderNode(containers []string) string {
	for _, name := range containers {
		if node, exists := s.Nodes[name]; exists && node.Status == engine.StatusRunning && node.Unknown == "" {
			return fmt.Sprintf("node container %s: %s", name, ErrNoVolume)
		}
	}
	return ""
}

// others are the nodes but one that have a PersistentVolume mounted: one whose Pods have it, or may
// have it, and why; or those into which it is only bound.
func (s State) others(volume, target string) (holder, reason string, bound []string) {
	for _, name := range s.names() {
		node := s.Nodes[name]
		where, isUsed := node.Mounts.Used[volume]
		switch {
		case name == target:
		case isUsed:
			return name, "has it mounted at " + where, nil
		case node.Unknown != "" && node.ID == s.Directories[volume].Container:
			return name, "may have it mounted, and " + node.Unknown, nil
		case node.Mounts.Bound[volume]:
			bound = append(bound, name)
		}
	}
	return "", "", bound
}

// has reports whether the node has a PersistentVolume mounted.
func (n Node) has(volume string) bool {
	_, isUsed := n.Mounts.Used[volume]
	return isUsed || n.Mounts.Bound[volume]
}

// mayBind reports whether a node may bind a PersistentVolume without another observation: its
// container has the token already, or no container ever had it.
func (s State) mayBind(d Decision) bool {
	token := s.Directories[d.Volume]
	return d.Shared || len(d.Unbind) == 0 && len(d.Bind) == 1 && (token == (Token{}) || token.Container == s.Nodes[d.Bind[0]].ID)
}

// Settle binds PersistentVolumes where they are used. It returns the decisions about those that
// Pods have to wait for.
//
// A node that gets a PersistentVolume of another one gets it in three steps: its token is revoked, so
// that no process that decided earlier binds it any more; it is unbound; and only if all nodes
// are observed after that, and none has it mounted, it is bound. Each step may be the last one of this
// process: the mounts and the token are all that the next one needs.
func (n Nodes) Settle(ctx context.Context, uses []Use) (State, []Decision, error) {
	state, err := n.Observe(ctx)
	if err != nil {
		return state, nil, err
	}
	var blocked []Decision
	var moving []Use
	revoked := map[string]Token{}
	for _, use := range uses {
		d := state.Decide(use)
		if d.isMove(state) {
			token, err := n.revoke(ctx, state, d)
			if err == nil {
				moving, revoked[use.Volume] = append(moving, use), token
				continue
			}
			d.Blocked = err.Error()
		}
		blocked = n.finish(ctx, state, d, blocked)
	}
	if len(moving) == 0 {
		return state, blocked, nil
	}
	if state, err = n.Observe(ctx); err != nil {
		return state, blocked, err
	}
	for _, use := range moving {
		d := state.Decide(use)
		if d.Blocked == "" && (state.Directories[use.Volume] != revoked[use.Volume] || len(d.Unbind) > 0) {
			d.Blocked = ErrChanged.Error()
		}
		blocked = n.finish(ctx, state, d, blocked)
	}
	return state, blocked, nil
}

// isMove reports whether the token has to be revoked before the decision is acted on.
func (d Decision) isMove(state State) bool {
	return d.Blocked == "" && len(d.Bind)+len(d.Unbind) > 0 && !state.mayBind(d)
}

// finish a decision whose PersistentVolume no other node has. One that is blocked is added.
func (n Nodes) finish(ctx context.Context, state State, d Decision, blocked []Decision) []Decision {
	if d.Blocked == "" {
		d.Blocked = n.bind(ctx, state, d)
	}
	if d.Blocked != "" {
		blocked = append(blocked, d)
	}
	return blocked
}

// bind as decided, and say why that failed.
func (n Nodes) bind(ctx context.Context, state State, d Decision) (problem string) {
	var errs []error
	token := state.Directories[d.Volume]
	for _, name := range d.Bind {
		change := token.Shared()
		if !d.Shared {
			change = token.For(state.Nodes[name].ID)
		}
		errs = append(errs, Bind(ctx, n.Engine, name, d.Volume, change))
	}
	if err := errors.Join(errs...); err != nil {
		return err.Error()
	}
	return ""
}

// revoke the token through a node, and unbind as decided.
func (n Nodes) revoke(ctx context.Context, state State, d Decision) (Token, error) {
	token, err := Revoke(ctx, n.Engine, d.Through, d.Volume, state.Directories[d.Volume])
	for _, name := range d.Unbind {
		err = errors.Join(err, Unbind(ctx, n.Engine, name, d.Volume))
	}
	return token, err
}

// InUseError says that a PersistentVolume is mounted, or may be.
type InUseError struct {
	// Volume is its name, Container that of the node, Reason the rest of the sentence.
	Volume, Container, Reason string
}

// Error implements error.
func (e *InUseError) Error() string {
	return fmt.Sprintf("PersistentVolume %q is in use: node container %s %s", e.Volume, e.Container, e.Reason)
}

// Released is a PersistentVolume that no node has mounted, with a node to work on it.
type Released struct {
	Volume    string
	Container string
	Token     Token
}

// ErrNoNode says that no node of the cluster runs and has its volume mounted.
var ErrNoNode = errors.New("no node with the volume of the cluster is running")

// Release a PersistentVolume from all nodes, so that it can be removed or copied. One that Pods have
// mounted, or may have: *InUseError. Without a directory: ErrNoDirectory.
func (n Nodes) Release(ctx context.Context, volume string) (Released, error) {
	state, err := n.Observe(ctx)
	if err != nil {
		return Released{}, err
	}
	through, found := state.AnyNode()
	if !found {
		return Released{}, ErrNoNode
	}
	d, err := state.release(volume)
	if err != nil {
		return Released{}, err
	}
	d.Through = through
	token, err := n.revoke(ctx, state, d)
	if err != nil {
		return Released{}, err
	}
	if state, err = n.Observe(ctx); err != nil {
		return Released{}, err
	}
	if d, err = state.release(volume); err != nil {
		return Released{}, err
	}
	if state.Directories[volume] != token || len(d.Unbind) > 0 {
		return Released{}, fmt.Errorf("release PersistentVolume %q: %w", volume, ErrChanged)
	}
	return Released{Volume: volume, Container: through, Token: token}, nil
}

func (s State) release(volume string) (Decision, error) {
	d := Decision{Volume: volume}
	if _, exists := s.Directories[volume]; !exists {
		return d, fmt.Errorf("find PersistentVolume %q: %w", volume, ErrNoDirectory)
	}
	if d.Holder, d.Blocked, d.Unbind = s.others(volume, ""); d.Blocked != "" {
		return d, &InUseError{Volume: volume, Container: d.Holder, Reason: d.Blocked}
	}
	return d, nil
}
