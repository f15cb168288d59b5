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
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	runtimeclient "sigs.k8s.io/cluster-api/exp/runtime/client"
	"sigs.k8s.io/cluster-api/util/cache"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestCallExtension(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	e.on(beforeCreate, respond(&runtimehooksv1.BeforeClusterCreateResponse{CommonRetryResponse: runtimehooksv1.CommonRetryResponse{
		CommonResponse: runtimehooksv1.CommonResponse{Status: runtimehooksv1.ResponseStatusSuccess, Message: "wait"}, RetryAfterSeconds: 7,
	}}))
	config := e.config("one", before(runtimev1.FailurePolicyFail))
	config.Spec.Settings = map[string]string{"kept": "extension", "both": "extension"}
	c := newClient(t, config)

	request := &runtimehooksv1.BeforeClusterCreateRequest{}
	request.SetSettings(map[string]string{"both": "request"})
	response := &runtimehooksv1.BeforeClusterCreateResponse{}
	must.Succeed(t, c.CallExtension(t.Context(), runtimehooksv1.BeforeClusterCreate, cluster("default"), "before.one", request, response))
	if response.Message != "wait" || response.RetryAfterSeconds != 7 {
		t.Errorf("the response is %+v", response)
	}
	if diff := cmp.Diff(map[string]string{"both": "request"}, request.GetSettings()); diff != "" {
		t.Errorf("the settings of the caller's request changed (-want +got):\n%s", diff)
	}
	var sent runtimehooksv1.BeforeClusterCreateRequest
	must.Succeed(t, json.Unmarshal([]byte(e.received(beforeCreate)[0]), &sent))
	if diff := cmp.Diff(map[string]string{"kept": "extension", "both": "request"}, sent.Settings); diff != "" {
		t.Errorf("settings in the request (-want +got):\n%s", diff)
	}
	if want := (metav1.TypeMeta{APIVersion: hooks, Kind: "BeforeClusterCreateRequest"}); sent.TypeMeta != want {
		t.Errorf("the request is %v, want %v", sent.TypeMeta, want)
	}
}

// What is wrong with a call is found out before the extension is called.
func TestCallExtensionRefuses(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	config := e.config("one", before(runtimev1.FailurePolicyIgnore))
	config.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"name": "a"}}
	c := newClient(t, config)
	cold := New(c.catalog, c.namespaces)
	for name, tc := range map[string]struct {
		reason          string
		client          *Client
		handler, within string
		want            error
	}{
		"NotReady":       {"Extensions may be registered that have to be called.", cold, "before.one", "a", ErrNotReady},
		"Unknown":        {"No extension has it.", c, "after.one", "a", ErrUnknownHandler},
		"OtherNamespace": {"The extension is not called for it.", c, "before.one", "b", ErrNotSelected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.client.CallExtension(t.Context(), runtimehooksv1.BeforeClusterCreate, cluster(tc.within), tc.handler,
				&runtimehooksv1.BeforeClusterCreateRequest{}, &runtimehooksv1.BeforeClusterCreateResponse{})
			if !errors.Is(err, tc.want) {
				t.Errorf("%s\nCallExtension(...): want %v, got %v", tc.reason, tc.want, err)
			}
		})
	}
	err := c.CallExtension(t.Context(), runtimehooksv1.BeforeClusterDelete, cluster("a"), "before.one",
		&runtimehooksv1.BeforeClusterDeleteRequest{}, &runtimehooksv1.BeforeClusterDeleteResponse{})
	if !errors.Is(err, ErrMismatch) {
		t.Errorf("a handler of another hook: want ErrMismatch, got %v", err)
	}
	err = c.CallExtension(t.Context(), runtimehooksv1.BeforeClusterCreate, cluster("a"), "before.one",
		&runtimehooksv1.BeforeClusterDeleteRequest{}, &runtimehooksv1.BeforeClusterCreateResponse{})
	if err == nil {
		t.Error("a request of another hook is sent")
	}
	if got := e.received(beforeCreate); len(got) > 0 {
		t.Errorf("the extension is called: %v", got)
	}
}

// Two extensions have the hook: the response is that of both.
func TestCallAllExtensions(t *testing.T) {
	t.Parallel()
	one, two := newExtension(t), newExtension(t)
	answer := func(message string, seconds int32) http.HandlerFunc {
		return respond(&runtimehooksv1.BeforeClusterCreateResponse{CommonRetryResponse: runtimehooksv1.CommonRetryResponse{
			CommonResponse: runtimehooksv1.CommonResponse{Status: runtimehooksv1.ResponseStatusSuccess, Message: message}, RetryAfterSeconds: seconds,
		}})
	}
	one.on(beforeCreate, answer("first", 20))
	two.on(beforeCreate, answer("second", 10))
	selective := two.config("two", before(runtimev1.FailurePolicyFail))
	selective.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"name": "a"}}
	c := newClient(t, selective, one.config("one", before(runtimev1.FailurePolicyFail)))

	call := func(namespace string) (*runtimehooksv1.BeforeClusterCreateResponse, error) {
		response := &runtimehooksv1.BeforeClusterCreateResponse{}
		err := c.CallAllExtensions(t.Context(), runtimehooksv1.BeforeClusterCreate, cluster(namespace), &runtimehooksv1.BeforeClusterCreateRequest{}, response)
		return response, err
	}
	for namespace, want := range map[string]runtimehooksv1.CommonRetryResponse{
		"a": {CommonResponse: runtimehooksv1.CommonResponse{Status: "Success", Message: "first, second"}, RetryAfterSeconds: 10},
		"b": {CommonResponse: runtimehooksv1.CommonResponse{Status: "Success", Message: "first"}, RetryAfterSeconds: 20},
	} {
		response, err := call(namespace)
		must.Succeed(t, err)
		if diff := cmp.Diff(want, response.CommonRetryResponse); diff != "" {
			t.Errorf("response in namespace %s (-want +got):\n%s", namespace, diff)
		}
	}

	one.on(beforeCreate, respond(&runtimehooksv1.BeforeClusterCreateResponse{CommonRetryResponse: runtimehooksv1.CommonRetryResponse{
		CommonResponse: runtimehooksv1.CommonResponse{Status: runtimehooksv1.ResponseStatusFailure, Message: "no"},
	}}))
	before := len(two.received(beforeCreate))
	failed := &FailedError{}
	if _, err := call("a"); !errors.As(err, &failed) || failed.Message != "no" {
		t.Errorf("the first fails: want its message, got %v", err)
	}
	if len(two.received(beforeCreate)) != before {
		t.Error("the second is called although the first failed")
	}
	if _, err := call("missing"); err == nil {
		t.Error("a namespace that is not there counts as not selected")
	}
}

// An in-place hook with two extensions is an error, which the reconcilers find by their number.
func TestTwoExtensionsOfAnInPlaceHook(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	can := runtimev1.ExtensionHandler{Name: "can", RequestHook: runtimev1.GroupVersionHook{APIVersion: hooks, Hook: "CanUpdateMachine"}}
	c := newClient(t, e.config("z", can), e.config("a", can, before(runtimev1.FailurePolicyFail)))
	names := must.Get(c.GetAllExtensions(t.Context(), runtimehooksv1.CanUpdateMachine, cluster("default")))(t)
	if diff := cmp.Diff([]string{"can.a", "can.z"}, names); diff != "" {
		t.Errorf("handlers (-want +got):\n%s", diff)
	}
	must.Succeed(t, c.Unregister(e.config("z")))
	names = must.Get(c.GetAllExtensions(t.Context(), runtimehooksv1.CanUpdateMachine, cluster("default")))(t)
	if diff := cmp.Diff([]string{"can.a"}, names); diff != "" {
		t.Errorf("handlers after one is unregistered (-want +got):\n%s", diff)
	}
	if _, err := create(t, c, "before.z"); !errors.Is(err, ErrUnknownHandler) {
		t.Errorf("a handler that is unregistered: want ErrUnknownHandler, got %v", err)
	}
}

// Registering again replaces handlers and namespaces.
func TestRegisterReplaces(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	c := newClient(t, e.config("one", before(runtimev1.FailurePolicyFail)))
	must.Succeed(t, c.Register(e.config("one")))
	if names := must.Get(c.GetAllExtensions(t.Context(), runtimehooksv1.BeforeClusterCreate, cluster("default")))(t); len(names) > 0 {
		t.Errorf("handlers that the extension no longer has: %v", names)
	}
	invalid := e.config("one", before(runtimev1.FailurePolicyFail))
	invalid.Spec.ClientConfig.CABundle = []byte("no certificate")
	if err := c.Register(invalid); !errors.Is(err, ErrInvalid) {
		t.Errorf("a CA bundle that is none: want ErrInvalid, got %v", err)
	}
}

func TestCaching(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	path := "/" + hooks + "/discovervariables/variables"
	e.on(path, respond(&runtimehooksv1.DiscoverVariablesResponse{CommonResponse: success()}))
	variables := runtimev1.ExtensionHandler{Name: "variables", RequestHook: runtimev1.GroupVersionHook{APIVersion: hooks, Hook: "DiscoverVariables"}}
	c := newClient(t, e.config("one", variables))
	option := runtimeclient.WithCaching{
		Cache: cache.New[runtimeclient.CallExtensionCacheEntry](t.Context(), cache.HookCacheDefaultTTL),
		CacheKeyFunc: func(name, resourceVersion string, _ runtimehooksv1.RequestObject) string {
			return name + "," + resourceVersion
		},
	}
	call := func(ctx context.Context) *runtimehooksv1.DiscoverVariablesResponse {
		response := &runtimehooksv1.DiscoverVariablesResponse{}
		must.Succeed(t, c.CallExtension(ctx, runtimehooksv1.DiscoverVariables, cluster("default"), "variables.one",
			&runtimehooksv1.DiscoverVariablesRequest{}, response, option))
		return response
	}
	for range 3 {
		if diff := cmp.Diff(success(), call(t.Context()).CommonResponse); diff != "" {
			t.Errorf("response (-want +got):\n%s", diff)
		}
	}
	changed := e.config("one", variables)
	changed.Status.Handlers[0].Name, changed.ResourceVersion = "variables.one", "2"
	must.Succeed(t, c.Register(changed))
	call(t.Context())
	if got := len(e.received(path)); got != 2 {
		t.Errorf("%d calls, want one for each version of the ExtensionConfig", got)
	}
}

// A Service is called by its name in a cluster; that there is none is explained.
func TestServiceReference(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	config := e.config("one", before(runtimev1.FailurePolicyFail))
	config.Spec.ClientConfig.URL = ""
	config.Spec.ClientConfig.Service = runtimev1.ServiceReference{Namespace: "invalid", Name: "missing", Path: "/prefix"}
	c := newClient(t, config)
	_, err := create(t, c, "before.one")
	call := &CallError{}
	if !errors.As(err, &call) {
		t.Fatalf("want a *CallError, got %v", err)
	}
	if want := "https://missing.invalid.svc/prefix" + beforeCreate + "?"; !strings.HasPrefix(call.URL, want) {
		t.Errorf("the URL is %s, want %s…", call.URL, want)
	}
}
