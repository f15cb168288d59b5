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
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
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
	changes workload.Changes
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
	w.reconciler = &workload.Reconciler{Client: w.client, ClusterCache: w.cache, Engines: engines.New(&engines.Connection{Engine: w.engine}, engines.Options{}), Run: w.run, Drain: w.drain}
	return w
}

// connected is a ClusterCache with a connection, whose timeout is that of the real one.
func connected() *connections { return &connections{config: &rest.Config{Timeout: 10 * time.Second}} }

func (w *world) drain(_ context.Context, settings workload.Settings) error {
	w.drains++
	if owner := settings.Recorded.Owner; settings.Config != w.cache.config || owner != builders.Owner() {
		w.t.Errorf("drained %+v with %+v", owner, settings.Config)
	}
	return w.drainError
}

func (w *world) run(ctx context.Context, settings workload.Settings, changes workload.Changes, report workload.Report) error {
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
				Connection:    w.reconciler.Engines.Own(),
				Network:       network.DefaultName,
				Recorded:      containercluster.RecordOf(w.objects.ContainerCluster, builders.Cluster),
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
