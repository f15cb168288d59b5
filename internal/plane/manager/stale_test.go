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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manager/readyourwrites"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// staleness of each event in a cache.
const staleness = time.Second

// TestIntegrationStaleCaches has caches that are stale, and reads what was written from them.
func TestIntegrationStaleCaches(t *testing.T) {
	t.Parallel()
	config := env.Start(t)
	scheme := must.Get(newScheme([]func(*runtime.Scheme) error{infrav1.AddToScheme}))(t)
	live := must.Get(client.New(config, client.Options{Scheme: scheme}))(t)
	informers, registry := readyourwrites.New(scheme), prometheus.NewRegistry()
	must.Succeed(t, informers.Register(registry))
	caches := must.Get(informers.Watch(cache.Options{Scheme: scheme, NewInformer: newStaleInformer}))(t)
	cfg := restConfig(config)
	cfg.Wrap(informers.Wrap)
	mgr := must.Get(createManager(cfg, caches, Options{HealthAddress: "0", MetricsAddress: "0"}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the caches do not start")
	}
	readBack(t, live, mgr.GetClient())
	if exceeded := must.Get(registry.Gather())(t); len(exceeded) > 0 {
		t.Errorf("writes were not observed: %v", exceeded)
	}
}

// newStaleInformer returns an informer whose events are late.
func newStaleInformer(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	from := toolscache.ToListerWatcherWithContext(lw)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: from.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := from.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return delay(events), nil
		},
	}, object, resync, indexers)
}

// delay each event, without changing their order.
func delay(from watch.Interface) watch.Interface {
	type late struct {
		watch.Event

		due time.Time
	}
	queue, events := make(chan late, 1000), make(chan watch.Event)
	to := watch.NewProxyWatcher(events)
	go func() {
		defer close(queue)
		for event := range from.ResultChan() {
			queue <- late{event, time.Now().Add(staleness)}
		}
	}()
	go func() {
		defer close(events)
		defer from.Stop()
		for event := range queue {
			select {
			case <-time.After(time.Until(event.due)):
			case <-to.StopChan():
				return
			}
			select {
			case events <- event.Event:
			case <-to.StopChan():
				return
			}
		}
	}()
	return to
}

// readBack writes an object in all ways, and reads it in the three ways that a cache
// has.
func readBack(t *testing.T, live, writer client.Client) {
	t.Helper()
	ctx := t.Context()
	object := &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "read", Finalizers: []string{"example.com/one"}}}
	kind := infrav1.GroupVersion.WithKind("ContainerMachine")
	unstructuredCopy, metadata := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	unstructuredCopy.SetGroupVersionKind(kind)
	metadata.SetGroupVersionKind(kind)
	check := func(write string) {
		for _, reader := range []client.Object{&infrav1.ContainerMachine{}, unstructuredCopy.DeepCopy(), metadata.DeepCopy()} {
			// The client reads unstructured objects from the cache too.
			err := writer.Get(ctx, client.ObjectKeyFromObject(object), reader)
			if write == "finalize" {
				if !apierrors.IsNotFound(err) {
					t.Errorf("after %s, %T is read with %v, want not found", write, reader, err)
				}
			} else if diff := cmp.Diff(object.ResourceVersion, reader.GetResourceVersion()); err != nil || diff != "" {
				t.Errorf("after %s, %T is read with %v and the version (-want +got):\n%s", write, reader, err, diff)
			}
		}
	}
	// Informers begin with their first reader.
	for _, reader := range []client.Object{&infrav1.ContainerMachine{}, unstructuredCopy.DeepCopy(), metadata.DeepCopy()} {
		if err := writer.Get(ctx, client.ObjectKeyFromObject(object), reader); !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		write string
		do    func() error
	}{
		{"create", func() error { return writer.Create(ctx, object) }},
		{"update", func() error { object.Labels = map[string]string{"a": "b"}; return writer.Update(ctx, object) }},
		{"patch", func() error {
			before := client.MergeFrom(object.DeepCopy())
			object.Labels["a"] = "c"
			return writer.Patch(ctx, object, before)
		}},
		{"status", func() error { object.Status.FailureDomain = "a"; return writer.Status().Update(ctx, object) }},
		{"delete", func() error {
			if err := writer.Delete(ctx, object); err != nil {
				return err
			}
			return live.Get(ctx, client.ObjectKeyFromObject(object), object)
		}},
		{"finalize", func() error { object.Finalizers = nil; return writer.Update(ctx, object) }},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.write, err)
		}
		check(step.write)
	}
}
