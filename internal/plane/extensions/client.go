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
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	runtimeclient "sigs.k8s.io/cluster-api/exp/runtime/client"
)

var _ runtimeclient.Client = &Client{}

// Client calls the extensions that are registered with it. Its methods may be called
// concurrently.
type Client struct {
	catalog    *runtimecatalog.Catalog
	namespaces client.Reader
	clock      clock.PassiveClock

	mu    sync.Mutex
	ready bool
	// extensions by the name of their ExtensionConfig. Each is replaced, never changed.
	extensions map[string]*extension
	// servers and failed discoveries by the name of the ExtensionConfig.
	servers map[string]*server
	failed  map[string]failedDiscovery
}

// New returns a client of the hooks in the catalog, which reads the labels of namespaces for
// the namespaceSelectors of extensions. It is not ready until WarmUp.
func New(catalog *runtimecatalog.Catalog, namespaces client.Reader) *Client {
	return &Client{
		catalog: catalog, namespaces: namespaces, clock: clock.RealClock{},
		extensions: map[string]*extension{}, servers: map[string]*server{}, failed: map[string]failedDiscovery{},
	}
}

// extension is a registered ExtensionConfig.
type extension struct {
	name, resourceVersion string
	selector              labels.Selector
	settings              map[string]string
	server                *server
	// handlers by their qualified name.
	handlers map[string]handler
}

type handler struct {
	// name that the extension knows it by.
	name    string
	hook    runtimecatalog.GroupVersionHook
	timeout time.Duration
	policy  runtimev1.FailurePolicy
	breaker *breaker
}

// qualify returns the name of a handler that is unique among all extensions.
func qualify(handler, extension string) string { return handler + "." + extension }

// WarmUp registers extensions with the handlers that their status has, without calling them, and
// makes the client ready. One that is invalid is left to Register, whose caller reports it.
func (c *Client) WarmUp(list *runtimev1.ExtensionConfigList) error {
	for i := range list.Items {
		if err := c.Register(&list.Items[i]); err != nil {
			continue
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = true
	return nil
}

// IsReady reports whether WarmUp was called.
func (c *Client) IsReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready
}

// Register registers the handlers that the status of the ExtensionConfig has, in place of those
// that were registered before.
func (c *Client) Register(config *runtimev1.ExtensionConfig) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	registered, err := c.describe(config)
	if err != nil {
		return fmt.Errorf("register ExtensionConfig %q: %w", config.Name, err)
	}
	c.extensions[config.Name] = registered
	return nil
}

func (c *Client) describe(config *runtimev1.ExtensionConfig) (*extension, error) {
	selector, err := metav1.LabelSelectorAsSelector(config.Spec.NamespaceSelector)
	if err != nil {
		return nil, fmt.Errorf("%w namespaceSelector: %w", ErrInvalid, err)
	}
	server, err := c.serverOf(config)
	if err != nil {
		return nil, err
	}
	described := &extension{
		name: config.Name, resourceVersion: config.ResourceVersion, selector: selector,
		settings: maps.Clone(config.Spec.Settings), server: server, handlers: map[string]handler{},
	}
	for _, h := range config.Status.Handlers {
		version, err := schema.ParseGroupVersion(h.RequestHook.APIVersion)
		if err != nil {
			return nil, fmt.Errorf("%w apiVersion of handler %q: %w", ErrInvalid, h.Name, err)
		}
		described.handlers[h.Name] = handler{
			name:    strings.TrimSuffix(h.Name, "."+config.Name),
			hook:    runtimecatalog.GroupVersionHook{Group: version.Group, Version: version.Version, Hook: h.RequestHook.Hook},
			timeout: timeoutOf(h.TimeoutSeconds), policy: h.FailurePolicy, breaker: server.breakerOf(h.Name),
		}
	}
	return described, nil
}

// serverOf an ExtensionConfig keeps its connections while its clientConfig does not change.
func (c *Client) serverOf(config *runtimev1.ExtensionConfig) (*server, error) {
	present := c.servers[config.Name]
	if present != nil && equality.Semantic.DeepEqual(present.config, config.Spec.ClientConfig) {
		return present, nil
	}
	created, err := newServer(config.Spec.ClientConfig)
	if err != nil {
		return nil, err
	}
	c.servers[config.Name] = created
	present.close()
	return created, nil
}

// Unregister removes the handlers of the ExtensionConfig, of which only the name is read.
func (c *Client) Unregister(config *runtimev1.ExtensionConfig) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers[config.Name].close()
	delete(c.extensions, config.Name)
	delete(c.servers, config.Name)
	delete(c.failed, config.Name)
	return nil
}

// registered extensions in the order of their names.
func (c *Client) registered() ([]*extension, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready {
		return nil, ErrNotReady
	}
	return slices.SortedFunc(maps.Values(c.extensions), func(a, b *extension) int { return strings.Compare(a.name, b.name) }), nil
}

// find returns the handler of that qualified name, and its extension.
func (c *Client) find(name string) (*extension, handler, error) {
	all, err := c.registered()
	if err != nil {
		return nil, handler{}, err
	}
	for _, e := range all {
		if found, ok := e.handlers[name]; ok {
			return e, found, nil
		}
	}
	return nil, handler{}, ErrUnknownHandler
}

// GetAllExtensions returns the sorted names of the handlers of the hook, in any version, whose
// extension selects the namespace of the object.
func (c *Client) GetAllExtensions(ctx context.Context, hook runtimecatalog.Hook, object client.Object) ([]string, error) {
	requested, err := c.catalog.GroupVersionHook(hook)
	if err != nil {
		return nil, fmt.Errorf("find hook: %w", err)
	}
	all, err := c.registered()
	if err != nil {
		return nil, fmt.Errorf("find handlers of hook %s: %w", requested.Hook, err)
	}
	names := []string{}
	for _, e := range all {
		handlers := e.handlersOf(requested.GroupHook())
		if len(handlers) == 0 {
			continue
		}
		selected, err := c.selects(ctx, e, object.GetNamespace())
		if err != nil {
			return nil, fmt.Errorf("find handlers of hook %s: %w", requested.Hook, err)
		}
		if selected {
			names = append(names, handlers...)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (e *extension) handlersOf(hook runtimecatalog.GroupHook) []string {
	var names []string
	for name, h := range e.handlers {
		if h.hook.GroupHook() == hook {
			names = append(names, name)
		}
	}
	return names
}

// selects reports whether the extension is called for objects of the namespace, which has to
// exist unless all are selected.
func (c *Client) selects(ctx context.Context, e *extension, namespace string) (bool, error) {
	if e.selector.Empty() {
		return true, nil
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err := c.namespaces.Get(ctx, client.ObjectKey{Name: namespace}, object); err != nil {
		return false, fmt.Errorf("get namespace %q for extension %q: %w", namespace, e.name, err)
	}
	return e.selector.Matches(labels.Set(object.Labels)), nil
}
