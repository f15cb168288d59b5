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
	"io"
	"sync/atomic"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/eventstream"
)

// Lazy returns an engine that connects, as Connect does, with its first call
// that succeeds: a manager starts and serves its webhooks whether there is an
// engine or not. Until then each call tries again, and where no engine is
// reached its error is engine.ErrUnavailable as well as an *Error. An unknown
// engine, or a configuration that cannot be read, is an error of Lazy:
// engine.ErrInvalid.
func Lazy(options Options) (engine.Engine, error) {
	options = options.withDefaults()
	wanted, err := options.wanted()
	if err != nil {
		return nil, err
	}
	for _, one := range wanted {
		if _, err := one.candidates(options); err != nil {
			return nil, err
		}
	}
	return &lazy{options: options, turn: make(chan struct{}, 1)}, nil
}

// lazy is an engine that is connected to when it is needed.
type lazy struct {
	options Options
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
		return nil, fmt.Errorf("wait for a connection to the container engine: %w", ctx.Err())
	}
	if eng := l.connected.Load(); eng != nil {
		return *eng, nil
	}
	if l.closed.Load() {
		return nil, fmt.Errorf("the connection is closed: %w", engine.ErrUnavailable)
	}
	eng, err := Connect(ctx, l.options)
	var unreachable *Error
	if errors.As(err, &unreachable) {
		return nil, engine.WithKind(err, engine.ErrUnavailable)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the container engine: %w", err)
	}
	l.connected.Store(&eng)
	return eng, nil
}

func (l *lazy) do(ctx context.Context, f func(engine.Engine) error) error {
	eng, err := l.engine(ctx)
	if err != nil {
		return err
	}
	return f(eng)
}

func get[T any](ctx context.Context, l *lazy, f func(engine.Engine) (T, error)) (T, error) {
	eng, err := l.engine(ctx)
	if err != nil {
		var none T
		return none, err
	}
	return f(eng)
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

// The other roles of engine.Engine.

func (l *lazy) InspectContainer(ctx context.Context, name string) (engine.Container, error) {
	return get(ctx, l, func(eng engine.Engine) (engine.Container, error) { return eng.InspectContainer(ctx, name) })
}

func (l *lazy) ListContainers(ctx context.Context, selector map[string]string) ([]engine.Container, error) {
	return get(ctx, l, func(eng engine.Engine) ([]engine.Container, error) { return eng.ListContainers(ctx, selector) })
}

func (l *lazy) CreateContainer(ctx context.Context, spec engine.Spec) (string, error) {
	return get(ctx, l, func(eng engine.Engine) (string, error) { return eng.CreateContainer(ctx, spec) })
}

func (l *lazy) StartContainer(ctx context.Context, name string) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.StartContainer(ctx, name) })
}

func (l *lazy) StopContainer(ctx context.Context, name string, grace time.Duration) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.StopContainer(ctx, name, grace) })
}

func (l *lazy) RemoveContainer(ctx context.Context, name string) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.RemoveContainer(ctx, name) })
}

func (l *lazy) Upload(ctx context.Context, name string, archive io.Reader) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.Upload(ctx, name, archive) })
}

func (l *lazy) Download(ctx context.Context, name, path string) (io.ReadCloser, error) {
	return get(ctx, l, func(eng engine.Engine) (io.ReadCloser, error) { return eng.Download(ctx, name, path) })
}

func (l *lazy) Exec(ctx context.Context, name string, command engine.Command) (engine.Output, error) {
	return get(ctx, l, func(eng engine.Engine) (engine.Output, error) { return eng.Exec(ctx, name, command) })
}

func (l *lazy) ContainerLog(ctx context.Context, name string, request engine.LogRequest, out io.Writer) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.ContainerLog(ctx, name, request, out) })
}

func (l *lazy) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	return get(ctx, l, func(eng engine.Engine) (engine.Image, error) { return eng.InspectImage(ctx, reference) })
}

func (l *lazy) PullImage(ctx context.Context, reference string, credentials *engine.Credentials, progress func(engine.PullProgress)) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.PullImage(ctx, reference, credentials, progress) })
}

func (l *lazy) LoadImage(ctx context.Context, archive io.Reader) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.LoadImage(ctx, archive) })
}

func (l *lazy) CreateNetwork(ctx context.Context, spec engine.NetworkSpec) (engine.Network, error) {
	return get(ctx, l, func(eng engine.Engine) (engine.Network, error) { return eng.CreateNetwork(ctx, spec) })
}

func (l *lazy) InspectNetwork(ctx context.Context, name string) (engine.Network, error) {
	return get(ctx, l, func(eng engine.Engine) (engine.Network, error) { return eng.InspectNetwork(ctx, name) })
}

func (l *lazy) RemoveNetwork(ctx context.Context, name string) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.RemoveNetwork(ctx, name) })
}

func (l *lazy) ConnectNetwork(ctx context.Context, network, container string, attachment engine.Attachment) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.ConnectNetwork(ctx, network, container, attachment) })
}

func (l *lazy) DisconnectNetwork(ctx context.Context, network, container string) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.DisconnectNetwork(ctx, network, container) })
}

func (l *lazy) InspectVolume(ctx context.Context, name string) (engine.Volume, error) {
	return get(ctx, l, func(eng engine.Engine) (engine.Volume, error) { return eng.InspectVolume(ctx, name) })
}

func (l *lazy) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.CreateVolume(ctx, name, labels) })
}

func (l *lazy) RemoveVolume(ctx context.Context, name string) error {
	return l.do(ctx, func(eng engine.Engine) error { return eng.RemoveVolume(ctx, name) })
}

func (l *lazy) ListNetworks(ctx context.Context, selector map[string]string) ([]engine.Network, error) {
	return get(ctx, l, func(eng engine.Engine) ([]engine.Network, error) { return eng.ListNetworks(ctx, selector) })
}

func (l *lazy) ListVolumes(ctx context.Context, selector map[string]string) ([]engine.Volume, error) {
	return get(ctx, l, func(eng engine.Engine) ([]engine.Volume, error) { return eng.ListVolumes(ctx, selector) })
}

func (l *lazy) Info(ctx context.Context) (engine.Info, error) {
	return get(ctx, l, func(eng engine.Engine) (engine.Info, error) { return eng.Info(ctx) })
}
