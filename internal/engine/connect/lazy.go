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

package connect

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/eventstream"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/forward"
)

// Lazy returns an engine that connects, as Connect does, with its first call
// that succeeds: a manager starts and serves its webhooks whether there is an
// engine or not. Until then each call tries again, and where no engine is
// reached its error is engine.ErrUnavailable as well as an *Error. An unknown
// engine, or a configuration that cannot be read, is an error of Lazy:
// engine.ErrInvalid.
func Lazy(options Options) (engine.Engine, error) {
	options = options.withDefaults()
	selected, err := options.selected()
	if err != nil {
		return nil, err
	}
	for _, one := range selected {
		if _, err := one.candidates(options); err != nil {
			return nil, err
		}
	}
	return newLazy(func(ctx context.Context) (engine.Engine, error) { return Connect(ctx, options) }), nil
}

func newLazy(connect func(context.Context) (engine.Engine, error)) engine.Engine {
	l := &lazy{connect: connect, turn: make(chan struct{}, 1)}
	l.Engine = forward.New(func(ctx context.Context, _ forward.Call, do func(context.Context, engine.Engine) error) error {
		eng, err := l.engine(ctx)
		if err != nil {
			return err
		}
		return do(ctx, eng)
	})
	return l
}

// lazy is an engine that is connected to when it is needed.
type lazy struct {
	forward.Engine

	connect func(context.Context) (engine.Engine, error)
	// turn holds an element while a call connects.
	turn      chan struct{}
	connected atomic.Pointer[engine.Engine]
	closed    atomic.Bool
}

// engine returns the connection, and makes it where there is none.
func (l *lazy) engine(ctx context.Context) (engine.Engine, error) {
	if eng := l.connected.Load(); eng != nil {
		return *eng, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for connection to the container engine: %w", ctx.Err())
	}
	if eng := l.connected.Load(); eng != nil {
		return *eng, nil
	}
	if l.closed.Load() {
		return nil, fmt.Errorf("connection is closed: %w", engine.ErrUnavailable)
	}
	eng, err := l.connect(ctx)
	var unreachable *Error
	if errors.As(err, &unreachable) {
		return nil, engine.WithKind(err, engine.ErrUnavailable)
	}
	if err != nil {
		return nil, err // It says what was connected to.
	}
	l.connected.Store(&eng)
	return eng, nil
}

// Events implements engine.EventSource: until there is a connection, what
// eventstream says of one that is lost; from then on, what the engine says.
func (l *lazy) Events(ctx context.Context, handle func(engine.Event)) {
	waiting, connected := context.WithCancel(ctx)
	defer connected()
	eventstream.Follow(waiting, l.closed.Load, func(ctx context.Context, _ func(), _ func(engine.Event)) error {
		_, err := l.engine(ctx)
		if err == nil {
			connected()
		}
		return err
	}, handle)
	if eng := l.connected.Load(); eng != nil {
		(*eng).Events(ctx, handle)
	}
}

// Close implements engine.Host.
func (l *lazy) Close() error {
	l.closed.Store(true)
	if eng := l.connected.Load(); eng != nil {
		return (*eng).Close()
	}
	return nil
}
