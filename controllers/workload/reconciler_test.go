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
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/containercluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/serviceloadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// connections is a ClusterCache with at most one connection.
type connections struct {
	clustercache.ClusterCache
	config *rest.Config
}

func (c *connections) GetRESTConfig(context.Context, client.ObjectKey) (*rest.Config, error) {
	if c.config == nil {
		return nil, clustercache.ErrClusterNotConnected
	}
	return c.config, nil
}

// world is a cluster whose controllers are a function that waits for its end.
type world struct {
	t          *testing.T
	objects    *builders.Objects
	client     client.Client
	cache      *connections
	reconciler *workload.Reconciler
	engine     *simulated.Engine
	started    chan workload.Settings
	ended      chan struct{}
	maxVolumes int32

	maxLoadBalancers int32
	hostPorts        network.HostPortRange
	// report and changes of the function that was started last.
	report  workload.Report
	changes *serviceloadbalancer.Changes
	// drains counts calls of Drain, which return drainError.
	drains     int
	drainError error
}

func newWorld(t *testing.T, change func(*builders.Objects)) *world {
	t.Helper()
	objects := builders.New()
	objects.Cluster.Spec.Paused = nil
	objects.ContainerCluster.Spec.Storage.Type = infrav1.StorageNodeLocal
	if change != nil {
		change(objects)
	}
	w := &world{
		t: t, objects: objects,
		client: fake.NewClientBuilder().WithScheme(builders.Scheme(t)).
			WithObjects(objects.Cluster, objects.ContainerCluster).WithStatusSubresource(&infrav1.ContainerCluster{}).Build(),
		cache:   connected(),
		engine:  simulated.New(),
		started: make(chan workload.Settings, 10),
		ended:   make(chan struct{}, 10),

		maxVolumes: math.MaxInt32, maxLoadBalancers: math.MaxInt32, hostPorts: network.DefaultHostPorts(),
	}
	w.reconciler = &workload.Reconciler{Client: w.client, ClusterCache: w.cache, Engine: w.engine, Run: w.run, Drain: w.drain}
	return w
}

// connected is a ClusterCache with a connection, whose timeout is that of the real one.
func connected() *connections { return &connections{config: &rest.Config{Timeout: 10 * time.Second}} }

func (w *world) drain(_ context.Context, config *rest.Config, owner identity.Owner) error {
	w.drains++
	if config != w.cache.config || owner != builders.Owner() {
		w.t.Errorf("drained %+v with %+v", owner, config)
	}
	return w.drainError
}

func (w *world) run(ctx context.Context, settings workload.Settings, changes *serviceloadbalancer.Changes, report workload.Report) error {
	w.report, w.changes = report, changes
	w.started <- settings
	<-ctx.Done()
	w.ended <- struct{}{}
	return ctx.Err()
}

func (w *world) reconcile() ctrl.Result {
	w.t.Helper()
	// As a real one, the context of a reconcile ends with it.
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	result, err := w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.objects.Cluster)})
	must.Succeed(w.t, err)
	return result
}

// edit changes the ContainerCluster.
func (w *world) edit(change func(*infrav1.ContainerCluster)) {
	w.t.Helper()
	cluster := w.containerCluster()
	change(cluster)
	must.Succeed(w.t, w.client.Update(w.t.Context(), cluster))
	w.objects.ContainerCluster = cluster
}

func (w *world) containerCluster() *infrav1.ContainerCluster {
	w.t.Helper()
	cluster := &infrav1.ContainerCluster{}
	must.Succeed(w.t, w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.objects.ContainerCluster), cluster))
	return cluster
}

// condition is status, reason and message of the condition; empty = there is none.
func (w *world) condition() string {
	w.t.Helper()
	condition := conditions.Get(w.containerCluster(), infrav1.WorkloadControllersReadyCondition)
	if condition == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", condition.Status, condition.Reason, condition.Message))
}

func (w *world) expectCondition(want string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.condition()); diff != "" {
		w.t.Errorf("condition: -want +got:\n%s", diff)
	}
}

// expect waits for as many starts and ends as have not been seen, and fails on more.
func (w *world) expect(starts, ends int) {
	w.t.Helper()
	for range starts {
		select {
		case settings := <-w.started:
			// The ClusterCache's timeout would end each watch.
			if settings.Config == w.cache.config || settings.Config.Timeout != 0 {
				w.t.Errorf("started with the timeout %s", settings.Config.Timeout)
			}
			settings.Config = nil
			want := workload.Settings{
				Owner: builders.Owner(), Network: network.DefaultName,
				Engine:        containercluster.RecordOf(w.objects.ContainerCluster, builders.Owner()),
				Storage:       w.objects.ContainerCluster.Spec.Storage.Type == infrav1.StorageNodeLocal,
				LoadBalancers: w.objects.ContainerCluster.Spec.ServiceLoadBalancer.Type == infrav1.LoadBalancerHAProxy,
				MaxVolumes:    w.maxVolumes,

				MaxLoadBalancers: w.maxLoadBalancers, HostPorts: w.hostPorts,
			}
			if settings != want {
				w.t.Errorf("started with %+v, want %+v", settings, want)
			}
		case <-time.After(10 * time.Second):
			w.t.Fatal("not started")
		}
	}
	for range ends {
		select {
		case <-w.ended:
		case <-time.After(10 * time.Second):
			w.t.Fatal("not ended")
		}
	}
	if more := len(w.started) + len(w.ended); more > 0 {
		w.t.Errorf("%d more starts and ends", more)
	}
}

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
	if w.changes.Len() != 0 {
		t.Errorf("%d changes, want none of other clusters and roles", w.changes.Len())
	}
	for range 2 {
		if requests := w.reconciler.ContainerToCluster(t.Context(), balancer); len(requests) > 0 || w.changes.Len() != 1 {
			t.Errorf("%d changes, requests %v, want one change and no reconcile", w.changes.Len(), requests)
		}
	}
	if diff := cmp.Diff(request, w.reconciler.AllClusters(t.Context())); diff != "" || w.changes.Len() != 2 {
		t.Errorf("%d changes, want that of all too; requests: -want +got:\n%s", w.changes.Len(), diff)
	}
}

func TestLoadBalancersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) {
		o.ContainerCluster.Spec.Storage.Type = infrav1.StorageNone
		o.ContainerCluster.Spec.ServiceLoadBalancer.Type = infrav1.LoadBalancerHAProxy
	})
	w.reconcile()
	w.expect(1, 0)
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
		calls := map[*serviceloadbalancer.Changes]bool{}
		w.reconciler.Run = func(ctx context.Context, _ workload.Settings, changes *serviceloadbalancer.Changes, report workload.Report) error {
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
		"no owner ID":        func(o *builders.Objects) { o.ContainerCluster.Spec.OwnerID = "" },
		"paused":             func(o *builders.Objects) { o.Cluster.Spec.Paused = ptr.To(true) },
		"other provider":     func(o *builders.Objects) { o.Cluster.Spec.InfrastructureRef.Kind = "DockerCluster" },
		"externally managed": annotate(clusterv1.ManagedByAnnotation, "tool"),
		"moved":              annotate(clusterctlv1.DeleteForMoveAnnotation, ""),
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
	t.Run("not selected", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.reconciler.WatchFilterValue = "other"
			w.reconcile()
			synctest.Wait()
			w.expect(0, 0)
		})
	})
}

func annotate(key, value string) func(*builders.Objects) {
	return func(o *builders.Objects) { o.ContainerCluster.Annotations = map[string]string{key: value} }
}
