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

package workload_test

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestCondition(t *testing.T) {
	t.Parallel()
	both := func(o *builders.Objects) {
		o.ContainerCluster.Spec.ServiceLoadBalancer.Type = infrav1.LoadBalancerHAProxy
	}
	broken := errors.New("no permission")
	cases := map[string]struct {
		reason string
		change func(*builders.Objects)
		report func(workload.Report)
		want   string
	}{
		"starting": {"Neither has reported.", both, func(workload.Report) {}, "False Connecting Starting: storage, serviceLoadBalancer"},
		"one starts": {"The other one has.", both, func(report workload.Report) {
			report(workload.Storage, "", nil)
		}, "False Connecting Starting: serviceLoadBalancer"},
		"running": {"Both have.", both, func(report workload.Report) {
			report(workload.Storage, "", nil)
			report(workload.LoadBalancers, "", nil)
		}, "True Ready"},
		"error": {"It is more important than what starts.", both, func(report workload.Report) {
			report(workload.LoadBalancers, "", broken)
		}, "False NotReady serviceLoadBalancer: no permission"},
		"error has passed": {"The last report counts.", nil, func(report workload.Report) {
			report(workload.Storage, "", broken)
			report(workload.Storage, "", nil)
		}, "True Ready"},
		"StorageClass of another": {"It works, otherwise than expected.", nil, func(report workload.Report) {
			report(workload.Storage, "standard is another's", nil)
		}, "True ForeignStorageClass standard is another's"},
		"nothing": {"Nothing is switched on.", nothing, func(report workload.Report) {
			report(workload.Registries, "", nil)
		}, ""},
		"registry cannot be removed": {"Tools push to a registry that is gone.", nothing, func(report workload.Report) {
			report(workload.Registries, "", broken)
		}, "False NotReady registries: no permission"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tc.change)
			w.reconcile()
			w.expect(1, 0)
			tc.report(w.report)
			w.reconcile()
			t.Log(tc.reason)
			w.expectCondition(tc.want)
		})
	}
}

// nothing is switched on.
func nothing(o *builders.Objects) {
	o.ContainerCluster.Spec.Storage = infrav1.Storage{}
	o.ContainerCluster.Spec.ServiceLoadBalancer.Type = infrav1.LoadBalancerNone
}

// TestConditionOfConnection: there is none before the first connection, and it says so when
// one is lost.
func TestConditionOfConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.cache.config = nil
	w.reconcile()
	w.expectCondition("")
	w.cache.config = connected().config
	w.reconcile()
	w.expect(1, 0)
	w.report(workload.Storage, "", nil)
	w.reconcile()
	w.expectCondition("True Ready")
	w.cache.config = nil
	w.reconcile()
	w.expectCondition("False Connecting Waiting for the API server of the workload cluster")
	w.edit(func(c *infrav1.ContainerCluster) { c.Spec.Storage.Type = infrav1.StorageNone })
	w.reconcile()
	w.expectCondition("")
}

// TestConditionsOfOthers: a condition that another controller writes meanwhile stays.
func TestConditionsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	others := []string{infrav1.NetworkReadyCondition, infrav1.LoadBalancerReadyCondition}
	written := false
	writes, isWatch := w.client.(client.WithWatch)
	if !isWatch {
		t.Fatal("client does not watch")
	}
	w.reconciler.Client = interceptor.NewClient(writes, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if !written {
				written = true
				cluster := w.containerCluster()
				for _, other := range others {
					conditions.Set(cluster, metav1.Condition{Type: other, Status: metav1.ConditionTrue, Reason: "Ready"})
				}
				must.Succeed(t, w.client.Status().Update(ctx, cluster))
			}
			return c.SubResource(subResource).Patch(ctx, object, patch, options...)
		},
	})
	w.reconcile()
	w.expectCondition("False Connecting Starting: storage")
	for _, other := range others {
		if !conditions.IsTrue(w.containerCluster(), other) {
			t.Errorf("%s was overwritten", other)
		}
	}
}
