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

package tunnel_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/tunnel"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// relaying is an engine whose container has the relay, and records its commands.
type relaying struct{ commands chan []string }

// Exec implements engine.Executor.
func (r relaying) Exec(ctx context.Context, name string, command engine.Command) (engine.Output, error) {
	r.commands <- append([]string{name}, command.Args...)
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", command.Args[2])
	if err != nil {
		return engine.Output{}, err
	}
	defer connection.Close()
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(connection, command.Stdin)
		_ = connection.Close()
	}()
	_, err = io.Copy(command.Stdout, connection)
	return engine.Output{}, err
}

func TestTunnels(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	eng := relaying{make(chan []string, 10)}
	tunnels := tunnel.New(ctx, eng)
	port := freePort(t)
	for _, name := range []string{"one", "another"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }))
		t.Cleanup(server.Close)
		address := netip.MustParseAddrPort(server.Listener.Addr().String())
		for _, want := range []bool{true, false} {
			if opened, err := tunnels.Open("plane", port, address); err != nil || opened != want {
				t.Errorf("Open(%s) = %t, %v, want %t", name, opened, err, want)
			}
		}
		if got, err := get(t.Context(), port); err != nil || got != name {
			t.Errorf("GET through the tunnel to %s = %q, %v", name, got, err)
		}
		if diff := cmp.Diff([]string{"plane", "/usr/local/bin/capcon-plane", "relay", address.String()}, <-eng.commands); diff != "" {
			t.Errorf("command: -want, +got:\n%s", diff)
		}
	}
	cancel()
	must.Eventually(t, 10*time.Second, "the port is closed with the lifetime", func(ctx context.Context) error {
		if _, err := get(ctx, port); err == nil {
			return errors.New("it answers")
		}
		return nil
	})
}

// TestPortInUse: a virtual machine forwards the ports that its engine publishes.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	address := netip.MustParseAddrPort(listener.Addr().String())
	if opened, err := tunnel.New(t.Context(), relaying{}).Open("plane", address.Port(), address); err != nil || opened {
		t.Errorf("Open(...) = %t, %v, want that the port is left alone", opened, err)
	}
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	return netip.MustParseAddrPort(listener.Addr().String()).Port()
}

func get(ctx context.Context, port uint16) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(int(port)), http.NoBody)
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
