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

package readyourwrites_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manager/readyourwrites"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	path = "/api/v1/namespaces/default/secrets/a"
	// The object as the API server answers, at version 5.
	written = `{"kind":"Secret","metadata":{"name":"a","uid":"1","resourceVersion":"5","labels":{"cached":"yes"}}}`
	left    = `{"kind":"Secret","metadata":{"name":"a","uid":"1","resourceVersion":"5"}}`
	ended   = `{"kind":"Secret","metadata":{"name":"a","uid":"1","resourceVersion":"5","deletionTimestamp":"2026-01-01T00:00:00Z"}}`
	deleted = `{"kind":"Status","details":{"name":"a","kind":"secrets","uid":"1"}}`
)

// caches are the stores of a typed and of a metadata informer, of which the typed one
// has only objects with the label.
type caches struct{ typed, metadata toolscache.Indexer }

func (c caches) add(uid, version string) {
	object := metav1.ObjectMeta{Namespace: "default", Name: "a", UID: types.UID(uid), ResourceVersion: version}
	_ = c.typed.Add(&corev1.Secret{ObjectMeta: object})
	_ = c.metadata.Add(&metav1.PartialObjectMetadata{ObjectMeta: object})
}

func (c caches) remove(version string) {
	object := metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "1", ResourceVersion: version}
	_ = c.typed.Delete(&corev1.Secret{ObjectMeta: object})
	_ = c.metadata.Delete(&metav1.PartialObjectMetadata{ObjectMeta: object})
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	type args struct {
		method, path string
		answer       answer
		// before the request, and while it waits.
		before, meanwhile func(caches)
	}
	var (
		absent = func(caches) {}
		old    = func(c caches) { c.add("1", "4") }
		seen   = func(c caches) { c.add("1", "5") }
		later  = func(c caches) { c.add("1", "6") }
		gone   = func(c caches) { c.remove("6") }
	)
	cases := map[string]struct {
		reason string
		args   args
		// waits = the request returns only after meanwhile.
		waits bool
	}{
		"Created":     {"A created object is in all caches.", args{"POST", strings.TrimSuffix(path, "/a"), answer{201, written}, absent, seen}, true},
		"Updated":     {"A cache that has an older version is stale.", args{"PUT", path, answer{200, written}, old, seen}, true},
		"Status":      {"A subresource is part of the object.", args{"PATCH", path + "/status", answer{200, written}, old, seen}, true},
		"Overtaken":   {"A later version shows the write too.", args{"PUT", path, answer{200, written}, old, later}, true},
		"AlreadySeen": {"The event can be faster than the response.", args{"PUT", path, answer{200, written}, seen, nil}, false},
		"OnlyTyped": {"All caches of the resource count.", args{"PUT", path, answer{200, written}, func(c caches) {
			old(c)
			_ = c.typed.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: "7"}})
		}, seen}, true},
		"Deleted":      {"A deletion is seen when the object is gone.", args{"DELETE", path, answer{200, deleted}, old, gone}, true},
		"Recreated":    {"An object of the same name is another one.", args{"DELETE", path, answer{200, deleted}, old, func(c caches) { c.add("2", "7") }}, true},
		"AlreadyGone":  {"The event can be faster than the response.", args{"DELETE", path, answer{200, deleted}, absent, nil}, false},
		"Finalizer":    {"The deletion that waits for finalizers is an update.", args{"DELETE", path, answer{200, written}, old, seen}, true},
		"LastOne":      {"The update that removes the last finalizer deletes.", args{"PATCH", path, answer{200, ended}, old, gone}, true},
		"LabelRemoved": {"An object that the selector no longer matches leaves the cache.", args{"PUT", path, answer{200, left}, old, func(c caches) { seen(c); gone(c) }}, true},
		"NotSelected": {"An object that the selector does not match never comes.", args{"PUT", path, answer{200, left}, func(c caches) {
			_ = c.metadata.Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "5"}})
		}, nil}, false},
		"DryRun":     {"A dry run writes nothing.", args{"PUT", path + "?dryRun=All", answer{200, written}, old, nil}, false},
		"Refused":    {"Nor does a request that fails.", args{"PUT", path, answer{409, deleted}, old, nil}, false},
		"Read":       {"Nor does a read.", args{"GET", path, answer{200, written}, old, nil}, false},
		"Token":      {"What has no UID is in no cache.", args{"POST", "/api/v1/namespaces/default/serviceaccounts/a/token", answer{201, `{"kind":"TokenRequest"}`}, old, nil}, false},
		"NotCached":  {"There is no informer of the resource.", args{"POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", answer{201, written}, old, nil}, false},
		"NoResource": {"Other paths are none of resources.", args{"POST", "/version", answer{200, `{}`}, old, nil}, false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				informers, stores := watch(t)
				test.args.before(stores)
				returned := request(t, informers, test.args.method, test.args.path, test.args.answer)
				time.Sleep(time.Second) // of the bubble's clock, as all that follow
				if waits := !returned(); waits != test.waits {
					t.Errorf("%s\nthe request waits: %t, want %t", test.reason, waits, test.waits)
				}
				if test.args.meanwhile != nil {
					test.args.meanwhile(stores)
				}
				time.Sleep(2 * time.Millisecond)
				if !returned() {
					t.Errorf("%s\nthe request still waits", test.reason)
				}
			})
		})
	}
}

// The path of a Namespace has its own name as namespace, and its object has none.
func TestRoundTripOfNamespace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		informers := readyourwrites.New(clientgoscheme.Scheme)
		options := must.Get(informers.Watch(cache.Options{}))(t)
		store := options.NewInformer(&toolscache.ListWatch{}, &corev1.Namespace{}, 0, toolscache.Indexers{}).GetIndexer()
		must.Succeed(t, store.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", ResourceVersion: "4"}}))
		returned := request(t, informers, "DELETE", "/api/v1/namespaces/a", answer{200, deleted})
		time.Sleep(time.Second)
		if returned() {
			t.Error("the deletion returns while the cache has the Namespace")
		}
	})
}

// What is not understood is passed on: the API server judges it.
func TestRoundTripPassesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		informers, _ := watch(t)
		for _, path := range []string{path, "/api/v1/watch"} {
			for _, method := range []string{"GET", "PUT"} {
				if returned := request(t, informers, method, path, answer{200, "k8s\x00"}); !returned() {
					t.Errorf("%s %s waits", method, path)
				}
			}
		}
		registry := prometheus.NewPedanticRegistry()
		must.Succeed(t, informers.Register(registry))
		if families := must.Get(registry.Gather())(t); len(families) != 1 || families[0].GetMetric()[0].GetCounter().GetValue() != 1 {
			t.Errorf("metrics %v, want one write that was not observed", families)
		}
	})
}

// A watch that is broken delays each write, and blocks none.
func TestRoundTripEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		informers, _ := watch(t)
		returned := request(t, informers, "PUT", path, answer{200, written})
		time.Sleep(31 * time.Second)
		if !returned() {
			t.Error("the request waits longer than 30 seconds")
		}
	})
}

// watch returns the informers of two caches that have one each.
func watch(t *testing.T) (*readyourwrites.Informers, caches) {
	t.Helper()
	informers := readyourwrites.New(clientgoscheme.Scheme)
	options, err := informers.Watch(cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{"cached": "yes"})},
	}})
	must.Succeed(t, err)
	typed := options.NewInformer(&toolscache.ListWatch{}, &corev1.Secret{}, 0, toolscache.Indexers{})
	if options, err = informers.Watch(cache.Options{}); err != nil {
		t.Fatal(err)
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	metadata := options.NewInformer(&toolscache.ListWatch{}, object, 0, toolscache.Indexers{})
	return informers, caches{typed.GetIndexer(), metadata.GetIndexer()}
}

// request makes a request in the background, and returns whether it has returned.
func request(t *testing.T, informers *readyourwrites.Informers, method, path string, answer answer) func() bool {
	t.Helper()
	transport := informers.Wrap(answer)
	done := make(chan struct{})
	go func() {
		defer close(done)
		req, err := http.NewRequestWithContext(t.Context(), method, "http://api"+path, http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		response, err := transport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != answer.body {
			t.Errorf("the caller reads %q, %v, want %q", body, err, answer.body)
		}
	}()
	return func() bool {
		synctest.Wait()
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// answer to each request.
type answer struct {
	status int
	body   string
}

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}
