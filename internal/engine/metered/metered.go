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
// something, and bounds how long they are without progress, and their rate where that is requested.
//
// It wraps any engine.Engine and changes nothing else of what it does. The
// metrics:
//
//	container_engine_call_duration_seconds{method}   histogram, its count is the number of calls
//	container_engine_call_errors_total{method,kind}  by kind of error, as package engine names them
//	container_engine_events_total{kind}              events handed to the provider
//	container_engine_events_connected                streams of events that are open, one for each controller that watches
//	container_engine_delay_seconds_total             time that calls waited for their rate to be kept
//
// All have the label engine, which is empty for the manager's own.
package metered

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/forward"
)

// forwarded keeps the embedded engine to this package.
type forwarded = forward.Engine

// Engine is a metered engine.
type Engine struct {
	forwarded

	inner                  engine.Engine
	limiter                *rate.Limiter // nil = no limit
	fallback               logr.Logger
	readLimit, changeLimit time.Duration
	duration               *prometheus.HistogramVec
	errors                 *prometheus.CounterVec
	events                 *prometheus.CounterVec
	connected              prometheus.Gauge
	delay                  prometheus.Counter
	// name in logs; empty = the manager's own.
	name string
	// unregister the metrics.
	unregister func()
}

var _ engine.Engine = (*Engine)(nil)

// buckets reach from an inspect (a millisecond) to a pull (minutes).
func buckets() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
}

// New wraps an engine and registers its metrics. A registerer that has them
// already, of another engine, is an error.
func New(inner engine.Engine, registerer prometheus.Registerer, options Options) (*Engine, error) {
	named := prometheus.Labels{"engine": options.Engine}
	e := &Engine{
		name: options.Engine, inner: inner, limiter: options.limiter(), fallback: options.Logger,
		readLimit: cmp.Or(options.ReadLimit, defaultReadLimit), changeLimit: cmp.Or(options.ChangeLimit, defaultChangeLimit),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "container_engine_call_duration_seconds", Help: "Time a call of the container engine took.", Buckets: buckets(), ConstLabels: named,
		}, []string{"method"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "container_engine_call_errors_total", Help: "Calls of the container engine that ended with an error, by its kind.", ConstLabels: named,
		}, []string{"method", "kind"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "container_engine_events_total", Help: "Events received from the container engine.", ConstLabels: named,
		}, []string{"kind"}),
		connected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "container_engine_events_connected", Help: "Streams of events from the container engine that are open, one for each controller that watches.", ConstLabels: named,
		}),
		delay: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "container_engine_delay_seconds_total", Help: "Time that calls of the container engine waited for their rate to be kept.", ConstLabels: named,
		}),
	}
	e.forwarded = forward.New(e.call)
	var registered []prometheus.Collector
	e.unregister = func() {
		for _, collector := range registered {
			registerer.Unregister(collector)
		}
	}
	for _, collector := range []prometheus.Collector{e.duration, e.errors, e.events, e.connected, e.delay} {
		if err := registerer.Register(collector); err != nil {
			e.unregister()
			return nil, fmt.Errorf("register engine metrics: %w", err)
		}
		registered = append(registered, collector)
	}
	return e, nil
}

// kinds are checked in order: a refused command is no fault of the engine.
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

// observe notes a call that started at a time and ended now.
func (e *Engine) observe(method string, start time.Time, err error) {
	e.duration.WithLabelValues(method).Observe(time.Since(start).Seconds())
	if err != nil {
		e.errors.WithLabelValues(method, kindOf(err)).Inc()
	}
}

const (
	methodExec    = "Exec"
	methodLog     = "ContainerLog"
	methodConnect = "ConnectNetwork"
)

// call makes a call when the rate limit admits it. The recorded time is the
// engine's alone.
func (e *Engine) call(ctx context.Context, c forward.Call, do func(context.Context, engine.Engine) error) error {
	if err := e.wait(ctx, c.Method); err != nil {
		return err
	}
	start := time.Now()
	err := e.within(ctx, c, do)
	e.observe(c.Method, start, err)
	if c.Changes != "" {
		e.log(ctx, c, time.Since(start), err)
	}
	return err
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

// Close implements engine.Host. It removes the metrics of an engine that has a name: that of an object
// which may be created again.
func (e *Engine) Close() error {
	if e.name != "" {
		e.unregister()
	}
	return e.inner.Close()
}
