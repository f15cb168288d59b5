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
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// testExtension is a server with one response for each path.
type testExtension struct {
	*httptest.Server

	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
	// requests are the bodies of all requests by path.
	requests map[string][]string
}

func newExtension(t *testing.T) *testExtension {
	t.Helper()
	e := &testExtension{handlers: map[string]http.HandlerFunc{}, requests: map[string][]string{}}
	e.Server = httptest.NewUnstartedServer(e)
	e.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that callers end
	e.StartTLS()
	t.Cleanup(func() {
		e.CloseClientConnections() // handlers that wait for the end of a request
		e.Close()
	})
	return e
}

func (e *testExtension) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller is gone
	}
	e.mu.Lock()
	e.requests[r.URL.Path] = append(e.requests[r.URL.Path], string(body))
	handle, ok := e.handlers[r.URL.Path]
	e.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	handle(w, r)
}

// on handles the hook of the path.
func (e *testExtension) on(path string, handle http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers[path] = handle
}

// received returns the requests of the path.
func (e *testExtension) received(path string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests[path]
}

// respond with a value.
func respond(value any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(value)
	}
}

// hang until the caller ends the request.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// config of an extension with handlers of its hooks, as a discovery has it.
func (e *testExtension) config(name string, handlers ...runtimev1.ExtensionHandler) *runtimev1.ExtensionConfig {
	for i := range handlers {
		handlers[i].Name += "." + name
	}
	return &runtimev1.ExtensionConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"},
		Spec: runtimev1.ExtensionConfigSpec{
			ClientConfig: runtimev1.ClientConfig{
				URL:      e.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{},
		},
		Status: runtimev1.ExtensionConfigStatus{Handlers: handlers},
	}
}

const (
	hooks         = "hooks.runtime.cluster.x-k8s.io/v1alpha1"
	beforeCreate  = "/" + hooks + "/beforeclustercreate/before"
	discoveryPath = "/" + hooks + "/discovery"
)

// before is a handler of BeforeClusterCreate.
func before(policy runtimev1.FailurePolicy) runtimev1.ExtensionHandler {
	return runtimev1.ExtensionHandler{
		Name:        "before",
		RequestHook: runtimev1.GroupVersionHook{APIVersion: hooks, Hook: "BeforeClusterCreate"}, FailurePolicy: policy,
	}
}

func success() runtimehooksv1.CommonResponse {
	return runtimehooksv1.CommonResponse{Status: runtimehooksv1.ResponseStatusSuccess}
}

// newClient has registered extensions, and the namespaces default, a and b.
func newClient(t *testing.T, configs ...*runtimev1.ExtensionConfig) *Client {
	t.Helper()
	catalog := runtimecatalog.New()
	must.Succeed(t, runtimehooksv1.AddToCatalog(catalog))
	return newClientOf(t, catalog, configs...)
}

func newClientOf(t *testing.T, catalog *runtimecatalog.Catalog, configs ...*runtimev1.ExtensionConfig) *Client {
	t.Helper()
	namespaces := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme)
	for _, name := range []string{"default", "a", "b"} {
		namespaces.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}})
	}
	c := New(catalog, namespaces.Build())
	var list runtimev1.ExtensionConfigList
	for _, config := range configs {
		list.Items = append(list.Items, *config)
	}
	must.Succeed(t, c.WarmUp(&list))
	return c
}

func cluster(namespace string) client.Object {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}}
}

// create calls the handler of BeforeClusterCreate.
func create(t *testing.T, c *Client, name string) (*runtimehooksv1.BeforeClusterCreateResponse, error) {
	t.Helper()
	response := &runtimehooksv1.BeforeClusterCreateResponse{}
	err := c.CallExtension(t.Context(), runtimehooksv1.BeforeClusterCreate, cluster("default"), name, &runtimehooksv1.BeforeClusterCreateRequest{}, response)
	return response, err
}

// shorten the timeout of the handlers of an extension, which is in seconds.
func shorten(c *Client, extension string, timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, h := range c.extensions[extension].handlers {
		h.timeout = timeout
		c.extensions[extension].handlers[name] = h
	}
}

// large is a response of success with that many bytes.
func large(bytes int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"Success","message":"`)
		for piece := strings.Repeat("x", 64<<10); bytes > 0; bytes -= len(piece) {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `"}`)
	}
}

func discovered(handlers ...runtimehooksv1.ExtensionHandler) *runtimehooksv1.DiscoveryResponse {
	return &runtimehooksv1.DiscoveryResponse{CommonResponse: success(), Handlers: handlers}
}

func discoveredHandler(name string) runtimehooksv1.ExtensionHandler {
	return runtimehooksv1.ExtensionHandler{
		Name: name, RequestHook: runtimehooksv1.GroupVersionHook{APIVersion: hooks, Hook: "BeforeClusterCreate"},
		TimeoutSeconds: ptr.To[int32](5),
	}
}
