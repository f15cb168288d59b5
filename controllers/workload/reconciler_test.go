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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/engineobjects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.reconcile()
	w.expect(1, 0)
	w.reconcile()
	w.expect(0, 0)
	w.cache.config = connected().config
	w.reconcile()
	w.expect(1, 1)
	w.cache.config = nil
	w.reconcile()
	w.expect(0, 1)
	w.cache.config = connected().config
	w.reconcile()
	w.expect(1, 0)
	must.Succeed(t, w.client.Delete(t.Context(), w.objects.Cluster))
	w.reconcile()
	w.expect(0, 1)
}

// TestChangesReachTheirCluster: an event is about one load balancer of one cluster, and a
// relist about all.
func TestChangesReachTheirCluster(t *testing.T) {
	t.Parallel()
	balancer := builders.Owner().ContainerLabels(identity.RoleServiceLoadBalancer, "")
	balancer[identity.LabelService], balancer[identity.LabelServiceUID] = "default/web", "uid-web"
	other := builders.Owner()
	other.Cluster = "other"
	w := newWorld(t, func(o *builders.Objects) {
		o.ContainerCluster.Spec.ServiceLoadBalancer.Type = infrav1.LoadBalancerHAProxy
	})
	request := []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(w.objects.Cluster)}}
	if diff := cmp.Diff(request, w.reconciler.ContainerToCluster(t.Context(), balancer)); diff != "" {
		t.Errorf("nothing runs, which may have to be drained: -want +got:\n%s", diff)
	}
	w.reconcile()
	w.expect(1, 0)
	w.reconciler.ContainerToCluster(t.Context(), builders.Owner().ContainerLabels(identity.RoleWorker, "a"))
	w.reconciler.ContainerToCluster(t.Context(), other.ContainerLabels(identity.RoleServiceLoadBalancer, ""))
	if w.changes.Services.Len() != 0 {
		t.Errorf("%d changes, want none of other clusters and roles", w.changes.Services.Len())
	}
	for range 2 {
		if requests := w.reconciler.ContainerToCluster(t.Context(), balancer); len(requests) > 0 || w.changes.Services.Len() != 1 {
			t.Errorf("%d changes, requests %v, want one change and no reconcile", w.changes.Services.Len(), requests)
		}
	}
	if diff := cmp.Diff(request, w.reconciler.AllClusters(t.Context())); diff != "" || w.changes.Services.Len() != 2 {
		t.Errorf("%d changes, want that of all too; requests: -want +got:\n%s", w.changes.Services.Len(), diff)
	}
}

// TestLimits: the lower one applies.
func TestLimits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason           string
		manager, cluster *int32
		want             int32
	}{
		"manager":        {"A cluster without a limit has the manager's.", ptr.To[int32](5), nil, 5},
		"cluster":        {"A cluster may have one alone.", nil, ptr.To[int32](4), 4},
		"cluster lower":  {"A cluster may have less.", ptr.To[int32](5), ptr.To[int32](0), 0},
		"cluster higher": {"A cluster may not have more.", ptr.To[int32](5), ptr.To[int32](9), 5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *builders.Objects) {
				o.ContainerCluster.Spec.Limits = infrav1.Limits{PersistentVolumes: tc.cluster, LoadBalancers: tc.cluster}
			})
			w.reconciler.Limits = infrav1.Limits{PersistentVolumes: tc.manager, LoadBalancers: tc.manager}
			w.maxVolumes, w.maxLoadBalancers = tc.want, tc.want
			w.reconcile()
			w.expect(1, 0)
		})
	}
}

// TestHostPortRange: what is in both ranges.
func TestHostPortRange(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, manager, cluster string
		want                     network.HostPortRange
	}{
		"manager":  {"A cluster without a range has the manager's.", "21000-21999", "", network.HostPortRange{First: 21000, Last: 21999}},
		"part":     {"A cluster may have a part of it.", "21000-21999", "21100-21199", network.HostPortRange{First: 21100, Last: 21199}},
		"larger":   {"A cluster may not have more.", "21000-21999", "20000-29999", network.HostPortRange{First: 21000, Last: 21999}},
		"no flag":  {"The plane has the default.", "", "20100-20199", network.HostPortRange{First: 20100, Last: 20199}},
		"disjoint": {"None is left.", "21000-21999", "22000-22999", network.HostPortRange{First: 22000, Last: 21999}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *builders.Objects) { o.ContainerCluster.Spec.Limits.HostPortRange = tc.cluster })
			w.reconciler.Limits.HostPortRange = tc.manager
			w.hostPorts = tc.want
			w.reconcile()
			w.expect(1, 0)
		})
	}
}

// TestManagerEnds: nothing runs in a manager that is not the leader any more.
func TestManagerEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- w.reconciler.Runner().Start(ctx) }()
	w.reconcile()
	w.expect(1, 0)
	cancel()
	must.Succeed(t, <-stopped)
	w.expect(0, 1)
	w.reconcile()
	w.expect(0, 0)
}

func TestFailedRunIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		calls := map[workload.Changes]bool{}
		w.reconciler.Run = func(ctx context.Context, _ workload.Settings, changes workload.Changes, report workload.Report) error {
			// Repairs of an attempt that failed may still wait for the changes it had.
			if calls[changes] = true; len(calls) < 3 {
				return errors.New("no connection")
			}
			report(workload.Storage, "", nil)
			<-ctx.Done()
			return nil
		}
		w.reconcile()
		synctest.Wait()
		w.reconcile()
		w.expectCondition("False NotReady no connection")
		time.Sleep(time.Minute)
		synctest.Wait()
		w.reconcile()
		w.expectCondition("True Ready")
		w.cache.config = nil
		w.reconcile()
	})
}

func TestNothingRuns(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*builders.Objects){
		"not managed": func(o *builders.Objects) {
			o.ContainerCluster.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "tool"}
		},
		"paused": func(o *builders.Objects) { o.Cluster.Spec.Paused = ptr.To(true) },
		"Cluster deleted": func(o *builders.Objects) {
			o.Cluster.DeletionTimestamp, o.Cluster.Finalizers = ptr.To(metav1.Unix(1, 0)), []string{"a/b"}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, change)
				w.reconcile()
				synctest.Wait()
				w.expect(0, 0)
			})
		})
	}
}

// TestBusyEngine: workers that wait for one engine leave the others to clusters on other engines.
func TestBusyEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) { o.ContainerCluster.Spec.EngineName = "build" })
	registry := engines.New(engines.Own(w.engine), engines.Options{Open: engineobjects.Open(map[string]engine.Engine{"build": w.engine})})
	name := types.NamespacedName{Namespace: builders.Namespace, Name: "build"}
	must.Succeed(t, registry.Connect(t.Context(), name, engineobjects.Target(t, name.Name)))
	t.Cleanup(func() { registry.Disconnect(name, nil) })
	must.Get(registry.Probe(t.Context(), name, engineobjects.Accept))(t)
	w.reconciler.Engines, w.reconciler.Slots = registry, &engines.Slots{Limit: 1}
	leave, _ := w.reconciler.Slots.Enter(w.objects.ContainerCluster)
	defer leave()
	if result := w.reconcile(); result.RequeueAfter != engines.BusyInterval {
		t.Errorf("it does not wait for a worker: %+v", result)
	}
	w.expect(0, 0)
}
