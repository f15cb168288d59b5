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
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
)

const (
	// discoveryTimeout of an extension, in which the reconcile of its ExtensionConfig waits.
	discoveryTimeout = 10 * time.Second
	// rediscovery is the time after which a failed discovery is repeated.
	rediscovery = time.Second
	// maxTimeoutSeconds of a handler, as in Cluster API.
	maxTimeoutSeconds = 30
)

type failedDiscovery struct {
	config runtimev1.ClientConfig
	at     time.Time
	err    error
}

// Discover asks an extension for its handlers, and returns the ExtensionConfig with them in its
// status.
func (c *Client) Discover(ctx context.Context, config *runtimev1.ExtensionConfig) (*runtimev1.ExtensionConfig, error) {
	if err := c.lastFailure(config); err != nil {
		return nil, err
	}
	handlers, err := c.discover(ctx, config)
	if err != nil {
		err = fmt.Errorf("discover extension %q: %w", config.Name, err)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.failed[config.Name] = failedDiscovery{config: *config.Spec.ClientConfig.DeepCopy(), at: c.clock.Now(), err: err}
		return nil, err
	}
	discovered := config.DeepCopy()
	discovered.Status.Handlers = make([]runtimev1.ExtensionHandler, 0, len(handlers))
	for _, h := range handlers {
		discovered.Status.Handlers = append(discovered.Status.Handlers, runtimev1.ExtensionHandler{
			Name:           qualify(h.Name, config.Name),
			RequestHook:    runtimev1.GroupVersionHook{APIVersion: h.RequestHook.APIVersion, Hook: h.RequestHook.Hook},
			TimeoutSeconds: ptr.Deref(h.TimeoutSeconds, runtimehooksv1.DefaultHandlersTimeoutSeconds),
			FailurePolicy:  runtimev1.FailurePolicy(ptr.Deref(h.FailurePolicy, runtimehooksv1.FailurePolicyFail)),
		})
	}
	return discovered, nil
}

// lastFailure of the discovery of an extension, if it was a moment ago.
func (c *Client) lastFailure(config *runtimev1.ExtensionConfig) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, failed := c.failed[config.Name]
	if failed && equality.Semantic.DeepEqual(last.config, config.Spec.ClientConfig) && c.clock.Since(last.at) < rediscovery {
		return last.err
	}
	delete(c.failed, config.Name)
	return nil
}

func (c *Client) discover(ctx context.Context, config *runtimev1.ExtensionConfig) ([]runtimehooksv1.ExtensionHandler, error) {
	hook, err := c.catalog.GroupVersionHook(runtimehooksv1.Discovery)
	if err != nil {
		return nil, fmt.Errorf("find hook: %w", err)
	}
	c.mu.Lock()
	server, err := c.serverOf(config)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	response := &runtimehooksv1.DiscoveryResponse{}
	err = c.exchange(ctx, server, handler{timeout: discoveryTimeout}, exchange{
		hook: hook, served: hook, request: &runtimehooksv1.DiscoveryRequest{}, response: response,
	})
	if err == nil {
		err = succeeded(response)
	}
	if err != nil {
		return nil, err
	}
	return response.Handlers, c.checkHandlers(response.Handlers)
}

// checkHandlers that an extension has.
func (c *Client) checkHandlers(handlers []runtimehooksv1.ExtensionHandler) error {
	var problems []error
	names := sets.New[string]()
	for _, h := range handlers {
		for _, problem := range c.problemsOf(h) {
			problems = append(problems, fmt.Errorf("%w handler %q: %s", ErrInvalid, h.Name, problem))
		}
		if names.Has(h.Name) {
			problems = append(problems, fmt.Errorf("%w handler %q: several have this name", ErrInvalid, h.Name))
		}
		names.Insert(h.Name)
	}
	return errors.Join(problems...)
}

func (c *Client) problemsOf(h runtimehooksv1.ExtensionHandler) []string {
	problems := validation.IsDNS1123Label(h.Name)
	if seconds := ptr.Deref(h.TimeoutSeconds, 0); seconds < 0 || seconds > maxTimeoutSeconds {
		problems = append(problems, fmt.Sprintf("timeoutSeconds is %d, want 0 to %d", seconds, maxTimeoutSeconds))
	}
	switch policy := ptr.Deref(h.FailurePolicy, runtimehooksv1.FailurePolicyFail); policy {
	case runtimehooksv1.FailurePolicyFail, runtimehooksv1.FailurePolicyIgnore:
	default:
		problems = append(problems, fmt.Sprintf("failurePolicy is %q, want Fail or Ignore", policy))
	}
	version, err := schema.ParseGroupVersion(h.RequestHook.APIVersion)
	if err != nil {
		return append(problems, err.Error())
	}
	hook := runtimecatalog.GroupVersionHook{Group: version.Group, Version: version.Version, Hook: h.RequestHook.Hook}
	if !c.catalog.IsHookRegistered(hook) {
		problems = append(problems, fmt.Sprintf("hook %s is unknown", hook))
	}
	return problems
}
