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

package extensions

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/transport"

	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
)

const (
	// idleTimeout of connections: reconciles of a change follow one another within it.
	idleTimeout = 30 * time.Second
	// connectTimeout ends what a call that timed out left: no handler has a longer timeout.
	connectTimeout = maxTimeoutSeconds * time.Second
)

// server is where an extension is served.
type server struct {
	config runtimev1.ClientConfig
	base   *url.URL
	client *http.Client

	mu sync.Mutex
	// breakers of its handlers, by their qualified names.
	breakers map[string]*breaker
}

func newServer(config runtimev1.ClientConfig) (*server, error) {
	base, err := baseURL(config)
	if err != nil {
		return nil, err
	}
	secure, err := transport.TLSConfigFor(&transport.Config{TLS: transport.TLSConfig{CAData: config.CABundle, ServerName: base.Hostname()}})
	if err != nil {
		return nil, fmt.Errorf("%w clientConfig.caBundle: %w", ErrInvalid, err)
	}
	return &server{
		config: *config.DeepCopy(), base: base, breakers: map[string]*breaker{},
		client: &http.Client{
			// No proxy, and HTTP/1.1: a connection whose request timed out is closed, and not used
			// by the next one.
			Transport: &http.Transport{
				DialContext:     (&net.Dialer{Timeout: connectTimeout}).DialContext,
				TLSClientConfig: secure, TLSHandshakeTimeout: connectTimeout,
				IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeaderBytes,
			},
			// The extension is the one that the ExtensionConfig names, and does not send the plane
			// to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// baseURL of an extension. The name of a Service is the same as in a cluster.
func baseURL(config runtimev1.ClientConfig) (*url.URL, error) {
	if service := config.Service; service.IsDefined() {
		host := serviceHost(service)
		if service.Port != nil {
			host = net.JoinHostPort(host, strconv.Itoa(int(*service.Port)))
		}
		return &url.URL{Scheme: "https", Host: host, Path: service.Path}, nil
	}
	base, err := url.Parse(config.URL)
	if err != nil {
		return nil, fmt.Errorf("%w clientConfig.url: %w", ErrInvalid, err)
	}
	if base.Scheme != "https" || base.Hostname() == "" {
		return nil, fmt.Errorf("%w clientConfig.url %q: want https://HOST", ErrInvalid, config.URL)
	}
	return base, nil
}

func serviceHost(service runtimev1.ServiceReference) string {
	return service.Name + "." + service.Namespace + ".svc"
}

// url of a handler, with the time that it has as the extension may read it.
func (s *server) url(path string, timeout time.Duration) string {
	target := s.base.JoinPath(path)
	query := target.Query()
	query.Set("timeout", timeout.String())
	target.RawQuery = query.Encode()
	return target.String()
}

// explain an error of a Service whose name is not known.
func (s *server) explain(err error) error {
	var lookup *net.DNSError
	if s.config.Service.IsDefined() && errors.As(err, &lookup) && lookup.IsNotFound {
		return fmt.Errorf("%w: %w", ErrNoService, err)
	}
	return err
}

// close the connections that are not in use; nil has none.
func (s *server) close() {
	if s != nil {
		s.client.CloseIdleConnections()
	}
}

func (s *server) breakerOf(name string) *breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.breakers[name] == nil {
		s.breakers[name] = &breaker{}
	}
	return s.breakers[name]
}

// breaker lets one call through at a time while a handler does not answer. The reconciles of all
// clusters share a limited number of workers, which would all wait for its timeout.
type breaker struct {
	mu sync.Mutex
	// failure of the last call; nil = it was answered.
	failure error
	// probing says that a call waits for an answer after that failure.
	probing bool
}

// do calls, or returns the last failure while another call finds out whether the handler answers again.
func (b *breaker) do(ctx context.Context, call func() error) error {
	b.mu.Lock()
	probe := b.failure != nil
	if probe && b.probing {
		defer b.mu.Unlock()
		return b.failure
	}
	b.probing = b.probing || probe
	b.mu.Unlock()

	err := call()

	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	if ctx.Err() != nil {
		return err // the caller did not wait for the answer
	}
	b.failure = nil
	if failed := (*CallError)(nil); errors.As(err, &failed) && failed.Unanswered {
		b.failure = err
	}
	return err
}
