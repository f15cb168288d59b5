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

package node_test

import (
	"context"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// named are machines whose Node has a provider ID.
func named() map[string]nodeTest {
	workload := func(nodes ...*corev1.Node) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) {
			t.Helper()
			builder := fake.NewClientBuilder().WithScheme(builders.Scheme(t))
			for _, node := range nodes {
				// The fake client writes into what it is given, and a situation may be tried
				// more than once at the same time.
				builder = builder.WithObjects(node.DeepCopy())
			}
			reached := builder.Build()
			w.ClusterCache = clustercache.NewFakeClusterCache(reached, client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster})
			w.Restart()
		}
	}
	node := func(providerID string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: corev1.NodeSpec{
			ProviderID: providerID,
			Taints: []corev1.Taint{
				{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule},
				{Key: "mine", Effect: corev1.TaintEffectNoSchedule},
			},
		}}
	}
	initialized := func(t *testing.T, w *world.World) {
		t.Helper()
		reached, err := w.ClusterCache.GetClient(t.Context(), client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster})
		must.Succeed(t, err)
		got := &corev1.Node{}
		must.Succeed(t, reached.Get(t.Context(), client.ObjectKey{Name: "m1"}, got))
		want := corev1.NodeSpec{
			ProviderID: identity.ProviderID(container()), Taints: []corev1.Taint{{Key: "mine", Effect: corev1.TaintEffectNoSchedule}},
		}
		if diff := gocmp.Diff(want, got.Spec); diff != "" {
			t.Errorf("Node (-want +got):\n%s", diff)
		}
	}
	excluded := func(want string) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) {
			t.Helper()
			reached := must.Get(w.ClusterCache.GetClient(t.Context(), client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster}))(t)
			got := &corev1.Node{}
			must.Succeed(t, reached.Get(t.Context(), client.ObjectKey{Name: "m1"}, got))
			if value := got.Labels[corev1.LabelNodeExcludeBalancers]; value != want {
				t.Errorf("the label that excludes the Node from load balancers is %q, want %q", value, want)
			}
		}
	}
	deleted := func(name string, object client.Object) func(*testing.T, *world.World) {
		return func(_ *testing.T, w *world.World) {
			world.Edit(w, name, object, func(object client.Object) { object.SetFinalizers([]string{"test/keeps"}) })
			world.Delete(w, name, object)
		}
	}
	return map[string]nodeTest{
		"NodeOfADeletedMachine": {
			reason: "No connection through the load balancer of a Service arrives at a node that is drained.",
			args: args{
				setup: workload(node(identity.ProviderID(container()))), change: all(isDone, becomesNode, deleted(builders.Machine, &clusterv1.Machine{})),
			},
			assert: excluded("deleting"),
		},
		"NodeOfADeletedCluster": {
			reason: "All nodes are deleted: a label saves no connection.",
			args: args{
				setup:  workload(node(identity.ProviderID(container()))),
				change: all(isDone, becomesNode, deleted(builders.Cluster, &clusterv1.Cluster{}), deleted(builders.Machine, &clusterv1.Machine{})),
			},
			assert: excluded(""),
		},
		"DeletedMachineOfALostNode": {
			reason: "There is nothing to label.",
			args: args{
				setup: workload(), change: all(isDone, becomesNode, deleted(builders.Machine, &clusterv1.Machine{})),
			},
		},
		"ProviderIDMismatch": {
			reason: "A Node with another name is not found; one Event reports it.",
			args:   args{setup: workload(node("mine://m1")), change: isDone},
			want:   want{bootstrapCompleted: "False/" + infrav1.ProviderIDMismatchReason, message: "mine://m1"},
		},
		"NodeNotRegistered": {
			reason: "The Node comes some time after the bootstrap.",
			args:   args{setup: workload(), change: isDone},
			want:   want{requeueAfter: 5 * time.Second},
		},
		"NodeWithoutProviderID": {
			reason: "Bootstrap providers that do not read the kubelet's environment leave a Node without provider ID, and tainted.",
			args:   args{setup: workload(node("")), change: isDone},
			want:   want{requeueAfter: 5 * time.Second},
			assert: initialized,
		},
		"NodeForACloudController": {
			reason: "Cluster API finds a Node by its provider ID before its taint is removed.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.Secret = builders.DataSecret(builders.Machine, builders.JoinCloudWorkerData)
				}},
				setup:  workload(node(identity.ProviderID(container()))),
				change: all(becomesNode, isDone),
			},
			assert: initialized,
		},
	}
}

// A Node that is initialized keeps the taint that another controller adds at the same time.
func TestNodeKeepsTaintsOfOthers(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.SettleMachine(builders.Machine)
	isDone(t, w)
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
	if diff := gocmp.Diff([]corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}, got.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}
