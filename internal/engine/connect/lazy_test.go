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

package connect_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// An engine that is not there when a manager starts is connected to once it is.
func TestLazy(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "docker.sock")
	eng := must.Get(connect.Lazy(isolated(connect.Options{
		Getenv: environment(map[string]string{"HOME": t.TempDir()}), Sockets: []string{socket},
	})))(t)
	events := make(chan engine.Event, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		eng.Events(ctx, func(event engine.Event) { events <- event })
	}()
	_, err := eng.InspectContainer(t.Context(), "a")
	var unreachable *connect.Error
	if !errors.Is(err, engine.ErrUnavailable) || !errors.As(err, &unreachable) {
		t.Errorf("InspectContainer(...) without an engine: want ErrUnavailable and *Error, got %v", err)
	}
	if got := (<-events).Kind; got != engine.EventLost {
		t.Errorf("first event: %q, want %q", got, engine.EventLost)
	}

	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "unix", socket))(t)
	server := &http.Server{Handler: withEvents(docker("late")), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	info, err := eng.Info(t.Context())
	if err != nil || info.Version != "late" {
		t.Errorf("Info(...) of the engine that came late: %+v, %v", info, err)
	}
	if got := (<-events).Kind; got != engine.EventRelist {
		t.Errorf("event when the engine is there: %q, want %q", got, engine.EventRelist)
	}
	cancel()
	<-ended
	must.Succeed(t, eng.Close())
	if _, err := eng.Info(t.Context()); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Info(...) after Close: want ErrUnavailable, got %v", err)
	}
}

func TestLazyClosedBeforeItConnects(t *testing.T) {
	t.Parallel()
	eng := must.Get(connect.Lazy(isolated(connect.Options{
		Getenv: environment(map[string]string{"HOME": t.TempDir()}), Sockets: []string{serve(t, docker("unused"))},
	})))(t)
	must.Succeed(t, eng.Close())
	if _, err := eng.Info(t.Context()); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Info(...) after Close: want ErrUnavailable, got %v", err)
	}
	// It ends, although its context does not.
	eng.Events(t.Context(), func(engine.Event) {})
}

// What no later try can change is an error immediately.
func TestLazyRefusesConfiguration(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]connect.Options{
		"UnknownEngine":  {Engine: "containerd", Getenv: environment(nil)},
		"UnknownContext": {Engine: connect.Docker, Getenv: environment(map[string]string{"HOME": t.TempDir(), "DOCKER_CONTEXT": "absent"})},
	} {
		if _, err := connect.Lazy(isolated(options)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: want ErrInvalid, got %v", name, err)
		}
	}
}

// withEvents serves a stream of events in which nothing happens.
func withEvents(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if filepath.Base(request.URL.Path) != "events" {
			handler.ServeHTTP(w, request)
			return
		}
		_ = http.NewResponseController(w).Flush()
		<-request.Context().Done()
	})
}
