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
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// A hook in two versions, of which the newer one has other names for fields.
type (
	oldHook struct{}
	newHook struct{}
)

// GreetRequest and GreetResponse are those of the new version.
type GreetRequest struct {
	runtimehooksv1.BeforeClusterCreateRequest `json:",inline"`

	Name string `json:"name"`
}

type GreetResponse struct {
	runtimehooksv1.BeforeClusterCreateResponse `json:",inline"`

	Greeting string `json:"greeting"`
}

func (r *GreetRequest) DeepCopyObject() runtime.Object  { c := *r; return &c }
func (r *GreetResponse) DeepCopyObject() runtime.Object { c := *r; return &c }

type GreetRequestOld struct {
	runtimehooksv1.BeforeClusterCreateRequest `json:",inline"`

	Who string `json:"who"`
}

type GreetResponseOld struct {
	runtimehooksv1.BeforeClusterCreateResponse `json:",inline"`

	Text string `json:"text"`
}

func (r *GreetRequestOld) DeepCopyObject() runtime.Object  { c := *r; return &c }
func (r *GreetResponseOld) DeepCopyObject() runtime.Object { c := *r; return &c }

// Greet is the hook: methods, because the catalog takes the name of the function, which both versions share.
func (oldHook) Greet(*GreetRequestOld, *GreetResponseOld) {}
func (newHook) Greet(*GreetRequest, *GreetResponse)       {}

// An extension is called in the version that it has, and its response is converted.
func TestVersions(t *testing.T) {
	t.Parallel()
	catalog := runtimecatalog.New()
	older := runtimecatalog.Builder{GroupVersion: schema.GroupVersion{Group: "greet.example.com", Version: "v1alpha1"}}
	older.RegisterHook(oldHook{}.Greet, &runtimecatalog.HookMeta{})
	older.Register(func(scheme *runtime.Scheme) error {
		return errors.Join(
			scheme.AddConversionFunc((*GreetRequest)(nil), (*GreetRequestOld)(nil), func(a, b any, _ conversion.Scope) error {
				b.(*GreetRequestOld).Who = a.(*GreetRequest).Name //nolint:forcetypeassert // As generated code does.
				return nil
			}),
			scheme.AddConversionFunc((*GreetResponseOld)(nil), (*GreetResponse)(nil), func(a, b any, _ conversion.Scope) error {
				from, to := a.(*GreetResponseOld), b.(*GreetResponse) //nolint:forcetypeassert // As generated code does.
				to.Greeting, to.Status = from.Text, from.Status
				return nil
			}),
		)
	})
	newer := runtimecatalog.Builder{GroupVersion: schema.GroupVersion{Group: "greet.example.com", Version: "v1alpha2"}}
	newer.RegisterHook(newHook{}.Greet, &runtimecatalog.HookMeta{})
	must.Succeed(t, errors.Join(older.AddToCatalog(catalog), newer.AddToCatalog(catalog)))

	e := newExtension(t)
	served := runtimecatalog.GroupVersionHook{Group: "greet.example.com", Version: "v1alpha1", Hook: runtimecatalog.HookName(newHook{}.Greet)}
	path := runtimecatalog.GVHToPath(served, "hello")
	e.on(path, respond(map[string]string{"status": "Success", "text": "hello world"}))
	c := newClientOf(t, catalog, e.config("one", runtimev1.ExtensionHandler{
		Name: "hello", RequestHook: runtimev1.GroupVersionHook{APIVersion: "greet.example.com/v1alpha1", Hook: served.Hook},
	}))
	response := &GreetResponse{}
	must.Succeed(t, c.CallAllExtensions(t.Context(), newHook{}.Greet, cluster("default"), &GreetRequest{Name: "world"}, response))
	one := &GreetResponse{}
	must.Succeed(t, c.CallExtension(t.Context(), newHook{}.Greet, cluster("default"), "hello.one", &GreetRequest{Name: "world"}, one))
	if one.Greeting != "hello world" {
		t.Errorf("the response is %+v", one)
	}
	var sent map[string]any
	must.Succeed(t, json.Unmarshal([]byte(e.received(path)[0]), &sent))
	got := map[string]any{"apiVersion": sent["apiVersion"], "kind": sent["kind"], "who": sent["who"]}
	want := map[string]any{"apiVersion": "greet.example.com/v1alpha1", "kind": "GreetRequestOld", "who": "world"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}
