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

package clusterpower_test

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/clusterpower"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// machineOf are the ContainerMachines of containers.
var machineOf = map[string]string{"worker-1": builders.Machine}

// scheme knows the kinds of these tests and no more: a fake client takes its time for each with
// each patch.
func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	made := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		must.Succeed(t, add(made))
	}
	return made
}

// world is a cluster of two workers, a control plane and two load balancers.
type world struct {
	t      *testing.T
	engine *simulated.Engine
	client client.WithWatch
	node   *corev1.Node
	// heartbeat of the node; zero = now.
	heartbeat time.Time
	// others are objects of the workload cluster alongside the node.
	others     []client.Object
	workload   error
	clock      *testingclock.FakeClock
	reconciler *clusterpower.Reconciler
	recorded   chan string
	// base of the clients of the workload cluster.
	base client.WithWatch
	// dead: the manager was killed, and does nothing more until it is started again.
	dead atomic.Bool
}

func newWorld(t *testing.T, change func(*builders.Objects)) *world {
	t.Helper()
	objects := builders.New()
	objects.Cluster.Spec.Paused = nil
	objects.Cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	objects.ContainerMachine.Spec.ProviderID = identity.ProviderID("worker-1")
	if change != nil {
		change(objects)
	}
	passing := testingclock.NewFakeClock(time.Now())
	w := &world{
		t: t, engine: simulated.New(simulated.WithClock(passing.Now)), clock: passing,
		node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: corev1.NodeSpec{ProviderID: identity.ProviderID("worker-1")}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		}},
		client: fake.NewClientBuilder().WithScheme(scheme(t)).WithStatusSubresource(&infrav1.ContainerMachine{}, &infrav1.ContainerCluster{}).
			WithObjects(objects.Cluster, objects.ContainerCluster, objects.ContainerMachine).Build(),
	}
	w.engine.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
	for name, role := range map[string]identity.Role{
		"worker-1": identity.RoleWorker, "worker-2": identity.RoleWorker, "control-plane": identity.RoleControlPlane,
		"service": identity.RoleServiceLoadBalancer, "lb": identity.RoleLoadBalancer,
	} {
		must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{
			Name: name, Image: builders.NodeImage, Labels: builders.Owner().ContainerLabels(role, machineOf[name]),
		}))(t)
		must.Succeed(t, w.engine.StartContainer(t.Context(), name))
	}
	recorder := events.NewFakeRecorder(10000)
	w.recorded = recorder.Events
	w.reconciler = &clusterpower.Reconciler{
		Client: w.client, Engines: engines.New(&engines.Connection{Engine: w.engine}, engines.Options{}), Events: recorder, Clock: w.clock,
		Workload: func(context.Context, client.ObjectKey) (client.Client, error) {
			return w.workloadClient(), w.workload
		},
	}
	return w
}

// workloadClient lists the Node as it is, and the other objects.
func (w *world) workloadClient() client.Client {
	if w.base == nil {
		w.base = fake.NewClientBuilder().WithScheme(w.client.Scheme()).WithObjects(w.others...).Build()
	}
	return interceptor.NewClient(w.base, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			nodes, ok := list.(*corev1.NodeList)
			if !ok {
				return c.List(ctx, list, options...)
			}
			node := w.node.DeepCopy()
			node.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(cmp.Or(w.heartbeat, w.clock.Now()))
			nodes.Items = []corev1.Node{*node}
			return nil
		},
	})
}

func (w *world) reconcile() ctrl.Result {
	w.t.Helper()
	return must.Get(w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{
		Namespace: builders.Namespace, Name: builders.Cluster,
	}}))(w.t)
}

func (w *world) cluster() *clusterv1.Cluster {
	w.t.Helper()
	cluster := &clusterv1.Cluster{}
	must.Succeed(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster}, cluster))
	return cluster
}

func (w *world) edit(change func(*clusterv1.Cluster)) {
	w.t.Helper()
	w.clock.Step(2 * time.Second)
	cluster := w.cluster()
	change(cluster)
	must.Succeed(w.t, w.client.Update(w.t.Context(), cluster))
}

func stopped(cluster *clusterv1.Cluster) {
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.StoppedAnnotation, "")
}

func started(cluster *clusterv1.Cluster) { delete(cluster.Annotations, infrav1.StoppedAnnotation) }

// condition of the ContainerCluster.
func (w *world) condition() (reason, message string) {
	w.t.Helper()
	found := &infrav1.ContainerCluster{}
	must.Succeed(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster}, found))
	return conditions.GetReason(found, infrav1.StoppedCondition), conditions.GetMessage(found, infrav1.StoppedCondition)
}

// setReported is what the machine controller says of the container.
func (w *world) setReported(running metav1.ConditionStatus) {
	w.t.Helper()
	machine := &infrav1.ContainerMachine{}
	must.Succeed(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: builders.Namespace, Name: builders.Machine}, machine))
	conditions.Set(machine, metav1.Condition{Type: infrav1.ContainerReadyCondition, Status: running, Reason: "Test"})
	must.Succeed(w.t, w.client.Status().Update(w.t.Context(), machine))
}

// state of a cluster.
type state struct {
	// running is how many containers run.
	running int
	// paused: the Cluster is, byProvider: this provider has paused it.
	paused, byProvider bool
}

func (w *world) expect(what string, want state) {
	w.t.Helper()
	got := state{}
	for _, container := range must.Get(w.engine.ListContainers(w.t.Context(), nil))(w.t) {
		if container.Status == engine.StatusRunning {
			got.running++
		}
	}
	cluster := w.cluster()
	got.paused = ptr.Deref(cluster.Spec.Paused, false)
	_, got.byProvider = cluster.Annotations[infrav1.PausedWhileStoppedAnnotation]
	if got != want {
		w.t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// calls are the containers of the calls of a method, in their order.
func (w *world) calls(method string) []string {
	var names []string
	for _, call := range w.engine.MutatingCalls() {
		if call.Method == method {
			names = append(names, call.Name)
		}
	}
	w.engine.ResetJournal()
	return names
}

func TestStopAndStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.engine.ResetJournal()
	w.reconcile()
	w.expect("without annotation", state{5, false, false})

	w.setReported(metav1.ConditionTrue)
	w.edit(stopped)
	if result := w.reconcile(); result.RequeueAfter == 0 {
		t.Error("nothing looks whether the machines report it")
	}
	w.expect("machines report as before", state{0, false, false})
	order := w.calls("StopContainer")
	slices.Sort(order[:2])
	slices.Sort(order[2:4])
	if diff := gocmp.Diff([]string{"worker-1", "worker-2", "control-plane", "service", "lb"}, order); diff != "" {
		t.Errorf("stopped in another order: -want +got:\n%s", diff)
	}
	w.setReported(metav1.ConditionFalse)
	w.reconcile()
	w.expect("stopped", state{0, true, true})

	// An engine that restarts may start what was stopped.
	must.Succeed(t, w.engine.StartContainer(t.Context(), "worker-1"))
	w.reconcile()
	w.expect("stopped again", state{0, true, true})

	w.engine.ResetJournal()
	w.edit(started)
	w.node.Status.Conditions[0].Status = corev1.ConditionUnknown
	w.reconcile()
	w.expect("started", state{5, true, true})
	if order := w.calls("StartContainer"); order[0] != "lb" || !slices.Contains(order[1:3], "control-plane") {
		t.Errorf("started in the order %q", order)
	}
	if result := w.reconcile(); result.RequeueAfter == 0 {
		t.Error("nothing looks at the Nodes again")
	}
	w.expect("a Node is not Ready", state{5, true, true})
	w.node.Status.Conditions[0].Status = corev1.ConditionTrue
	w.reconcile()
	w.expect("in the end", state{5, false, false})
}

func TestDeletedWhileStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) { o.Cluster.Finalizers = []string{"test/keeps"} })
	w.edit(stopped)
	w.reconcile()
	w.expect("stopped", state{0, true, true})
	must.Succeed(t, w.client.Delete(t.Context(), w.cluster()))
	w.reconcile()
	w.expect("deleted", state{0, false, false})
}

// TestUserPauses: what a user keeps paused or stopped stays so, and is not waited for.
func TestUserPauses(t *testing.T) {
	t.Parallel()
	annotated := func(key string) func(*builders.Objects) {
		return func(o *builders.Objects) { o.ContainerMachine.Annotations = map[string]string{key: ""} }
	}
	cases := map[string]struct {
		change           func(*builders.Objects)
		stopped, started state
	}{
		"Cluster":               {func(o *builders.Objects) { o.Cluster.Spec.Paused = ptr.To(true) }, state{0, true, false}, state{5, true, false}},
		"machine":               {annotated(clusterv1.PausedAnnotation), state{0, true, true}, state{5, false, false}},
		"container, if stopped": {annotated(infrav1.MaintenanceAnnotation), state{0, true, true}, state{4, false, false}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tc.change)
			if name == "machine" {
				// Nothing corrects what a paused one reports.
				w.setReported(metav1.ConditionTrue)
			}
			w.edit(stopped)
			w.reconcile()
			w.expect("stopped", tc.stopped)
			w.edit(started)
			w.reconcile()
			w.reconcile()
			w.expect("started", tc.started)
		})
	}
}

// TestCrashingContainer: a container that exits after each start does not keep the Cluster
// paused, and is not started without end.
func TestCrashingContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.edit(stopped)
	w.reconcile()
	w.edit(started)
	w.engine.OnStart(func(name string) {
		if name == "worker-1" {
			must.Succeed(t, w.engine.KillContainer(name, 1, false))
		}
	})
	w.engine.ResetJournal()
	for range 600 {
		w.reconcile()
		w.clock.Step(time.Second)
	}
	w.expect("after ten minutes", state{4, false, false})
	starts := 0
	for _, name := range w.calls("StartContainer") {
		if name == "worker-1" {
			starts++
		}
	}
	if starts < 3 || starts > 12 {
		t.Errorf("the container was started %d times", starts)
	}
}

// sent are the Events so far.
func (w *world) sent() []string {
	var sent []string
	for {
		select {
		case event := <-w.recorded:
			sent = append(sent, event)
		default:
			return sent
		}
	}
}

// TestEvents: each end has one Event.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.edit(stopped)
	w.settle()
	w.edit(started)
	w.settle()
	want := []string{"Normal ClusterStopped 5 of 5 containers are stopped", "Normal ClusterStarted 5 of 5 containers are running"}
	if diff := gocmp.Diff(want, w.sent()); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

// TestBusyEngine: workers that wait for one engine leave the others to clusters on other engines.
func TestBusyEngine(t *testing.T) {
	t.Parallel()
	var containerCluster *infrav1.ContainerCluster
	w := newWorld(t, func(o *builders.Objects) {
		stopped(o.Cluster)
		containerCluster = o.ContainerCluster
		containerCluster.Spec.EngineName = "build"
	})
	w.reconciler.Slots = &engines.Slots{Limit: 1}
	leave, _ := w.reconciler.Slots.Enter(containerCluster)
	defer leave()
	if result := w.reconcile(); result.RequeueAfter != engines.BusyInterval {
		t.Errorf("it does not wait for a worker: %+v", result)
	}
}
