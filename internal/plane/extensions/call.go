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
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	runtimeclient "sigs.k8s.io/cluster-api/exp/runtime/client"
	"sigs.k8s.io/cluster-api/util"
)

// timeoutOf a handler, in seconds; 0 = the default.
func timeoutOf(seconds int32) time.Duration {
	return time.Duration(cmp.Or(seconds, runtimehooksv1.DefaultHandlersTimeoutSeconds)) * time.Second
}

// CallAllExtensions calls the handlers of the hook one after the other, in the order of their
// names, and ends with the first that fails. The response gets all messages, and the shortest
// time after which a handler asks to be called again.
func (c *Client) CallAllExtensions(
	ctx context.Context, hook runtimecatalog.Hook, object client.Object, request runtimehooksv1.RequestObject, response runtimehooksv1.ResponseObject,
) error {
	version, err := c.validate(hook, request, response)
	if err != nil {
		return err
	}
	names, err := c.GetAllExtensions(ctx, hook, object)
	if err != nil {
		return err
	}
	responses := make([]runtimehooksv1.ResponseObject, 0, len(names))
	for _, name := range names {
		one, err := c.newResponse(version)
		if err != nil {
			return err
		}
		if err := c.CallExtension(ctx, hook, object, name, request, one); err != nil {
			return err
		}
		responses = append(responses, one)
	}
	aggregate(response, responses)
	return nil
}

// aggregate responses of success into one.
func aggregate(into runtimehooksv1.ResponseObject, responses []runtimehooksv1.ResponseObject) {
	var messages []string
	retry, retries := into.(runtimehooksv1.RetryResponseObject)
	for _, one := range responses {
		if again, ok := one.(runtimehooksv1.RetryResponseObject); ok && retries {
			retry.SetRetryAfterSeconds(util.LowestNonZeroInt32(retry.GetRetryAfterSeconds(), again.GetRetryAfterSeconds()))
		}
		if one.GetMessage() != "" {
			messages = append(messages, one.GetMessage())
		}
	}
	into.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	into.SetMessage(strings.Join(messages, ", "))
}

// validate that the hook is known and that request and response are its own.
func (c *Client) validate(hook runtimecatalog.Hook, request, response runtime.Object) (runtimecatalog.GroupVersionHook, error) {
	version, err := c.catalog.GroupVersionHook(hook)
	if err != nil {
		return version, fmt.Errorf("find hook: %w", err)
	}
	if err := errors.Join(c.catalog.ValidateRequest(version, request), c.catalog.ValidateResponse(version, response)); err != nil {
		return version, fmt.Errorf("call hook %s: %w", version.Hook, err)
	}
	return version, nil
}

// CallExtension calls the handler of that qualified name, in the version that it has. The
// response is only changed if there is no error.
//
// Unknown handler: ErrUnknownHandler. Of another hook: ErrMismatch. Another namespace:
// ErrNotSelected. The extension reports a failure: *FailedError. No response, or one that cannot
// be read: *CallError, unless the failure policy ignores it; then the response is empty and a
// success.
func (c *Client) CallExtension( //nolint:revive // Cluster API's interface has seven arguments.
	ctx context.Context, hook runtimecatalog.Hook, object client.Object, name string,
	request runtimehooksv1.RequestObject, response runtimehooksv1.ResponseObject, opts ...runtimeclient.CallExtensionOption,
) error {
	version, err := c.validate(hook, request, response)
	if err != nil {
		return err
	}
	e, h, err := c.choose(ctx, name, version, object)
	if err != nil {
		return fmt.Errorf("call handler %q: %w", name, err)
	}
	options := runtimeclient.CallExtensionOptions{}
	for _, option := range opts {
		option.ApplyToOptions(&options)
	}
	request = withSettings(request, e.settings)
	var key string
	if options.WithCaching {
		key = options.CacheKeyFunc(name, e.resourceVersion, request)
		if cached, ok := options.Cache.Has(key); ok {
			return assign(response, cached.Response.DeepCopyObject())
		}
	}
	answer, err := c.newResponse(version)
	if err != nil {
		return err
	}
	if err := c.call(ctx, e, h, exchange{hook: version, request: request, response: answer}); err != nil {
		return fmt.Errorf("call handler %q: %w", name, err)
	}
	if options.WithCaching {
		kept, _ := answer.DeepCopyObject().(runtimehooksv1.ResponseObject)
		options.Cache.Add(runtimeclient.CallExtensionCacheEntry{CacheKey: key, Response: kept})
	}
	return assign(response, answer)
}

// choose returns the handler of that name, if it is of the hook and for the object.
func (c *Client) choose(ctx context.Context, name string, hook runtimecatalog.GroupVersionHook, object client.Object) (*extension, handler, error) {
	e, h, err := c.find(name)
	if err != nil {
		return nil, handler{}, err
	}
	if h.hook.GroupHook() != hook.GroupHook() {
		return nil, handler{}, fmt.Errorf("%w, %s", ErrMismatch, h.hook.Hook)
	}
	selected, err := c.selects(ctx, e, object.GetNamespace())
	if err != nil {
		return nil, handler{}, err
	}
	if !selected {
		return nil, handler{}, fmt.Errorf("%w namespace %q", ErrNotSelected, object.GetNamespace())
	}
	return e, h, nil
}

// call the handler, and apply its failure policy.
func (c *Client) call(ctx context.Context, e *extension, h handler, x exchange) error {
	x.served = h.hook
	err := h.breaker.do(ctx, func() error { return c.exchange(ctx, e.server, h, x) })
	if unreadable := (*CallError)(nil); errors.As(err, &unreadable) && h.policy == runtimev1.FailurePolicyIgnore {
		ctrl.LoggerFrom(ctx).Error(err, "Ignoring the failed call of an extension, as its failure policy says", "extensionHandler", qualify(h.name, e.name))
		x.response.SetStatus(runtimehooksv1.ResponseStatusSuccess)
		return nil
	}
	if err != nil {
		return err
	}
	return succeeded(x.response)
}

// succeeded returns a *FailedError for a response that is none of success.
func succeeded(response runtimehooksv1.ResponseObject) error {
	if status := response.GetStatus(); status != runtimehooksv1.ResponseStatusSuccess {
		return &FailedError{Status: status, Message: response.GetMessage()}
	}
	return nil
}

// withSettings returns a copy of the request that has the settings of the extension too. Those
// of the request win.
func withSettings(request runtimehooksv1.RequestObject, settings map[string]string) runtimehooksv1.RequestObject {
	merged := map[string]string{}
	maps.Copy(merged, settings)
	maps.Copy(merged, request.GetSettings())
	copied, _ := request.DeepCopyObject().(runtimehooksv1.RequestObject)
	copied.SetSettings(merged)
	return copied
}

// newResponse returns an empty response of the hook.
func (c *Client) newResponse(hook runtimecatalog.GroupVersionHook) (runtimehooksv1.ResponseObject, error) {
	object, err := c.catalog.NewResponse(hook)
	if err != nil {
		return nil, fmt.Errorf("create response: %w", err)
	}
	response, ok := object.(runtimehooksv1.ResponseObject)
	if !ok {
		return nil, fmt.Errorf("%w response %T of hook %s", ErrInvalid, object, hook.Hook)
	}
	return response, nil
}

// assign the value of one response to another of its type.
func assign(to runtimehooksv1.ResponseObject, from runtime.Object) error {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	if target.Type() != source.Type() {
		return fmt.Errorf("%w response %T, want %T", ErrInvalid, from, to)
	}
	target.Set(source)
	return nil
}
