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

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
)

// machineSetEvents is a ClusterCache for the controller of MachineSets, which it wakes when the
// versions change that a control plane has. Before its first Machine has one, and while it is
// upgraded, no MachineSet creates Machines. The controller itself requeues after 15 seconds, and
// when the workload cluster is connected, which may be before the control plane reports a version.
type machineSetEvents struct {
	clustercache.ClusterCache
	// cache is that of the management cluster.
	cache cache.Cache
}

// GetClusterSource returns a source of the events of the ClusterCache, and of control planes.
func (c machineSetEvents) GetClusterSource(
	controller string, requestsOf func(context.Context, client.Object) []ctrl.Request, options ...clustercache.GetClusterSourceOption,
) source.Source {
	clusters := c.ClusterCache.GetClusterSource(controller, requestsOf, options...)
	// The controller reads it as unstructured, and thus from this informer.
	controlPlane := &unstructured.Unstructured{}
	controlPlane.SetGroupVersionKind(controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"))
	controlPlanes := source.Kind(c.cache, controlPlane,
		handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, object *unstructured.Unstructured) []reconcile.Request {
			return requestsOf(ctx, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{
				Namespace: object.GetNamespace(), Name: object.GetLabels()[clusterv1.ClusterNameLabel],
			}})
		}),
		predicate.TypedFuncs[*unstructured.Unstructured]{
			UpdateFunc: func(e event.TypedUpdateEvent[*unstructured.Unstructured]) bool {
				return !equality.Semantic.DeepEqual(versionsOf(e.ObjectOld), versionsOf(e.ObjectNew))
			},
			DeleteFunc: func(event.TypedDeleteEvent[*unstructured.Unstructured]) bool { return false },
		},
	)
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		return errors.Join(clusters.Start(ctx, queue), controlPlanes.Start(ctx, queue))
	})
}

func versionsOf(controlPlane *unstructured.Unstructured) any {
	versions, _, _ := unstructured.NestedFieldNoCopy(controlPlane.Object, "status", "versions")
	return versions
}
