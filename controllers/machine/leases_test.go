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
	"errors"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// A removed control plane does not keep the Leases by which one controller manager and one
// scheduler lead.
func TestRemovedControlPlaneReleasesLeases(t *testing.T) {
	t.Parallel()
	lease := func(name, holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](15)},
		}
	}
	const theirs = builders.Machine + "0_6f"
	cases := map[string]struct {
		holder string
		// err of each request to the API server.
		err    error
		change func(w *world.World)
		want   string
	}{
		"Leader":        {holder: builders.Machine + "_6f"},
		"AnotherLeads":  {holder: theirs, want: theirs},
		"ClusterGoes":   {holder: builders.Machine + "_6f", change: clusterGoes, want: builders.Machine + "_6f"},
		"DoesNotAnswer": {holder: builders.Machine + "_6f", err: errors.New("no leader of etcd"), want: builders.Machine + "_6f"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := twoControlPlanes(t)
			key := client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster}
			workload := fake.NewClientBuilder().WithScheme(builders.Scheme(t)).
				WithObjects(lease("kube-controller-manager", tc.holder), lease("kube-scheduler", theirs)).Build()
			reached := interceptor.NewClient(workload, interceptor.Funcs{
				Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
					if tc.err != nil {
						return tc.err
					}
					return api.Get(ctx, key, object, opts...)
				},
			})
			w.ClusterCache = clustercache.NewFakeClusterCache(reached, key)
			w.Restart()
			if tc.change != nil {
				tc.change(w)
			}
			secondsUntilGone(t, w, func() { w.SettleCluster() })
			if _, there := world.Get(w, builders.Machine, &infrav1.ContainerMachine{}); there {
				t.Error("the deletion waits for the Leases")
			}
			for name, want := range map[string]string{"kube-controller-manager": tc.want, "kube-scheduler": theirs} {
				found := &coordinationv1.Lease{}
				must.Succeed(t, workload.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: name}, found))
				if got := *found.Spec.HolderIdentity; got != want {
					t.Errorf("the holder of %s is %q, want %q", name, got, want)
				}
			}
		})
	}
}
