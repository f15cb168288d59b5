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

package simulated

import (
	"context"
	"maps"
	"sync"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// subscriber queues events without bound, so that a slow one blocks no other.
type subscriber struct {
	mu    sync.Mutex
	queue []engine.Event
	wake  chan struct{}
}

func (s *subscriber) push(event engine.Event) {
	s.mu.Lock()
	s.queue = append(s.queue, event)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscriber) take() []engine.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.queue
	s.queue = nil
	return out
}

// Events implements engine.EventSource.
func (e *Engine) Events(ctx context.Context, handle func(engine.Event)) {
	if _, err := e.begin(ctx, Call{Method: "Events"}); err != nil {
		return
	}
	s := &subscriber{wake: make(chan struct{}, 1)}
	e.mu.Lock()
	e.subscribers[s] = struct{}{}
	first := engine.EventRelist
	if e.down {
		first = engine.EventLost
	}
	s.push(engine.Event{Kind: first})
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.subscribers, s)
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for _, event := range s.take() {
			if ctx.Err() != nil {
				return
			}
			handle(event)
		}
	}
}

// emit notifies the subscribers, unless the engine is down. Called with mu held.
func (e *Engine) emit(c *container, kind engine.EventKind, networkName string) {
	if e.down {
		return
	}
	event := engine.Event{
		Kind: kind, ContainerID: c.id, Container: c.spec.Name,
		Labels: maps.Clone(c.spec.Labels), Network: networkName, Time: e.now(),
	}
	if kind == engine.EventDie {
		event.ExitCode = c.exitCode
	}
	if networkName != "" {
		// As of Docker, whose network events have neither.
		event.Container, event.Labels = "", nil
	}
	for s := range e.subscribers {
		s.push(event)
	}
}

// notify the subscribers of what is about no container. Called with mu held.
func (e *Engine) notify(kind engine.EventKind) {
	for s := range e.subscribers {
		s.push(engine.Event{Kind: kind})
	}
}
