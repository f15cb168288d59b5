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

package machine_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"sigs.k8s.io/cluster-api/controllers/clustercache"

	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// A Node that is initialized keeps the taint that another controller adds at the same time.
func TestNodeKeepsTaintsOfOthers(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.SettleMachine(builders.Machine)
	record("done")(t, w)
	key, added := client.ObjectKey{Name: "m1"}, false
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule},
	}}}
	workload := fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(node).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if !added {
				added = true
				latest := &corev1.Node{}
				must.Succeed(t, c.Get(ctx, key, latest))
				latest.Spec.Taints = append(latest.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
				must.Succeed(t, c.Update(ctx, latest))
			}
			return c.Patch(ctx, object, patch, options...)
		},
	}).Build()
	w.ClusterCache = clustercache.NewFakeClusterCache(workload, client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster})
	w.Restart()
	for range 3 {
		_, _ = w.ReconcileMachine(builders.Machine) // a conflict is an error, which is retried
	}
	got := &corev1.Node{}
	must.Succeed(t, workload.Get(t.Context(), key, got))
	if diff := diff([]corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}, got.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}
