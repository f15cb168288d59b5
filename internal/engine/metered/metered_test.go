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

package metered_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// values reads the metrics as name{label values} → count.
func values(t *testing.T, gatherer prometheus.Gatherer) map[string]uint64 {
	t.Helper()
	families := must.Get(gatherer.Gather())(t)
	out := map[string]uint64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			key := family.GetName()
			for _, label := range metric.GetLabel() {
				if label.GetValue() != "" { // as if there was none
					key += " " + label.GetValue()
				}
			}
			if histogram := metric.GetHistogram(); histogram != nil {
				out[key] = histogram.GetSampleCount()
				continue
			}
			out[key] = uint64(metric.GetCounter().GetValue() + metric.GetGauge().GetValue())
		}
	}
	return out
}

func TestCallsErrorsAndEvents(t *testing.T) {
	t.Parallel()
	inner := simulated.New()
	inner.AddImage(engine.Image{Tags: []string{"image:v1"}}, nil)
	inner.HandleExec(func(string, engine.Command) (engine.Output, error) {
		return engine.Output{}, &engine.ExitError{Code: 1}
	})
	registry := prometheus.NewRegistry()
	eng := must.Get(metered.New(inner, registry, metered.Options{}))(t)
	ctx := t.Context()
	must.Get(eng.CreateContainer(ctx, engine.Spec{Name: "a", Image: "image:v1"}))(t)
	must.Succeed(t, eng.StartContainer(ctx, "a"))
	_ = eng.StartContainer(ctx, "absent")
	_, _ = eng.Exec(ctx, "a", engine.Command{Args: []string{"x"}})
	inner.FailNext("Info", errors.New("unexpected"))
	_, _ = eng.Info(ctx)

	watching, cancel := context.WithCancel(ctx)
	eng.Events(watching, func(engine.Event) { cancel() })

	want := map[string]uint64{
		"container_engine_call_duration_seconds CreateContainer":      1,
		"container_engine_call_duration_seconds StartContainer":       2,
		"container_engine_call_duration_seconds Exec":                 1,
		"container_engine_call_duration_seconds Info":                 1,
		"container_engine_call_errors_total not_found StartContainer": 1,
		"container_engine_call_errors_total exit_code Exec":           1,
		"container_engine_call_errors_total other Info":               1,
		"container_engine_events_total relist":                        1,
		"container_engine_events_connected":                           0,
		"container_engine_delay_seconds_total":                        0,
	}
	if diff := cmp.Diff(want, values(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if _, err := metered.New(inner, registry, metered.Options{}); err == nil {
		t.Error("metrics registered twice without an error")
	}
	must.Succeed(t, eng.Close())
	if _, err := inner.Info(ctx); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Info(...) of the engine behind after Close: want ErrUnavailable, got %v", err)
	}
}

// TestEngines: each has its metrics until it is closed.
func TestEngines(t *testing.T) {
	t.Parallel()
	registry, ctx := prometheus.NewRegistry(), t.Context()
	own := must.Get(metered.New(simulated.New(), registry, metered.Options{}))(t)
	other := must.Get(metered.New(simulated.New(), registry, metered.Options{Engine: "team/build"}))(t)
	for range 2 {
		must.Get(other.Info(ctx))(t)
	}
	must.Get(own.Info(ctx))(t)
	const calls = "container_engine_call_duration_seconds"
	want := map[string]uint64{calls + " Info": 1, calls + " team/build Info": 2}
	wantCalls := func() {
		t.Helper()
		got := values(t, registry)
		maps.DeleteFunc(got, func(key string, _ uint64) bool { return !strings.HasPrefix(key, calls) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	}
	wantCalls()
	must.Succeed(t, other.Close())
	delete(want, calls+" team/build Info")
	wantCalls()
	again := must.Get(metered.New(simulated.New(), registry, metered.Options{Engine: "team/build"}))(t)
	must.Get(again.Info(ctx))(t)
	want[calls+" team/build Info"] = 1
	wantCalls()
}

// TestConnectedStreams is about two watchers, as of two controllers.
func TestConnectedStreams(t *testing.T) {
	t.Parallel()
	inner := simulated.New()
	registry := prometheus.NewRegistry()
	eng := must.Get(metered.New(inner, registry, metered.Options{}))(t)
	received := make(chan engine.EventKind)
	var watchers sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		watchers.Go(func() { eng.Events(ctx, func(event engine.Event) { received <- event.Kind }) })
	}
	wantConnected := func(when string, kind engine.EventKind, want uint64) {
		t.Helper()
		for range 2 {
			if got := <-received; got != kind {
				t.Errorf("%s: event %q, want %q", when, got, kind)
			}
		}
		if got := values(t, registry)["container_engine_events_connected"]; got != want {
			t.Errorf("%s: %d connected, want %d", when, got, want)
		}
	}
	wantConnected("at first", engine.EventRelist, 2)
	inner.RelistEvents()
	wantConnected("after a short gap", engine.EventRelist, 2)
	inner.Down()
	wantConnected("in an outage", engine.EventLost, 0)
	inner.Up()
	wantConnected("after it", engine.EventRelist, 2)
	cancel()
	watchers.Wait()
	if got := values(t, registry)["container_engine_events_connected"]; got != 0 {
		t.Errorf("%d connected without watchers", got)
	}
}
