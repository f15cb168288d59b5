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

package hosts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// api is an API server in memory, whose informers report each write before it returns.
type api struct {
	// WithWatch is what controllers use, and store what they do not notice.
	client.WithWatch

	store  client.WithWatch
	mapper meta.RESTMapper
	writes atomic.Int64

	mutex     sync.Mutex
	informers map[schema.GroupVersionKind]*informer
	// generations of objects as informers report them: the store has none.
	generations map[string]int64
}

func newAPI(scheme *runtime.Scheme) *api {
	a := &api{
		store: world.APIServer(scheme, nil), mapper: mapperOf(scheme),
		informers: map[schema.GroupVersionKind]*informer{}, generations: map[string]int64{},
	}
	a.WithWatch = interceptor.NewClient(a.store, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return a.write(ctx, obj, func() error { return c.Create(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return a.write(ctx, obj, func() error { return c.Delete(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return a.write(ctx, obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return a.write(ctx, obj, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return a.write(ctx, obj, func() error { return c.SubResource(sub).Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return a.write(ctx, obj, func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
	})
	return a
}

// RESTMapper implements client.Client.
func (a *api) RESTMapper() meta.RESTMapper { return a.mapper }

// write an object, and notify the informer of its kind.
func (a *api) write(ctx context.Context, object client.Object, effect func() error) error {
	gvk, err := apiutil.GVKForObject(object, a.Scheme())
	if err != nil {
		return err //nolint:wrapcheck // It names the object.
	}
	key := client.ObjectKeyFromObject(object)
	before, err := a.read(ctx, gvk, key)
	if err != nil {
		return err
	}
	if err := effect(); err != nil {
		return err
	}
	a.writes.Add(1)
	after, err := a.read(ctx, gvk, client.ObjectKeyFromObject(object))
	if err != nil {
		return err
	}
	a.informer(gvk).notify(a.numbered(gvk, before, after))
	return nil
}

// read an object; nil where it is gone.
func (a *api) read(ctx context.Context, gvk schema.GroupVersionKind, key client.ObjectKey) (client.Object, error) {
	made, err := a.Scheme().New(gvk)
	if err != nil {
		return nil, err //nolint:wrapcheck // It names the kind.
	}
	object, isObject := made.(client.Object)
	if !isObject {
		return nil, fmt.Errorf("%T is no object", made)
	}
	if err := a.store.Get(ctx, key, object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return object, nil
}

// numbered sets the generations of an object before and after a write, which another spec increments.
func (a *api) numbered(gvk schema.GroupVersionKind, before, after client.Object) (_, _ client.Object) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if before != nil {
		before.SetGeneration(a.generations[gvk.String()+client.ObjectKeyFromObject(before).String()])
	}
	if after == nil {
		return before, nil
	}
	key := gvk.String() + client.ObjectKeyFromObject(after).String()
	if before == nil || specOf(before) != specOf(after) || before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() {
		a.generations[key]++
	}
	after.SetGeneration(a.generations[key])
	return before, after
}

func specOf(object client.Object) string {
	var parts struct {
		Spec json.RawMessage `json:"spec"`
	}
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &parts)
	}
	if err != nil {
		panic(err) // Objects are JSON.
	}
	return string(parts.Spec)
}

func (a *api) informer(gvk schema.GroupVersionKind) *informer {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.informers[gvk] == nil {
		a.informers[gvk] = &informer{FakeInformer: controllertest.NewFakeInformer(controllertest.Synced)}
	}
	return a.informers[gvk]
}

// informer of one kind, which knows of no object that was there before it.
type informer struct {
	*controllertest.FakeInformer

	mutex sync.RWMutex
}

// notify handlers of a write. nil = there is no such object.
func (i *informer) notify(before, after client.Object) {
	i.mutex.RLock()
	defer i.mutex.RUnlock()
	switch {
	case after == nil && before != nil:
		i.Delete(before)
	case after == nil: // It was gone before.
	case before == nil:
		i.Add(after)
	default:
		i.Update(before, after)
	}
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i *informer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.FakeInformer.AddEventHandlerWithOptions(handler, options) //nolint:wrapcheck // It never fails.
}

// informers are the cache of a manager; its client does not read from it.
type informers struct {
	informertest.FakeInformers

	api *api
}

// GetInformer implements cache.Informers.
func (i *informers) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(object, i.api.Scheme())
	if err != nil {
		return nil, err //nolint:wrapcheck // It names the object.
	}
	return i.api.informer(gvk), nil
}

// manager of the controllers, on an API server in memory.
type manager struct {
	ctrl.Manager

	api *api
}

func newManager(tb testing.TB, a *api) manager {
	tb.Helper()
	return manager{api: a, Manager: must.Get(ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme: a.Scheme(), Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller:     config.Controller{SkipNameValidation: ptr.To(true)},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return a.mapper, nil },
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return &informers{api: a}, nil },
		NewClient:      func(*rest.Config, client.Options) (client.Client, error) { return a, nil },
	}))(tb)}
}

// mapperOf a scheme. All kinds are in namespaces, as those of the controllers are.
func mapperOf(scheme *runtime.Scheme) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	for gvk := range scheme.AllKnownTypes() {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	return mapper
}

// GetAPIReader implements ctrl.Manager.
func (m manager) GetAPIReader() client.Reader { return m.api }

// GetEventRecorder implements ctrl.Manager.
func (m manager) GetEventRecorder(string) events.EventRecorder { return silent{} }

// silent drops Events.
type silent struct{}

// Eventf implements events.EventRecorder.
func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
