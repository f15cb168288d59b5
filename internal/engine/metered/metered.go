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

// Package metered counts and times the calls of an engine, logs those that may change
// something, and bounds how long they take, and where that is asked for their rate.
//
// It wraps any engine.Engine and changes nothing else of what it does. The
// metrics:
//
//	container_engine_call_duration_seconds{method}   histogram, its count is the number of calls
//	container_engine_call_errors_total{method,kind}  by kind of error, as package engine names them
//	container_engine_events_total{kind}              events handed to the provider
//	container_engine_events_connected                streams of events that are open, one for each controller that watches
//	container_engine_delay_seconds_total             time that calls waited for their rate to be kept
package metered

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Engine is a metered engine.
type Engine struct {
	inner                  engine.Engine
	limiter                *rate.Limiter // nil = no limit
	fallback               logr.Logger
	readLimit, changeLimit time.Duration
	duration               *prometheus.HistogramVec
	errors                 *prometheus.CounterVec
	events                 *prometheus.CounterVec
	connected              prometheus.Gauge
	delay                  prometheus.Counter
}

var _ engine.Engine = (*Engine)(nil)

// buckets reach from an inspect (a millisecond) to a pull (minutes).
func buckets() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
}

// New wraps an engine and registers its metrics. A registerer that has them
// already, of another engine, is an error.
func New(inner engine.Engine, registerer prometheus.Registerer, options Options) (*Engine, error) {
	e := &Engine{
		inner: inner, limiter: options.limiter(), fallback: options.Logger,
		readLimit: cmp.Or(options.ReadLimit, defaultReadLimit), changeLimit: cmp.Or(options.ChangeLimit, defaultChangeLimit),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "container_engine_call_duration_seconds", Help: "Time a call of the container engine took.", Buckets: buckets(),
		}, []string{"method"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "container_engine_call_errors_total", Help: "Calls of the container engine that ended with an error, by its kind.",
		}, []string{"method", "kind"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "container_engine_events_total", Help: "Events received from the container engine.",
		}, []string{"kind"}),
		connected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "container_engine_events_connected", Help: "Streams of events from the container engine that are open, one for each controller that watches.",
		}),
		delay: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "container_engine_delay_seconds_total", Help: "Time that calls of the container engine waited for their rate to be kept.",
		}),
	}
	for _, collector := range []prometheus.Collector{e.duration, e.errors, e.events, e.connected, e.delay} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register engine metrics: %w", err)
		}
	}
	return e, nil
}

// kinds are asked in order: a refused command is no fault of the engine.
var kinds = []struct {
	name string
	err  error
}{
	{"not_found", engine.ErrNotFound},
	{"conflict", engine.ErrConflict},
	{"unavailable", engine.ErrUnavailable},
	{"invalid", engine.ErrInvalid},
	{"unauthorized", engine.ErrUnauthorized},
	{"too_large", engine.ErrTooLarge},
	{"canceled", context.Canceled},
	{"deadline_exceeded", context.DeadlineExceeded},
}

func kindOf(err error) string {
	var exit *engine.ExitError
	if errors.As(err, &exit) {
		return "exit_code"
	}
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	return "other"
}

// observe notes a call that began at a time and ended now.
func (e *Engine) observe(method string, began time.Time, err error) {
	e.duration.WithLabelValues(method).Observe(time.Since(began).Seconds())
	if err != nil {
		e.errors.WithLabelValues(method, kindOf(err)).Inc()
	}
}

const (
	methodExec    = "Exec"
	methodConnect = "ConnectNetwork"
)

// call is what is known of a call before it is made.
type call struct {
	method string
	// limit is the most time it may take; 0 = any.
	limit time.Duration
	// changes is what kind of object the call may change; empty = none.
	changes string
	// object is the name of that object; details are further pairs of key
	// and value for the log, none of them secret.
	object  string
	details []any
}

func (e *Engine) reading(method string) call { return call{method: method, limit: e.readLimit} }

func (e *Engine) changing(kind, object, method string, details ...any) call {
	return call{method: method, limit: e.changeLimit, changes: kind, object: object, details: details}
}

// long is of a call that takes as long as there is something to transfer.
func (c call) long() call {
	c.limit = 0
	return c
}

func (e *Engine) do(ctx context.Context, c call, f func(context.Context) error) error {
	_, err := get(ctx, e, c, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// get makes the call when its turn has come. The time that is told is the
// engine's alone.
func get[T any](ctx context.Context, e *Engine, c call, f func(context.Context) (T, error)) (T, error) {
	if err := e.wait(ctx, c.method); err != nil {
		var none T
		return none, err
	}
	began := time.Now()
	out, err := within(ctx, c, f)
	e.observe(c.method, began, err)
	if c.changes != "" {
		e.log(ctx, c, time.Since(began), err)
	}
	return out, err
}

// InspectContainer implements engine.ContainerReader.
func (e *Engine) InspectContainer(ctx context.Context, name string) (engine.Container, error) {
	return get(ctx, e, e.reading("InspectContainer"), func(ctx context.Context) (engine.Container, error) { return e.inner.InspectContainer(ctx, name) })
}

// ListContainers implements engine.ContainerReader.
func (e *Engine) ListContainers(ctx context.Context, selector map[string]string) ([]engine.Container, error) {
	return get(ctx, e, e.reading("ListContainers"), func(ctx context.Context) ([]engine.Container, error) { return e.inner.ListContainers(ctx, selector) })
}

// CreateContainer implements engine.ContainerWriter.
func (e *Engine) CreateContainer(ctx context.Context, spec engine.Spec) (string, error) {
	return get(ctx, e, e.changing("container", spec.Name, "CreateContainer", "image", spec.Image), func(ctx context.Context) (string, error) { return e.inner.CreateContainer(ctx, spec) })
}

// StartContainer implements engine.ContainerWriter.
func (e *Engine) StartContainer(ctx context.Context, name string) error {
	return e.do(ctx, e.changing("container", name, "StartContainer"), func(ctx context.Context) error { return e.inner.StartContainer(ctx, name) })
}

// StopContainer implements engine.ContainerWriter.
func (e *Engine) StopContainer(ctx context.Context, name string, grace time.Duration) error {
	return e.do(ctx, e.changing("container", name, "StopContainer"), func(ctx context.Context) error { return e.inner.StopContainer(ctx, name, grace) })
}

// RemoveContainer implements engine.ContainerWriter.
func (e *Engine) RemoveContainer(ctx context.Context, name string) error {
	return e.do(ctx, e.changing("container", name, "RemoveContainer"), func(ctx context.Context) error { return e.inner.RemoveContainer(ctx, name) })
}

// Upload implements engine.Archiver.
func (e *Engine) Upload(ctx context.Context, name string, archive io.Reader) error {
	return e.do(ctx, e.changing("container", name, "Upload"), func(ctx context.Context) error { return e.inner.Upload(ctx, name, archive) })
}

// Download implements engine.Archiver. The time is until the stream begins; its
// limit is that of the whole.
func (e *Engine) Download(ctx context.Context, name, path string) (io.ReadCloser, error) {
	c := e.reading("Download")
	ctx, limited := limit(ctx, c)
	out, err := get(ctx, e, c.long(), func(ctx context.Context) (io.ReadCloser, error) { return e.inner.Download(ctx, name, path) })
	if err != nil {
		return nil, limited.end(err)
	}
	return stream{ReadCloser: out, limited: limited}, nil
}

// Exec implements engine.Executor.
func (e *Engine) Exec(ctx context.Context, name string, command engine.Command) (engine.Output, error) {
	return get(ctx, e, e.changing("container", name, methodExec, "program", program(command)), func(ctx context.Context) (engine.Output, error) { return e.inner.Exec(ctx, name, command) })
}

// ContainerLog implements engine.Logs.
func (e *Engine) ContainerLog(ctx context.Context, name string, request engine.LogRequest, out io.Writer) error {
	c := e.reading("ContainerLog").long()
	if !request.Follow {
		c.limit = e.changeLimit // there may be much to transfer
	}
	return e.do(ctx, c, func(ctx context.Context) error { return e.inner.ContainerLog(ctx, name, request, out) })
}

// InspectImage implements engine.Images.
func (e *Engine) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	return get(ctx, e, e.reading("InspectImage"), func(ctx context.Context) (engine.Image, error) { return e.inner.InspectImage(ctx, reference) })
}

// PullImage implements engine.Images.
func (e *Engine) PullImage(ctx context.Context, reference string, credentials *engine.Credentials, progress func(engine.PullProgress)) error {
	return e.do(ctx, e.changing("image", reference, "PullImage").long(), func(ctx context.Context) error { return e.inner.PullImage(ctx, reference, credentials, progress) })
}

// LoadImage implements engine.Images.
func (e *Engine) LoadImage(ctx context.Context, archive io.Reader) error {
	return e.do(ctx, e.changing("image", "", "LoadImage").long(), func(ctx context.Context) error { return e.inner.LoadImage(ctx, archive) })
}

// CreateNetwork implements engine.Networks.
func (e *Engine) CreateNetwork(ctx context.Context, spec engine.NetworkSpec) (engine.Network, error) {
	return get(ctx, e, e.changing("network", spec.Name, "CreateNetwork"), func(ctx context.Context) (engine.Network, error) { return e.inner.CreateNetwork(ctx, spec) })
}

// InspectNetwork implements engine.Networks.
func (e *Engine) InspectNetwork(ctx context.Context, name string) (engine.Network, error) {
	return get(ctx, e, e.reading("InspectNetwork"), func(ctx context.Context) (engine.Network, error) { return e.inner.InspectNetwork(ctx, name) })
}

// RemoveNetwork implements engine.Networks.
func (e *Engine) RemoveNetwork(ctx context.Context, name string) error {
	return e.do(ctx, e.changing("network", name, "RemoveNetwork"), func(ctx context.Context) error { return e.inner.RemoveNetwork(ctx, name) })
}

// ConnectNetwork implements engine.Networks.
func (e *Engine) ConnectNetwork(ctx context.Context, network, container string, attachment engine.Attachment) error {
	return e.do(ctx, e.changing("network", network, methodConnect, "container", container), func(ctx context.Context) error { return e.inner.ConnectNetwork(ctx, network, container, attachment) })
}

// DisconnectNetwork implements engine.Networks.
func (e *Engine) DisconnectNetwork(ctx context.Context, network, container string) error {
	return e.do(ctx, e.changing("network", network, "DisconnectNetwork", "container", container), func(ctx context.Context) error { return e.inner.DisconnectNetwork(ctx, network, container) })
}

// InspectVolume implements engine.Volumes.
func (e *Engine) InspectVolume(ctx context.Context, name string) (engine.Volume, error) {
	return get(ctx, e, e.reading("InspectVolume"), func(ctx context.Context) (engine.Volume, error) { return e.inner.InspectVolume(ctx, name) })
}

// CreateVolume implements engine.Volumes.
func (e *Engine) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	return e.do(ctx, e.changing("volume", name, "CreateVolume"), func(ctx context.Context) error { return e.inner.CreateVolume(ctx, name, labels) })
}

// RemoveVolume implements engine.Volumes.
func (e *Engine) RemoveVolume(ctx context.Context, name string) error {
	return e.do(ctx, e.changing("volume", name, "RemoveVolume"), func(ctx context.Context) error { return e.inner.RemoveVolume(ctx, name) })
}

// ListNetworks implements engine.Inventory.
func (e *Engine) ListNetworks(ctx context.Context, selector map[string]string) ([]engine.Network, error) {
	return get(ctx, e, e.reading("ListNetworks"), func(ctx context.Context) ([]engine.Network, error) { return e.inner.ListNetworks(ctx, selector) })
}

// ListVolumes implements engine.Inventory.
func (e *Engine) ListVolumes(ctx context.Context, selector map[string]string) ([]engine.Volume, error) {
	return get(ctx, e, e.reading("ListVolumes"), func(ctx context.Context) ([]engine.Volume, error) { return e.inner.ListVolumes(ctx, selector) })
}

// Events implements engine.EventSource.
func (e *Engine) Events(ctx context.Context, handle func(engine.Event)) {
	connected := 0.0
	became := func(now float64) {
		e.connected.Add(now - connected)
		connected = now
	}
	defer became(0)
	e.inner.Events(ctx, func(event engine.Event) {
		switch event.Kind {
		case engine.EventRelist:
			became(1)
		case engine.EventLost:
			became(0)
		}
		e.events.WithLabelValues(string(event.Kind)).Inc()
		handle(event)
	})
}

// Info implements engine.Host.
func (e *Engine) Info(ctx context.Context) (engine.Info, error) {
	return get(ctx, e, e.reading("Info"), func(ctx context.Context) (engine.Info, error) { return e.inner.Info(ctx) })
}

// Close implements engine.Host.
func (e *Engine) Close() error { return e.inner.Close() }
