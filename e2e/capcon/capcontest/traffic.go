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

package capcontest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// short is an error in one line.
func short(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }

// Traffic are clients of an API server or a Service that never pause: one that makes a new
// connection for each request, and one that keeps its connection. What fails
// is tried once more, immediately; what fails then too fails the test, which says so
// when it happens: hours may follow.
type Traffic struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu                           sync.Mutex
	requests, again, FailedTwice int
	slowest                      time.Duration
}

// pace leaves the processors to the cluster: some fifty requests a second
// from each client.
const pace = 20 * time.Millisecond

// StartTraffic begins it; it ends with the test at the latest.
func StartTraffic(t *testing.T, config *rest.Config) *Traffic {
	t.Helper()
	// A read that every member of etcd has to agree to.
	return StartTrafficTo(t, config.Host+"/api/v1/namespaces/kube-system", map[string]*http.Client{
		"new connections": must.Get(NewConnections(config))(t),
		"one connection":  must.Get(oneConnection(config))(t),
	})
}

// StartTrafficTo begins the traffic of these clients, by their names.
func StartTrafficTo(t *testing.T, url string, clients map[string]*http.Client) *Traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	running := &Traffic{t: t, cancel: cancel}
	t.Cleanup(running.Stop)
	for name, client := range clients {
		running.ended.Go(func() {
			for ctx.Err() == nil {
				running.ask(ctx, name, client, url)
				select {
				case <-time.After(pace):
				case <-ctx.Done():
				}
			}
		})
	}
	return running
}

func (r *Traffic) ask(ctx context.Context, name string, api *http.Client, url string) {
	start := time.Now()
	_, first := Get(ctx, api, url)
	var second error
	if first != nil {
		_, second = Get(ctx, api, url)
	}
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	r.slowest = max(r.slowest, time.Since(start))
	if first != nil {
		r.again++
	}
	if second != nil {
		r.FailedTwice++
		r.t.Errorf("%s: failed twice, on %s: %s; %s", start.Format(time.TimeOnly), name, short(first), short(second))
	}
}

// Stop the clients.
func (r *Traffic) Stop() {
	r.cancel()
	r.ended.Wait()
}

// String reports the requests so far.
func (r *Traffic) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%d requests, %d tried again, %d failed twice, the slowest took %.1fs",
		r.requests, r.again, r.FailedTwice, r.slowest.Seconds())
}

// PatienceWithAnswer bounds one request.
const PatienceWithAnswer = 10 * time.Second

// oneConnection is a client that keeps its connection as long as it lives.
func oneConnection(config *rest.Config) (*http.Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = PatienceWithAnswer
	api, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return api, nil
}

// NewConnections is a client that makes a connection for each request.
func NewConnections(config *rest.Config) (*http.Client, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &http.Client{
		Timeout:   PatienceWithAnswer,
		Transport: &http.Transport{TLSClientConfig: tlsConfig, DisableKeepAlives: true},
	}, nil
}

// Get returns the body of a response with status 200.
func Get(ctx context.Context, api *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	response, err := api.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answer is %s: %s", response.Status, body)
	}
	return body, nil
}
