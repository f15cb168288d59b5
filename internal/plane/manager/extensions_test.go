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

package manager

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/extensions"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const hooks = "hooks.runtime.cluster.x-k8s.io/v1alpha1"

// TestDeadExtension starts the controllers while an extension does not answer: they run, with the
// handlers that it had, and discover others when it answers.
func TestDeadExtension(t *testing.T) {
	t.Parallel()
	var alive atomic.Bool
	extension := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !alive.Load() {
			http.Error(w, time.Now().String(), http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(&runtimehooksv1.DiscoveryResponse{
			CommonResponse: runtimehooksv1.CommonResponse{Status: runtimehooksv1.ResponseStatusSuccess},
			Handlers: []runtimehooksv1.ExtensionHandler{{
				Name: "new", RequestHook: runtimehooksv1.GroupVersionHook{APIVersion: hooks, Hook: "BeforeClusterCreate"},
			}},
		})
	}))
	t.Cleanup(extension.Close)
	config := &runtimev1.ExtensionConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Generation: 1},
		Spec: runtimev1.ExtensionConfigSpec{
			ClientConfig: runtimev1.ClientConfig{
				URL: extension.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: extension.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{},
		},
		Status: runtimev1.ExtensionConfigStatus{Handlers: []runtimev1.ExtensionHandler{{
			Name: "old.one", RequestHook: runtimev1.GroupVersionHook{APIVersion: hooks, Hook: "BeforeClusterCreate"},
			FailurePolicy: runtimev1.FailurePolicyFail, TimeoutSeconds: 10,
		}}},
	}
	w := startExtensions(t, config)
	must.Eventually(t, time.Minute, "the extensions are registered", func(context.Context) error {
		if !w.extensions.IsReady() {
			return extensions.ErrNotReady
		}
		return nil
	})
	w.await(t, metav1.ConditionFalse, "HTTP status 503", "old.one")
	alive.Store(true)
	w.await(t, metav1.ConditionTrue, "", "new.one")
}

// extensionWorld is a manager of ExtensionConfigs without an API server.
type extensionWorld struct {
	client     client.Client
	informer   *informer
	extensions *extensions.Client
}

// informer may get handlers while it gets events.
type informer struct {
	*controllertest.FakeInformer
	mutex sync.Mutex
}

func (i *informer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.FakeInformer.AddEventHandlerWithOptions(handler, options)
}

func (i *informer) Add(object metav1.Object) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.FakeInformer.Add(object)
}

// secretInformers knows metadata only.
type secretInformers struct{ informertest.FakeInformers }

func (*secretInformers) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return controllertest.NewFakeInformer(controllertest.Synced), nil
}

func startExtensions(t *testing.T, config *runtimev1.ExtensionConfig) *extensionWorld {
	t.Helper()
	scheme := must.Get(newScheme(nil))(t)
	objects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(config).WithStatusSubresource(config).Build()
	configs := &informer{FakeInformer: controllertest.NewFakeInformer(controllertest.Synced)}
	caches := &informertest.FakeInformers{Scheme: scheme, InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{
		runtimev1.GroupVersion.WithKind("ExtensionConfig"): configs,
	}}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(runtimev1.GroupVersion.WithKind("ExtensionConfig"), meta.RESTScopeRoot)
	mgr := must.Get(ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return caches, nil },
		NewClient:      func(*rest.Config, client.Options) (client.Client, error) { return objects, nil },
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
	}))(t)
	catalog := runtimecatalog.New()
	must.Succeed(t, runtimehooksv1.AddToCatalog(catalog))
	w := &extensionWorld{client: objects, informer: configs, extensions: extensions.New(catalog, objects)}
	must.Succeed(t, extensionConfigs(objects, objects, w.extensions, &secretInformers{}).SetupWithManager(t.Context(), mgr, controller.Options{SkipNameValidation: ptr.To(true)}))

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	return w
}

// await the condition and the handlers of BeforeClusterCreate.
func (w *extensionWorld) await(t *testing.T, status metav1.ConditionStatus, message string, handlers ...string) {
	t.Helper()
	config := &runtimev1.ExtensionConfig{}
	must.Eventually(t, time.Minute, fmt.Sprintf("ExtensionConfig is discovered: %s", status), func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKey{Name: "one"}, config); err != nil {
			return err
		}
		w.informer.Add(config) // each event is a reconcile
		condition := meta.FindStatusCondition(config.Status.Conditions, runtimev1.ExtensionConfigDiscoveredCondition)
		if condition == nil || condition.Status != status || !strings.Contains(condition.Message, message) {
			return fmt.Errorf("conditions are %v", config.Status.Conditions)
		}
		got, err := w.extensions.GetAllExtensions(ctx, runtimehooksv1.BeforeClusterCreate, &clusterv1.Cluster{})
		if diff := cmp.Diff(handlers, got); err != nil || diff != "" {
			return fmt.Errorf("handlers: %w (-want +got):\n%s", err, diff)
		}
		return nil
	})
}
