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

package stress_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// delay is how much later than the engine a proxy is, with one request.
type delay struct {
	// before the engine gets the request, and after it has answered.
	before, after time.Duration
}

// slowProxy is an engine that takes its time.
type slowProxy struct {
	path    string
	forward *httputil.ReverseProxy
	ended   <-chan struct{}

	mu sync.Mutex
	// delayOf a request; nil = none.
	delayOf func(*http.Request) delay
	// creations are the requests for a container that the engine got; each calls
	// onCreation, which may be nil.
	creations  int
	onCreation func()
}

// newSlowProxy is before an engine until the test ends.
func newSlowProxy(t *testing.T, eng engine.Host) *slowProxy {
	t.Helper()
	info := must.Get(eng.Info(t.Context()))(t)
	socket, ok := strings.CutPrefix(info.Endpoint, "unix://")
	if !ok {
		t.Fatalf("this test needs an engine behind a Unix socket, not %s", info.Endpoint)
	}
	p := &slowProxy{path: filepath.Join(t.TempDir(), "engine.sock"), ended: t.Context().Done()}
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "engine"})
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}},
		ModifyResponse: func(response *http.Response) error {
			p.rest(p.of(response.Request).after)
			return nil
		},
		FlushInterval: -1,
		// That a caller has gone is what these tests are about.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	listener := must.Get(net.Listen("unix", p.path))(t)
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return p
}

// ServeHTTP implements http.Handler.
func (p *slowProxy) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	p.rest(p.of(request).before)
	if isCreation(request) {
		p.mu.Lock()
		p.creations++
		onCreation := p.onCreation
		p.mu.Unlock()
		if onCreation != nil {
			onCreation()
		}
		// An engine finishes what it was asked for, also where the caller has gone.
		request = request.WithContext(context.WithoutCancel(request.Context()))
	}
	p.forward.ServeHTTP(w, request)
}

// rest for some time; the end of the test ends it.
func (p *slowProxy) rest(duration time.Duration) {
	select {
	case <-time.After(duration):
	case <-p.ended:
	}
}

func (p *slowProxy) of(request *http.Request) delay {
	p.mu.Lock()
	delayOf := p.delayOf
	p.mu.Unlock()
	if delayOf == nil {
		return delay{}
	}
	return delayOf(request)
}

// slowDown from now on; nil ends it.
func (p *slowProxy) slowDown(delayOf func(*http.Request) delay) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delayOf = delayOf
}

// created is how many requests for a container the engine has got.
func (p *slowProxy) created() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.creations
}

func isCreation(request *http.Request) bool {
	return request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/containers/create")
}

// connect to the engine through the proxy, with the limits given.
func (p *slowProxy) connect(t *testing.T, name string, limits metered.Options) engine.Engine {
	t.Helper()
	host := map[string]string{"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}[name]
	eng := must.Get(connect.Connect(t.Context(), connect.Options{Engine: name, Timeout: time.Minute, Getenv: func(variable string) string {
		if variable == host {
			return "unix://" + p.path
		}
		return ""
	}}))(t)
	t.Cleanup(func() { _ = eng.Close() })
	limited := must.Get(metered.New(eng, prometheus.NewRegistry(), limits))(t)
	return limited
}
