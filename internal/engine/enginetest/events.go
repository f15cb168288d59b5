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

package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func eventChecks() checks {
	return checks{
		// Each event of the closed list; those that reading causes are never reported.
		"closed list": reportsClosedList,
		// Connect and disconnect, with the container's ID and, where the engine reports it, the
		// network's name.
		"network": func(t *testing.T, c *fixture) {
			c.network(t, "net")
			id := c.run(t, c.spec("a"))
			seen := c.watch(t, nil)
			seen.awaitRelist(t, 1)
			wantNoError(t, "connect", c.ConnectNetwork(t.Context(), c.named("net"), c.named("a"), engine.Attachment{}))
			seen.await(t, id, engine.EventConnect)
			wantNoError(t, "disconnect", c.DisconnectNetwork(t.Context(), c.named("net"), c.named("a")))
			seen.await(t, id, engine.EventDisconnect)
			for _, event := range seen.of(id) {
				isNetwork := event.Kind == engine.EventConnect || event.Kind == engine.EventDisconnect
				// Docker 29 reports late that the start connected the container to its default network.
				if isNetwork && event.Network != c.named("net") && event.Network != "" && event.Network != "bridge" {
					t.Errorf("event %+v, want the network %s", event, c.named("net"))
				}
			}
		},
		// Each watcher sees each event, never two concurrently.
		"several watchers": watchedBySeveral,
		// Until ctx ends, and then returns.
		"context ends": func(t *testing.T, c *fixture) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.Events(ctx, func(engine.Event) { cancel() })
		},
	}
}

// connectionChecks break the connection to the engine.
func connectionChecks() checks {
	return checks{
		// One request to the engine, however many containers there are.
		"read in one request": readsInOneRequest,
		// Reconnects by itself; the first event of each connection is an EventRelist.
		"reconnects": func(t *testing.T, c *fixture) { c.wantWatched(t, c.Interrupt, 3) },
		// Where there is no connection for some seconds, that is one EventLost.
		"outage": reportsOutage,
	}
}

// seen collects the events of a watcher.
type seen struct {
	inside atomic.Bool
	linger func(engine.Event)

	mu     sync.Mutex
	events []engine.Event
}

// watch until the test ends. It calls linger, if set, with each event while it is handled.
func (c *fixture) watch(t *testing.T, linger func(engine.Event)) *seen {
	t.Helper()
	out := &seen{linger: linger}
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		c.Events(ctx, func(event engine.Event) { out.note(t, event) })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return out
}

func (s *seen) note(t *testing.T, event engine.Event) {
	if s.inside.Swap(true) {
		t.Error("two events concurrently")
	}
	defer s.inside.Store(false)
	s.mu.Lock()
	s.events = append(s.events, event)
	s.mu.Unlock()
	if s.linger != nil {
		s.linger(event)
	}
}

func (s *seen) of(id string) []engine.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(event engine.Event) bool { return event.ContainerID != id })
}

func (s *seen) count(kind engine.EventKind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, event := range s.events {
		if event.Kind == kind {
			count++
		}
	}
	return count
}

func (s *seen) awaitCount(t *testing.T, kind engine.EventKind, count int) {
	t.Helper()
	eventually(t, func() string {
		if got := s.count(kind); got < count {
			return fmt.Sprintf("%d of %q, want %d", got, kind, count)
		}
		return ""
	})
}

func (s *seen) awaitRelist(t *testing.T, count int) {
	t.Helper()
	s.awaitCount(t, engine.EventRelist, count)
	s.mu.Lock()
	defer s.mu.Unlock()
	// An engine that is slow to answer is reported as lost first.
	first := slices.IndexFunc(s.events, func(event engine.Event) bool { return event.Kind != engine.EventLost })
	if s.events[first].Kind != engine.EventRelist {
		t.Errorf("first event %+v, want a relist", s.events[first])
	}
}

func (s *seen) await(t *testing.T, id string, kind engine.EventKind) engine.Event {
	t.Helper()
	var found engine.Event
	eventually(t, func() string {
		for _, event := range s.of(id) {
			if event.Kind == kind {
				found = event
				return ""
			}
		}
		return fmt.Sprintf("no %s of %.12s, only %v", kind, id, kinds(s.of(id)))
	})
	return found
}

func kinds(events []engine.Event) []engine.EventKind {
	out := []engine.EventKind{}
	for _, event := range events {
		out = append(out, event.Kind)
	}
	return out
}

func reportsClosedList(t *testing.T, c *fixture) {
	ctx := t.Context()
	seen := c.watch(t, nil)
	seen.awaitRelist(t, 1)
	id := c.create(t, c.spec("a"))
	name := c.named("a")
	c.upload(t, name, tarFile{name: "opt/file", mode: 0o644, content: []byte("x")})
	c.start(t, name)
	c.tool(t, name, "print", "x")
	c.download(t, name, "/opt/file")
	c.inspect(t, name)
	succeed(t, "list", failure(c.ListContainers(ctx, c.own())))
	c.tool(t, name, "kill", "HUP", "1")
	c.stop(t, name)
	c.remove(t, name)
	seen.await(t, id, engine.EventDestroy)

	// A container without a network of its own is on the engine's default
	// one, or on none, and a signal may be reported: engines differ.
	got := slices.DeleteFunc(kinds(distinct(seen.of(id))), func(kind engine.EventKind) bool {
		return kind == engine.EventConnect || kind == engine.EventDisconnect || kind == engine.EventKill
	})
	want := []engine.EventKind{engine.EventStart, engine.EventDie, engine.EventDestroy}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s\nall: %+v", diff, seen.of(id))
	}
	start := seen.await(t, id, engine.EventStart)
	if start.Container != name || start.Labels["enginetest"] != c.name || start.Time.IsZero() {
		t.Errorf("start event %+v, want name, labels and time", start)
	}
}

// distinct leaves out what a second connection repeated.
func distinct(events []engine.Event) []engine.Event {
	reported := map[string]bool{}
	return slices.DeleteFunc(events, func(event engine.Event) bool {
		key := fmt.Sprint(event.Kind, event.Time.UnixNano())
		repeated := reported[key]
		reported[key] = true
		return repeated
	})
}

// watchedBySeveral has one watcher that does not come to an end with the start of
// a container until another has received its removal.
func watchedBySeveral(t *testing.T, c *fixture) {
	removed := make(chan struct{})
	second := c.watch(t, nil)
	first := c.watch(t, func(event engine.Event) {
		if event.Kind == engine.EventStart && event.Container == c.named("a") {
			<-removed
		}
	})
	proceed := sync.OnceFunc(func() { close(removed) })
	t.Cleanup(proceed)
	first.awaitRelist(t, 1)
	second.awaitRelist(t, 1)
	id := c.run(t, c.spec("a"))
	first.await(t, id, engine.EventStart)
	c.remove(t, c.named("a"))
	second.await(t, id, engine.EventDestroy)
	proceed()
	first.await(t, id, engine.EventDestroy)
}

// reportsOutage also to a watcher that starts meanwhile.
func reportsOutage(t *testing.T, c *fixture) {
	before := c.watch(t, nil)
	before.awaitRelist(t, 1)
	lost := before.count(engine.EventLost)
	end := sync.OnceFunc(c.Outage(t))
	t.Cleanup(end)
	before.awaitCount(t, engine.EventLost, lost+1)
	during := c.watch(t, nil)
	during.awaitCount(t, engine.EventLost, 1)
	end()
	before.awaitCount(t, engine.EventRelist, 2)
	during.awaitCount(t, engine.EventRelist, 1)
	if got := before.count(engine.EventLost); got != lost+1 {
		t.Errorf("a watcher that started before the outage received %d, want 1", got-lost)
	}
	if got := during.count(engine.EventLost); got != 1 {
		t.Errorf("a watcher that started during the outage received %d, want 1", got)
	}
}

// wantWatched wants a watcher to receive a relist after each disruption, and to continue.
func (c *fixture) wantWatched(t *testing.T, disrupt func(t *testing.T), times int) {
	t.Helper()
	seen := c.watch(t, nil)
	seen.awaitRelist(t, 1)
	for i := range times {
		before := seen.count(engine.EventRelist)
		disrupt(t)
		seen.awaitRelist(t, before+1)
		id := c.run(t, c.spec(fmt.Sprint(i)))
		seen.await(t, id, engine.EventStart)
	}
}
