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
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// ownExtension is what a plane registers.
func ownExtension() *runtimev1.ExtensionConfig {
	return &runtimev1.ExtensionConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "own"},
		Spec: runtimev1.ExtensionConfigSpec{
			ClientConfig:      runtimev1.ClientConfig{URL: "https://127.0.0.1:9443", CABundle: []byte("authority")},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		},
	}
}

func extensionClient(t *testing.T, functions interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	must.Succeed(t, runtimev1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(functions).Build()
}

// The ExtensionConfig is that of the plane, whatever there was before. What others write on it stays.
func TestRegistration(t *testing.T) {
	t.Parallel()
	of := func(change func(config *runtimev1.ExtensionConfig)) *runtimev1.ExtensionConfig {
		config := ownExtension()
		change(config)
		return config
	}
	for name, tc := range map[string]struct {
		reason  string
		present *runtimev1.ExtensionConfig
		// labels and annotations afterwards, in addition to that of the plane.
		labels, annotations map[string]string
	}{
		"missing": {"The first start, or a user has deleted it.", nil, nil, nil},
		"edited": {"A user may label namespaces instead.", of(func(c *runtimev1.ExtensionConfig) {
			c.Spec.NamespaceSelector = nil
			c.Labels, c.Annotations = map[string]string{"kept": "a"}, map[string]string{"kept": "b"}
		}), map[string]string{"kept": "a"}, map[string]string{"kept": "b"}},
		"another port": {"The plane was restarted with another.", of(func(c *runtimev1.ExtensionConfig) { c.Spec.ClientConfig.URL = "https://127.0.0.1:1" }), nil, nil},
		"of a Service": {"A user applied the file for clusters with Services: two extensions would answer each hook.", of(func(c *runtimev1.ExtensionConfig) {
			c.Spec.ClientConfig = runtimev1.ClientConfig{Service: runtimev1.ServiceReference{Namespace: "capcon-system", Name: "capcon-webhook-service"}}
			c.Annotations = map[string]string{runtimev1.InjectCAFromSecretAnnotation: "capcon-system/certificate"}
		}), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var objects []client.Object
			if tc.present != nil {
				objects = append(objects, tc.present)
			}
			c := extensionClient(t, interceptor.Funcs{}, objects...)
			registration := &Registration{Client: c, Config: ownExtension()}
			for range 2 {
				must.Get(registration.Reconcile(t.Context(), ctrl.Request{}))(t)
			}
			got := &runtimev1.ExtensionConfig{}
			must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Name: "own"}, got))
			if diff := cmp.Diff(ownExtension().Spec, got.Spec); diff != "" {
				t.Errorf("%s spec (-want +got):\n%s", tc.reason, diff)
			}
			labels := map[string]string{managedByLabel: managedBy}
			for key, value := range tc.labels {
				labels[key] = value
			}
			if diff := cmp.Diff(labels, got.Labels); diff != "" {
				t.Errorf("%s labels (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(len(tc.annotations), len(got.Annotations)); diff != "" || got.Annotations["kept"] != tc.annotations["kept"] {
				t.Errorf("%s annotations: %v", tc.reason, got.Annotations)
			}
		})
	}
}

// Without a difference nothing is written, and the webhooks may be served later than the controller begins.
func TestRegistrationWrites(t *testing.T) {
	t.Parallel()
	refusals, writes := 1, 0
	c := extensionClient(t, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if writes++; refusals > 0 {
				refusals--
				return errors.New("failed calling webhook")
			}
			return c.Create(ctx, object, options...)
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			writes++
			return c.Update(ctx, object, options...)
		},
	})
	registration := &Registration{Client: c, Config: ownExtension()}
	if _, err := registration.Reconcile(t.Context(), ctrl.Request{}); err == nil {
		t.Error("a refusal is not reported, and so not tried again")
	}
	for range 3 {
		must.Get(registration.Reconcile(t.Context(), ctrl.Request{}))(t)
	}
	if writes != 2 {
		t.Errorf("%d writes, want the refused one and another", writes)
	}
}

func TestRemoveRegistration(t *testing.T) {
	t.Parallel()
	c := extensionClient(t, interceptor.Funcs{})
	must.Succeed(t, removeRegistration(t.Context(), c, c, "own")) // there is none
	registration := &Registration{Client: c, Config: ownExtension()}
	must.Get(registration.Reconcile(t.Context(), ctrl.Request{}))(t)
	foreign := ownExtension()
	foreign.Name = "foreign"
	must.Succeed(t, c.Create(t.Context(), foreign))
	must.Succeed(t, removeRegistration(t.Context(), c, c, "foreign"))
	must.Succeed(t, removeRegistration(t.Context(), c, c, "own"))
	var left runtimev1.ExtensionConfigList
	must.Succeed(t, c.List(t.Context(), &left))
	if len(left.Items) != 1 || left.Items[0].Name != "foreign" {
		t.Errorf("left: %+v", left.Items)
	}
}
