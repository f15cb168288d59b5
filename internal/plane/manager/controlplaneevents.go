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
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"sigs.k8s.io/cluster-api/controllers/clustercache"
)

// controlPlaneEvents is a ClusterCache for the control plane provider, which it wakes when
// something changes in a workload cluster that it waits for: kubeadm has written its
// configuration, with which the control plane counts as initialized, or a static Pod of a
// control plane becomes ready or stops being ready. The provider itself requeues after 15
// seconds, and when a Machine changes.
type controlPlaneEvents struct {
	clustercache.ClusterCache
}

// controlPlaneObjects are all that the cache of a workload cluster holds for it.
func controlPlaneObjects() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Pod{}: {Namespaces: map[string]cache.Config{
			metav1.NamespaceSystem: {LabelSelector: labels.SelectorFromSet(labels.Set{"tier": "control-plane"})},
		}},
		&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{
			metav1.NamespaceSystem: {FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, "kubeadm-config")},
		}},
	}
}

// GetClusterSource returns a source of the events of the ClusterCache, and of those of the
// objects in each cluster from its connection on.
func (c controlPlaneEvents) GetClusterSource(
	controller string, requestsOf func(context.Context, client.Object) []ctrl.Request, options ...clustercache.GetClusterSourceOption,
) source.Source {
	var started controlPlaneQueue
	clusters := c.ClusterCache.GetClusterSource(controller, func(ctx context.Context, cluster client.Object) []ctrl.Request {
		requests := requestsOf(ctx, cluster)
		if len(requests) == 0 {
			return nil // Its control plane is another provider's.
		}
		c.watch(ctx, client.ObjectKeyFromObject(cluster), started, requests)
		return requests
	}, options...)
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		started = controlPlaneQueue{ctx, queue}
		return clusters.Start(ctx, queue)
	})
}

// watch a cluster that is connected. Where that fails the provider still looks by itself.
func (c controlPlaneEvents) watch(ctx context.Context, cluster client.ObjectKey, queue controlPlaneQueue, requests []ctrl.Request) {
	err := errors.Join(
		c.Watch(ctx, cluster, clustercache.NewWatcher(clustercache.TypedWatcherOptions[*corev1.ConfigMap, ctrl.Request]{
			Name: "control-plane-configuration", Watcher: queue, Kind: &corev1.ConfigMap{}, EventHandler: enqueue[*corev1.ConfigMap](requests),
			Predicates: []predicate.TypedPredicate[*corev1.ConfigMap]{predicate.TypedFuncs[*corev1.ConfigMap]{
				UpdateFunc: func(event.TypedUpdateEvent[*corev1.ConfigMap]) bool { return false },
			}},
		})),
		c.Watch(ctx, cluster, clustercache.NewWatcher(clustercache.TypedWatcherOptions[*corev1.Pod, ctrl.Request]{
			Name: "control-plane-pods", Watcher: queue, Kind: &corev1.Pod{}, EventHandler: enqueue[*corev1.Pod](requests),
			Predicates: []predicate.TypedPredicate[*corev1.Pod]{predicate.TypedFuncs[*corev1.Pod]{
				UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Pod]) bool { return isReady(e.ObjectOld) != isReady(e.ObjectNew) },
			}},
		})),
	)
	if err != nil && !errors.Is(err, clustercache.ErrClusterNotConnected) {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to watch the control plane of a workload cluster", "Cluster", cluster)
	}
}

func enqueue[T client.Object](requests []ctrl.Request) handler.TypedEventHandler[T, ctrl.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, T) []reconcile.Request { return requests })
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// controlPlaneQueue is the queue of the control plane provider's controller.
type controlPlaneQueue struct {
	//nolint:containedctx // The controller's, which ends with the manager.
	ctx   context.Context
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
}

// Watch sends the events of a source to the queue.
func (q controlPlaneQueue) Watch(events source.TypedSource[ctrl.Request]) error {
	return events.Start(q.ctx, q.queue)
}
