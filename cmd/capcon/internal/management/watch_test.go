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

package management

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestWatchDeletion(t *testing.T) {
	t.Parallel()
	api := newWatched(t)
	deleted := WatchDeletion(t.Context(), api, "default", "demo")
	watcher := api.watcher(t)
	cluster := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}
	watcher.Add(cluster)
	watcher.Modify(cluster)
	expectNone(t, deleted, "a change is reported as a deletion")
	watcher.Delete(cluster)
	expectOne(t, deleted, "the deletion is not reported")
}

func TestWatchReadiness(t *testing.T) {
	t.Parallel()
	api := newWatched(t)
	progress := WatchReadiness(t.Context(), api, "default", "demo")
	watcher := api.watcher(t)
	starting, ready := workerMachine("demo-worker-b"), workerMachine("demo-worker-b")
	starting.Status = clusterv1.MachineStatus{}
	watcher.Add(&starting)
	watcher.Modify(&starting)
	expectNone(t, progress, "a Machine that is not ready is reported")
	watcher.Modify(&ready)
	expectOne(t, progress, "a ready Machine is not reported")
	watcher.Modify(&ready)
	watcher.Error(&metav1.Status{Code: 410})
	expectNone(t, progress, "a Machine that was ready before is reported")

	watcher.Stop()
	watcher = api.watcher(t)
	watcher.Add(&ready)
	expectNone(t, progress, "a Machine that was ready before the watch ended is reported")
	watcher.Modify(&starting)
	watcher.Modify(&ready)
	expectOne(t, progress, "a Machine that is ready again is not reported")
}

// watched is an API server of which a test sends the events.
type watched struct {
	client.WithWatch

	watchers chan *watch.FakeWatcher
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{watchers: make(chan *watch.FakeWatcher)}
	inner := fake.NewClientBuilder().WithScheme(must.Get(Scheme())(t)).Build()
	w.WithWatch = interceptor.NewClient(inner, interceptor.Funcs{
		Watch: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
			watcher := watch.NewFake()
			select {
			case w.watchers <- watcher:
				return watcher, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
	return w
}

// watcher of the next watch.
func (w *watched) watcher(t *testing.T) *watch.FakeWatcher {
	t.Helper()
	select {
	case watcher := <-w.watchers:
		return watcher
	case <-time.After(10 * time.Second):
		t.Fatal("no watch")
		return nil
	}
}

// expectNone: the events sent so far were received, for the watch is not buffered; the last
// one may still be looked at.
func expectNone(t *testing.T, events <-chan struct{}, problem string) {
	t.Helper()
	select {
	case <-events:
		t.Fatal(problem)
	case <-time.After(50 * time.Millisecond):
	}
}

func expectOne(t *testing.T, events <-chan struct{}, problem string) {
	t.Helper()
	select {
	case <-events:
	case <-time.After(10 * time.Second):
		t.Fatal(problem)
	}
}
