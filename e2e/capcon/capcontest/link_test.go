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
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// A request reaches the engine while its response is delayed, which arrives once it is not any more.
func TestLinkDelaysResponses(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	engine := httptest.NewTLSServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		reached <- struct{}{}
		_, _ = io.WriteString(response, "OK")
	}))
	t.Cleanup(engine.Close)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	link := newLink(listener, engine.Listener.Addr().String())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}}
	transport.TLSClientConfig.RootCAs.AddCert(engine.Certificate())
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	}
	client := &http.Client{Transport: transport}
	t.Cleanup(client.CloseIdleConnections)
	responses := make(chan string, 1)
	request := func() {
		asked := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, engine.URL, http.NoBody))(t)
		response, err := client.Do(asked)
		if err != nil {
			responses <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		responses <- string(body)
	}
	for _, delay := range []time.Duration{0, time.Hour} {
		link.Delay(delay)
		go request()
		<-reached
		if delay > 0 {
			select {
			case got := <-responses:
				t.Errorf("the response %q is not delayed", got)
			case <-time.NewTimer(100 * time.Millisecond).C:
			}
			link.Delay(0)
		}
		if got := <-responses; got != "OK" {
			t.Errorf("the response is %q", got)
		}
		client.CloseIdleConnections() // The next connection is made while responses are delayed.
	}
}
