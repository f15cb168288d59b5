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

package loadbalancer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestIntegrationLifecycle(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	state := h.ensure(t)
	for file, wants := range map[string][]string{
		"/proc/1/status": {"CapBnd:\t0000000000000400\n", "NoNewPrivs:\t1\n", "Uid:\t99\t99\t99\t99\n"},
		"/proc/1/limits": {"Max open files            10000                10000"},
	} {
		output := must.Get(h.engine.Exec(t.Context(), state.Name, engine.Command{Args: []string{"cat", file}}))(t)
		for _, want := range wants {
			if !strings.Contains(string(output.Stdout), want) {
				t.Errorf("%s has no %q:\n%s", file, want, output.Stdout)
			}
		}
	}

	one := h.serve(t, "one")
	after := h.sync(t, state.Name, one.backend)
	if after.Generation == state.Generation || len(after.Backends) != 1 {
		t.Errorf("state %+v, want a new generation with a backend", after)
	}
	up := h.await(t, state.Name, "backend that is up", func(s loadbalancer.State) bool {
		server, _ := s.Backend("one")
		return server.Status == haproxy.StatusUp && server.CheckCode == http.StatusOK
	})
	if server, _ := up.Backend("one"); server.Address != fmt.Sprintf("%s:%d", one.backend.Address, one.backend.Port) {
		t.Errorf("backend %+v, want its address", server)
	}
	for _, url := range []string{versionURL(state), addressURL(h, state, "/version")} {
		if body, err := get(t.Context(), newClient(t, false), url); err != nil || body != "one" {
			t.Errorf("GET %s = %q, %v", url, body, err)
		}
	}

	// Stopped by the host, and recreated with the same place.
	began := time.Now()
	must.Succeed(t, h.engine.StopContainer(t.Context(), state.Name, patience))
	t.Logf("stopped in %s", time.Since(began))
	const killed = 137
	if stopped, err := h.engine.InspectContainer(t.Context(), state.Name); err != nil || stopped.ExitCode == killed {
		t.Errorf("stopped %+v, %v, want the stop signal to be heard", stopped, err)
	}
	h.spec.Addresses, h.spec.HostPorts = state.Addresses, state.HostPorts
	h.spec.Config.Frontends[0].Backends = []haproxy.Backend{one.backend}
	again := h.ensure(t)
	if again.Generation != after.Generation || again.Address() != state.Address() || again.HostPorts[6443] != state.HostPorts[6443] {
		t.Errorf("state %+v, want what was before: %+v", again, after)
	}
	must.Succeed(t, h.engine.RemoveContainer(t.Context(), state.Name))
	again = h.ensure(t)
	if again.Generation != after.Generation || again.Address() != state.Address() || again.HostPorts[6443] != state.HostPorts[6443] {
		t.Errorf("state %+v, want what was before: %+v", again, after)
	}
}

// TestIntegrationReload changes the load balancer twenty times under clients
// that ask it forty times a second: some connect for each request, others keep their
// connection, and one watches silently all the time. Without the pause between requests
// they, and not the load balancer, use all processors.
func TestIntegrationReload(t *testing.T) {
	t.Parallel()
	const reloads = 20
	h := newHarness(t)
	// Half of the clients use the host's port, which other machines reach too.
	h.spec.HostAddresses = map[uint16]netip.Addr{6443: netip.IPv4Unspecified()}
	state := h.ensure(t)
	// A server that goes down loses its connections, which is not about reloads.
	h.checkElsewhere(t)
	one, two := h.serve(t, "one"), h.serve(t, "two")
	h.sync(t, state.Name, one.backend, two.backend)
	h.await(t, state.Name, "backends that are up", func(s loadbalancer.State) bool {
		a, _ := s.Backend("one")
		b, _ := s.Backend("two")
		return a.Status.Up() && b.Status.Up()
	})

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clients sync.WaitGroup
	var requests atomic.Int64
	var mutex sync.Mutex
	var failures []error
	request := func(client *http.Client, url string) {
		requests.Add(1)
		if _, err := get(t.Context(), client, url); err != nil {
			mutex.Lock()
			defer mutex.Unlock()
			failures = append(failures, fmt.Errorf("GET %s during reloads: %w", url, err))
		}
	}
	for _, client := range []*http.Client{newClient(t, false), newClient(t, false), newClient(t, true)} {
		for _, url := range []string{versionURL(state), addressURL(h, state, "/version")} {
			clients.Go(func() {
				pause := time.NewTicker(25 * time.Millisecond)
				defer pause.Stop()
				for ctx.Err() == nil {
					request(client, url)
					<-pause.C
				}
			})
		}
	}
	watcher := newClient(t, true)
	watcher.Timeout = 0
	watched := make(chan error, 1)
	watchCtx, endWatch := context.WithCancel(t.Context())
	defer endWatch()
	go func() {
		body, err := get(watchCtx, watcher, addressURL(h, state, fmt.Sprintf("/watch?nanoseconds=%d", time.Hour)))
		watched <- fmt.Errorf("watch ended with %q: %w", body, err)
	}()

	began := time.Now()
	for i := range reloads {
		first, second := one.backend, two.backend
		if i%2 == 0 {
			first.Weight = 0
		}
		second.Weight = 1 + i
		synced := h.sync(t, state.Name, first, second)
		if server, _ := synced.Backend("one"); server.Weight != first.Weight {
			t.Errorf("reload %d: backend %+v, want weight %d", i, server, first.Weight)
		}
	}
	took := time.Since(began)
	select {
	case err := <-watched:
		t.Errorf("after %d reloads: %v", reloads, err)
	default:
	}
	cancel()
	clients.Wait()
	endWatch()
	if requests.Load() < 10*reloads {
		t.Errorf("%d requests during %d reloads prove nothing", requests.Load(), reloads)
	}
	t.Logf("%d reloads in %s, %d requests, failures: %v", reloads, took, requests.Load(), failures)
	if len(failures) != 0 {
		t.Errorf("%d of %d requests failed\n%s", len(failures), requests.Load(), h.log(t, state.Name))
	}
}

func TestIntegrationHealth(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	state := h.ensure(t)
	one, two := h.serve(t, "one"), h.serve(t, "two")
	two.readyz.Store(http.StatusInternalServerError)
	h.sync(t, state.Name, one.backend, two.backend)
	statuses := func(a, b haproxy.Status) func(loadbalancer.State) bool {
		return func(s loadbalancer.State) bool {
			first, _ := s.Backend("one")
			second, _ := s.Backend("two")
			return first.Status == a && second.Status == b
		}
	}
	h.await(t, state.Name, "one up and two down", statuses(haproxy.StatusUp, haproxy.StatusDown))
	client, url := newClient(t, false), versionURL(state)
	ask := func(what string, count int, want ...string) {
		t.Helper()
		seen := map[string]bool{}
		for range count {
			body, err := get(t.Context(), client, url)
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			seen[body] = true
		}
		for _, name := range want {
			if !seen[name] {
				t.Errorf("%s: answered by %v, want %v", what, seen, want)
			}
		}
		if len(seen) != len(want) {
			t.Errorf("%s: answered by %v, want %v alone", what, seen, want)
		}
	}
	ask("one is ready", 20, "one")

	// A busy API server takes longer for a handshake than for a connection, and a new process
	// takes a server down at the first check that fails.
	const busy = int64(700 * time.Millisecond)
	one.handshake.Store(busy)
	one.backend.Weight--
	before := h.log(t, state.Name)
	h.sync(t, state.Name, one.backend, two.backend)
	h.await(t, state.Name, "one that a new process has checked", func(s loadbalancer.State) bool {
		server, _ := s.Backend("one")
		return server.Status == haproxy.StatusUp && server.CheckCode == http.StatusOK
	})
	if log := strings.TrimPrefix(h.log(t, state.Name), before); strings.Contains(log, "/one is DOWN") {
		t.Errorf("one went down:\n%s", log)
	}
	one.handshake.Store(0)

	// Anonymous access is off: it answers, so it is there.
	began := time.Now()
	two.readyz.Store(http.StatusUnauthorized)
	for two.requests.Load() == 0 && time.Since(began) < patience {
		if _, err := get(t.Context(), client, url); err != nil {
			t.Error(err)
		}
	}
	if two.requests.Load() == 0 {
		t.Fatalf("a new API server was not used for %s", patience)
	}
	t.Logf("a new API server was used %s after it was ready", time.Since(began))
	h.await(t, state.Name, "both up", statuses(haproxy.StatusUp, haproxy.StatusUp))

	// An API server that begins is not ready before its own authorization is.
	two.readyz.Store(http.StatusForbidden)
	h.await(t, state.Name, "two down", statuses(haproxy.StatusUp, haproxy.StatusDown))

	// None is ready: clients should hear so from an API server.
	one.readyz.Store(http.StatusInternalServerError)
	h.await(t, state.Name, "both down", statuses(haproxy.StatusDown, haproxy.StatusDown))
	ask("none is ready", 20, "one", "two")

	// One is gone, whatever was said of it before.
	one.server.CloseClientConnections()
	_ = one.server.Listener.Close()
	two.handshake.Store(busy)
	two.readyz.Store(http.StatusOK)
	h.await(t, state.Name, "two up", statuses(haproxy.StatusDown, haproxy.StatusUp))
	two.handshake.Store(0)
	ask("one is gone", 20, "two")
}

// TestIntegrationDeadBackend closes an API server whose checks pass: each request is answered
// by the other one.
func TestIntegrationDeadBackend(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	state := h.ensure(t)
	h.checkElsewhere(t)
	one, two := h.serve(t, "one"), h.serve(t, "two")
	h.sync(t, state.Name, one.backend, two.backend)
	bothUp := func(s loadbalancer.State) bool {
		a, _ := s.Backend("one")
		b, _ := s.Backend("two")
		return a.Status.Up() && b.Status.Up()
	}
	h.await(t, state.Name, "backends that are up", bothUp)
	_ = one.server.Listener.Close()
	one.server.CloseClientConnections()
	client, began := newClient(t, false), time.Now()
	for i := range 20 {
		if body, err := get(t.Context(), client, versionURL(state)); err != nil || body != "two" {
			t.Errorf("request %d after one died: %q, %v", i, body, err)
		}
	}
	t.Logf("20 requests in %s", time.Since(began))
	if after := must.Get(loadbalancer.Observe(t.Context(), h.engine, state.Name))(t); !bothUp(after) {
		t.Errorf("backends %+v, want both up, as their checks are", after.Backends)
	}
	if t.Failed() {
		t.Log(h.log(t, state.Name))
	}
}

func TestIntegrationDrain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	state := h.ensure(t)
	one, two := h.serve(t, "one"), h.serve(t, "two")
	control := func(deleting bool) []loadbalancer.Machine {
		return []loadbalancer.Machine{
			{Container: "one", Address: one.backend.Address, Port: one.backend.Port, Deleting: deleting},
			{Container: "two", Address: two.backend.Address, Port: two.backend.Port},
		}
	}
	h.sync(t, state.Name, loadbalancer.Backends(control(false), state)...)
	observed := h.await(t, state.Name, "two that is up", func(s loadbalancer.State) bool {
		server, _ := s.Backend("two")
		return server.Status.Up()
	})
	if serving, err := loadbalancer.Serving(t.Context(), h.engine, state.Name, "one"); err != nil || !serving {
		t.Errorf("Serving = %t, %v", serving, err)
	}
	h.sync(t, state.Name, loadbalancer.Backends(control(true), observed)...)
	if serving, err := loadbalancer.Serving(t.Context(), h.engine, state.Name, "one"); err != nil || serving {
		t.Errorf("Serving = %t, %v, want it drained", serving, err)
	}
	client := newClient(t, false)
	for range 10 {
		if body, err := get(t.Context(), client, versionURL(state)); err != nil || body != "two" {
			t.Errorf("answered by %q, %v, want two alone", body, err)
		}
	}
	h.await(t, state.Name, "one that is up and drained", func(s loadbalancer.State) bool {
		server, _ := s.Backend("one")
		return server.Status.Up() && server.Weight == 0
	})
}

func TestIntegrationRejected(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	state := h.ensure(t)
	err := loadbalancer.Check(t.Context(), h.engine, state.Name, "global\n    maxcon 5\n")
	var rejected *loadbalancer.RejectedError
	if !errors.As(err, &rejected) || !strings.Contains(rejected.Message, "maxcon") {
		t.Errorf("Check: %v, want what haproxy says of maxcon", err)
	}
	content, err := engine.ReadFile(t.Context(), h.engine, state.Name, haproxy.ConfigPath)
	text := string(content)
	if err != nil || haproxy.Generation(text) != state.Generation {
		t.Errorf("stored %q, %v", text, err)
	}
	if err := loadbalancer.Check(t.Context(), h.engine, state.Name, text); err != nil {
		t.Errorf("Check of the running configuration: %v", err)
	}
}

// TestIntegrationWorkerKilled: the worker dies, the master ends with it, the
// engine starts the container again, and it has its last configuration.
func TestIntegrationWorkerKilled(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	state := h.ensure(t)
	one := h.serve(t, "one")
	synced := h.sync(t, state.Name, one.backend)
	kill := "for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p != 1 ] && [ $p != $$ ] && grep -q haproxy /proc/$p/comm && kill -9 $p; done; true"
	// The process that kills may be killed with its container.
	_, err := h.engine.Exec(t.Context(), state.Name, engine.Command{Args: []string{"bash", "-c", kill}})
	var exit *engine.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	h.await(t, state.Name, "answer after the worker died", func(s loadbalancer.State) bool {
		return s.Generation == synced.Generation && s.HostPorts[6443] == state.HostPorts[6443]
	})
	if body, err := get(t.Context(), newClient(t, false), versionURL(state)); err != nil || body != "one" {
		t.Errorf("answered by %q, %v", body, err)
	}
}

// TestIntegrationSilentWatch keeps a connection silent for the time of
// SILENCE, such as 11m. It is too long to be run each time.
func TestIntegrationSilentWatch(t *testing.T) {
	t.Parallel()
	silence, err := time.ParseDuration(os.Getenv("SILENCE"))
	if err != nil {
		t.Skip("SILENCE is not set")
	}
	h := newHarness(t)
	state := h.ensure(t)
	one := h.serve(t, "one")
	h.sync(t, state.Name, one.backend)
	client := newClient(t, true)
	client.Timeout = 0
	body, err := get(t.Context(), client, addressURL(h, state, fmt.Sprintf("/watch?nanoseconds=%d", silence)))
	if err != nil || body != "begin\nend\n" {
		t.Errorf("watch = %q, %v", body, err)
	}
}
