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
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestDiscover(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	defaults := discoveredHandler("defaults")
	defaults.TimeoutSeconds = nil
	ignore := discoveredHandler("ignore")
	ignore.FailurePolicy = ptr.To(runtimehooksv1.FailurePolicyIgnore)
	e.on(discoveryPath, respond(discovered(defaults, ignore)))
	c := newClient(t)
	config := e.config("one", before(runtimev1.FailurePolicyFail))
	got := must.Get(c.Discover(t.Context(), config))(t)
	hook := runtimev1.GroupVersionHook{APIVersion: hooks, Hook: "BeforeClusterCreate"}
	want := []runtimev1.ExtensionHandler{
		{Name: "defaults.one", RequestHook: hook, TimeoutSeconds: 10, FailurePolicy: runtimev1.FailurePolicyFail},
		{Name: "ignore.one", RequestHook: hook, TimeoutSeconds: 5, FailurePolicy: runtimev1.FailurePolicyIgnore},
	}
	if diff := cmp.Diff(want, got.Status.Handlers); diff != "" {
		t.Errorf("handlers (-want +got):\n%s", diff)
	}
	if len(config.Status.Handlers) != 1 {
		t.Error("the ExtensionConfig of the caller is changed")
	}
}

func TestDiscoverRefuses(t *testing.T) {
	t.Parallel()
	change := func(by func(*runtimehooksv1.ExtensionHandler)) runtimehooksv1.ExtensionHandler {
		h := discoveredHandler("one")
		by(&h)
		return h
	}
	for name, tc := range map[string]struct {
		reason   string
		handlers []runtimehooksv1.ExtensionHandler
	}{
		"Twice":   {"Handlers are called by their name.", []runtimehooksv1.ExtensionHandler{discoveredHandler("one"), discoveredHandler("one")}},
		"Name":    {"Names are a part of URLs.", []runtimehooksv1.ExtensionHandler{discoveredHandler("a.b")}},
		"Timeout": {"Reconciles wait for the handler.", []runtimehooksv1.ExtensionHandler{change(func(h *runtimehooksv1.ExtensionHandler) { h.TimeoutSeconds = ptr.To[int32](31) })}},
		"Policy": {"There are two.", []runtimehooksv1.ExtensionHandler{change(func(h *runtimehooksv1.ExtensionHandler) {
			h.FailurePolicy = ptr.To(runtimehooksv1.FailurePolicy("Retry"))
		})}},
		"Hook":    {"It would never be called.", []runtimehooksv1.ExtensionHandler{change(func(h *runtimehooksv1.ExtensionHandler) { h.RequestHook.Hook = "AfterLunch" })}},
		"Version": {"It is no version.", []runtimehooksv1.ExtensionHandler{change(func(h *runtimehooksv1.ExtensionHandler) { h.RequestHook.APIVersion = "a/b/c" })}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExtension(t)
			e.on(discoveryPath, respond(discovered(tc.handlers...)))
			if _, err := newClient(t).Discover(t.Context(), e.config("one")); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s\nDiscover(...): want ErrInvalid, got %v", tc.reason, err)
			}
		})
	}
}

// The message of an extension may be another one each time, such as with a time. Conditions have
// it, and a change of them leads to the next discovery.
func TestFailedDiscoveryIsNotRepeatedImmediately(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	c := newClient(t)
	now := testclock.NewFakePassiveClock(time.Now())
	c.clock = now
	e.on(discoveryPath, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, time.Now().String(), http.StatusInternalServerError)
	})
	config := e.config("one")
	_, first := c.Discover(t.Context(), config)
	_, second := c.Discover(t.Context(), config)
	if first == nil || !errors.Is(second, first) {
		t.Errorf("want the same failure, got %v and %v", first, second)
	}
	config.Spec.ClientConfig.URL += "/moved"
	if _, err := c.Discover(t.Context(), config); errors.Is(err, first) {
		t.Error("a changed clientConfig is not tried")
	}
	config.Spec.ClientConfig.URL = e.URL
	e.on(discoveryPath, respond(discovered()))
	must.Get(c.Discover(t.Context(), config))(t)

	e.on(discoveryPath, http.NotFound)
	if _, err := c.Discover(t.Context(), config); err == nil {
		t.Fatal("the discovery does not fail")
	}
	e.on(discoveryPath, respond(discovered()))
	now.SetTime(now.Now().Add(rediscovery))
	must.Get(c.Discover(t.Context(), config))(t)
}

// An extension that cannot be registered is left out, and those that were known are registered
// without a call.
func TestWarmUp(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	invalid := e.config("invalid", before(runtimev1.FailurePolicyFail))
	invalid.Spec.ClientConfig.URL = "http://127.0.0.1"
	c := newClient(t, invalid, e.config("one", before(runtimev1.FailurePolicyFail)))
	names := must.Get(c.GetAllExtensions(t.Context(), runtimehooksv1.BeforeClusterCreate, cluster("default")))(t)
	if diff := cmp.Diff([]string{"before.one"}, names); diff != "" || !c.IsReady() {
		t.Errorf("ready: %t, handlers (-want +got):\n%s", c.IsReady(), diff)
	}
	if len(e.requests) > 0 {
		t.Errorf("the extension is called: %v", e.requests)
	}
}
