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
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// harness is a network of its own on a real engine, with a load balancer, and
// API servers on this host that the network reaches.
type harness struct {
	engine  engine.Engine
	owner   identity.Owner
	network engine.Network
	spec    loadbalancer.Spec
}

// newHarness uses the engine that ENGINE names and the image of HAPROXY_IMAGE, by
// default the one that is built here, on a network with these families, by default IPv4. It leaves nothing behind.
func newHarness(t *testing.T, families ...network.Family) *harness {
	t.Helper()
	image := cmp.Or(os.Getenv("HAPROXY_IMAGE"), "localhost/capcon/haproxy:2.6")
	eng := integration.Engine(t, image)
	owner := identity.Owner{Namespace: "test", Cluster: "balance", ID: identity.NewOwnerID()}
	h := &harness{engine: eng, owner: owner}
	var err error
	h.network, err = network.Ensure(t.Context(), eng, network.Request{Name: "capcon-test-" + owner.ID, Families: families})
	must.Succeed(t, err)
	h.spec = loadbalancer.Spec{
		Owner: owner, Image: image, Network: h.network.Name,
		HostPorts: map[uint16]uint16{6443: 0}, Config: controlPlane(6443, nil),
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := loadbalancer.Delete(ctx, eng, h.spec); err != nil {
			t.Error(err)
		}
		if gone, err := network.Remove(ctx, eng, h.network.Name); err != nil || !gone {
			t.Errorf("Remove network = %t, %v", gone, err)
		}
	})
	return h
}

// ensure returns the load balancer once its process answers.
func (h *harness) ensure(t *testing.T) loadbalancer.State {
	t.Helper()
	state := must.Get(ensure(t.Context(), h.engine, h.spec))(t)
	return h.await(t, state.Name, "an answer", func(s loadbalancer.State) bool { return s.Generation != "" })
}

// patience bounds waiting for what takes a second or two where nothing else runs.
const patience = time.Minute

// await observes until the state is as wanted.
func (h *harness) await(t *testing.T, name, what string, wanted func(loadbalancer.State) bool) loadbalancer.State {
	t.Helper()
	var state loadbalancer.State
	must.Eventually(t, patience, "the load balancer has "+what, func(ctx context.Context) (err error) {
		state, err = loadbalancer.Observe(ctx, h.engine, name)
		if err == nil && !wanted(state) {
			err = fmt.Errorf("it has %+v", state)
		}
		return err
	})
	return state
}

// log that the load balancer has written.
func (h *harness) log(t *testing.T, name string) string {
	t.Helper()
	var log strings.Builder
	if err := h.engine.ContainerLog(context.WithoutCancel(t.Context()), name, engine.LogRequest{}, &log); err != nil {
		t.Error(err)
	}
	return log.String()
}

// sync gives the load balancer backends. Where the process needs longer than one Sync waits,
// another is the remedy.
func (h *harness) sync(t *testing.T, name string, backends ...haproxy.Backend) loadbalancer.State {
	t.Helper()
	frontend := h.spec.Config.Frontends[0]
	frontend.Backends = backends
	var state loadbalancer.State
	must.Eventually(t, patience, "the load balancer has its backends", func(ctx context.Context) (err error) {
		state, err = synchronize(ctx, h.engine, name, haproxy.Config{Frontends: []haproxy.Frontend{frontend}})
		return err
	})
	return state
}

// checkElsewhere has the health checks of all API servers connect to a listener of their own,
// for which the kernel answers: from the next sync on they pass, however busy this host is and
// whatever an API server does. Podman has the listener's address once a container runs.
func (h *harness) checkElsewhere(t *testing.T) {
	t.Helper()
	listener := h.listen(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.Close()
		}
	}()
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()
	h.spec.Config.Frontends[0].Check = haproxy.Check{Port: port}
}

// listen on an address of the network that is this host's. The engine must be local.
func (h *harness) listen(t *testing.T) net.Listener {
	t.Helper()
	gateway := netip.AddrPortFrom(h.network.Subnets[0].Gateway, 0)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", gateway.String())
	if err != nil {
		t.Fatalf("listen on the network's gateway: %v; these tests need an engine on this host", err)
	}
	return listener
}

// apiServer answers as an API server would, as configured by its fields.
type apiServer struct {
	backend haproxy.Backend
	server  *httptest.Server
	// readyz is the status of GET /readyz.
	readyz atomic.Int32
	// handshake is how many nanoseconds a TLS handshake takes longer.
	handshake atomic.Int64
	// requests of clients, /readyz not counted.
	requests atomic.Int64
}

// serve starts an API server that is ready.
func (h *harness) serve(t *testing.T, name string) *apiServer {
	t.Helper()
	listener := h.listen(t)
	s := &apiServer{}
	s.readyz.Store(http.StatusOK)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(s.readyz.Load())) })
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		s.requests.Add(1)
		_, _ = io.WriteString(w, name)
	})
	mux.HandleFunc("GET /watch", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begin\n")
		_ = http.NewResponseController(w).Flush()
		// Silence until the client asks for the end, or goes.
		var wait time.Duration
		_, _ = fmt.Sscan(r.URL.Query().Get("nanoseconds"), &wait)
		select {
		case <-r.Context().Done():
		case <-time.After(wait):
			_, _ = io.WriteString(w, "end\n")
		}
	})
	s.server = httptest.NewUnstartedServer(mux)
	_ = s.server.Listener.Close()
	s.server.Listener = listener
	s.server.Config.ErrorLog = nil
	s.server.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			<-time.After(time.Duration(s.handshake.Load()))
			return nil, nil
		},
	}
	s.server.StartTLS()
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	address := netip.MustParseAddrPort(listener.Addr().String())
	s.backend = haproxy.Backend{Name: name, Address: address.Addr(), Port: address.Port(), Weight: haproxy.FullWeight}
	return s
}

// client of the load balancer. Each opens a new connection for each request where
// keepAlive is false.
func newClient(t *testing.T, keepAlive bool) *http.Client {
	t.Helper()
	transport := &http.Transport{
		DisableKeepAlives: !keepAlive,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // The test server's certificate is for another name.
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

func get(ctx context.Context, client *http.Client, url string) (body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	return string(content), err
}

func versionURL(state loadbalancer.State) string {
	return fmt.Sprintf("https://127.0.0.1:%d/version", state.HostPorts[6443])
}

func addressURL(h *harness, state loadbalancer.State, path string) string {
	return fmt.Sprintf("https://%s%s", netip.AddrPortFrom(state.Address(), h.spec.Config.Frontends[0].Port), path)
}
