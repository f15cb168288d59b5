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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// silentClusterCache has no events of its own.
type silentClusterCache struct {
	clustercache.ClusterCache
}

func (silentClusterCache) GetClusterSource(
	string, func(context.Context, client.Object) []ctrl.Request, ...clustercache.GetClusterSourceOption,
) source.Source {
	return source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[ctrl.Request]) error { return nil })
}

// registeredInformers close the channel when the source has registered its handler.
type registeredInformers struct {
	*informertest.FakeInformers
	registered chan struct{}
}

func (i registeredInformers) WaitForCacheSync(ctx context.Context) bool {
	close(i.registered)
	return i.FakeInformers.WaitForCacheSync(ctx)
}

func TestMachineSetEvents(t *testing.T) {
	t.Parallel()
	controlPlane := func(change func(object map[string]any)) *unstructured.Unstructured {
		object := map[string]any{
			"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
			"metadata": map[string]any{
				"namespace": "default", "name": "demo-control-plane", "labels": map[string]any{clusterv1.ClusterNameLabel: "demo"},
			},
			"status": map[string]any{},
		}
		change(object)
		return &unstructured.Unstructured{Object: object}
	}
	versions := func(versions ...any) *unstructured.Unstructured {
		return controlPlane(func(object map[string]any) { object["status"] = map[string]any{"versions": versions} })
	}
	version := func(name string, replicas int64) any { return map[string]any{"version": name, "replicas": replicas} }
	none := controlPlane(func(map[string]any) {})
	first := versions(version("v1.36.3", 1))

	informers := registeredInformers{&informertest.FakeInformers{}, make(chan struct{})}
	informer := must.Get(informers.FakeInformerFor(t.Context(), none))(t)
	queue := &controllertest.Queue{TypedInterface: workqueue.NewTyped[reconcile.Request]()}
	events := machineSetEvents{silentClusterCache{}, informers}.GetClusterSource("machineset",
		func(_ context.Context, cluster client.Object) []ctrl.Request {
			return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: cluster.GetNamespace(), Name: "of-" + cluster.GetName()}}}
		})
	must.Succeed(t, events.Start(t.Context(), queue))
	<-informers.registered
	take := func() string {
		if queue.Len() == 0 {
			return ""
		}
		request, _ := queue.Get()
		queue.Done(request)
		return request.String()
	}
	const woken = "default/of-demo"
	for name, c := range map[string]struct {
		reason string
		send   func()
		want   string
	}{
		"Found": {"the manager may have missed a change", func() { informer.Add(first) }, woken},
		"First": {"it has a version, and workers may follow", func() { informer.Update(none, first) }, woken},
		"Upgraded": {"all have the new version", func() {
			informer.Update(versions(version("v1.35.4", 1), version("v1.36.3", 1)), first)
		}, woken},
		"Other": {"nothing that a MachineSet waits for", func() {
			informer.Update(first, controlPlane(func(object map[string]any) {
				object["status"] = map[string]any{"versions": []any{version("v1.36.3", 1)}, "readyReplicas": int64(1)}
			}))
		}, ""},
		"Deleted": {"nothing is created any more", func() { informer.Delete(first) }, ""},
	} {
		c.send()
		if got := take(); got != c.want {
			t.Errorf("%s: %s: %q is reconciled, want %q", name, c.reason, got, c.want)
		}
	}
}
