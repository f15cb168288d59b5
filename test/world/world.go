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

// Package world is an API server and a container engine, both in memory, with
// the controllers of this provider between them.
//
// Nothing happens in it by itself: a test lets the controllers look, makes
// things happen, kills the manager, and looks at what there is.
package world

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/controllers/machine"
	"github.com/capi-samples/cluster-api-provider-container/controllers/machinepool"
	nodes "github.com/capi-samples/cluster-api-provider-container/controllers/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
)

// World is an API server and an engine with one cluster.
type World struct {
	TB testing.TB
	// Client is the API server as a user sees it. What the controllers write
	// is counted apart.
	Client client.WithWatch
	Engine *simulated.Engine
	// LoadBalancers and Nodes are what runs in containers.
	LoadBalancers *simulatedhaproxy.Processes
	Nodes         *simulatednode.Nodes
	Clock         *testclock.FakePassiveClock
	Events        *Recorder
	// Calls and Writes are what the controllers did.
	Calls  *Calls
	Writes *Writes
	// ClusterCache of the machine controller; set it before Restart.
	ClusterCache clustercache.ClusterCache

	// Exits is what the manager recorded of containers that ended.
	Exits *engineevents.Exits

	// Engines of the manager that lives now.
	Engines *engines.Engines

	// Cluster, Machine and Pool are the reconcilers of the manager that lives now.
	Cluster *cluster.Reconciler
	Machine *machine.Reconciler
	Pool    *machinepool.Reconciler

	// hosts that NewHost made.
	hosts int
}

// New returns a world that begins with the objects. The images of builders
// are on the engine, and the default network; the load balancer is not.
func New(tb testing.TB, objects *builders.Objects) *World {
	tb.Helper()
	clock := testclock.NewFakePassiveClock(time.Now().Truncate(time.Second))
	w := &World{
		TB:           tb,
		Client:       APIServer(builders.Scheme(tb), objects.All()),
		Engine:       simulated.New(simulated.WithClock(clock.Now)),
		Clock:        clock,
		Events:       &Recorder{},
		Calls:        &Calls{},
		Writes:       &Writes{},
		ClusterCache: clustercache.NewFakeEmptyClusterCache(),
	}
	w.LoadBalancers = simulatedhaproxy.Run(w.Engine)
	w.Nodes = simulatednode.Run(w.Engine)
	addImages(w.Engine)
	if _, err := network.Ensure(tb.Context(), w.Engine, network.Request{}); err != nil {
		tb.Fatal(err)
	}
	w.Calls.count(w.Engine)
	w.Restart()
	return w
}

func addImages(eng *simulated.Engine) {
	for _, image := range []string{builders.NodeImage, builders.LoadBalancerImage} {
		eng.AddImage(engine.Image{Tags: []string{image}}, nil)
	}
}

// Host is another engine, with the same images.
type Host struct {
	Engine        *simulated.Engine
	LoadBalancers *simulatedhaproxy.Processes
	Nodes         *simulatednode.Nodes
}

// NewHost returns another engine with the clock of the world.
func (w *World) NewHost() *Host {
	h := &Host{Engine: simulated.New(simulated.WithClock(w.Clock.Now))}
	w.hosts++
	h.Engine.SwitchStorage(fmt.Sprintf("host-%d", w.hosts)) // Each engine has its own.
	h.LoadBalancers, h.Nodes = simulatedhaproxy.Run(h.Engine), simulatednode.Run(h.Engine)
	addImages(h.Engine)
	return h
}

// OtherManagement returns another management cluster on the same engine, which begins with the
// objects.
func (w *World) OtherManagement(objects *builders.Objects) *World {
	w.TB.Helper()
	other := *w
	other.Client = APIServer(builders.Scheme(w.TB), objects.All())
	other.Events, other.Calls, other.Writes = &Recorder{}, &Calls{}, &Writes{}
	other.Calls.count(w.Engine)
	other.Restart()
	return &other
}

// APIServer returns an API server in memory that has the objects.
func APIServer(scheme *runtime.Scheme, objects []client.Object) client.WithWatch {
	// The one that a builder makes by itself tracks the owners of fields too,
	// which takes most of a test's time.
	tracker := clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(tracker).WithObjects(objects...).
		WithStatusSubresource(&infrav1.ContainerMachine{}, &infrav1.ContainerCluster{}, &infrav1.ContainerMachinePool{},
			&infrav1.ContainerEngine{}, &clusterv1.Machine{}, &clusterv1.MachinePool{}, &clusterv1.Cluster{}).
		Build()
}

// Restart replaces the manager by one without state.
func (w *World) Restart() {
	w.TB.Helper()
	counted := w.Writes.wrap(w.Client)
	host := hostinfo.NewKnown(w.Engine, facts())
	w.Exits = engineevents.NewExits(w.Clock)
	w.Engines = engines.New(&engines.Connection{Engine: w.Engine, Images: imagepull.NewTracker(w.Engine), Host: host}, engines.Options{})
	w.Cluster = &cluster.Reconciler{
		Client: counted, Engines: w.Engines, Events: w.Events,
		LoadBalancerImage: builders.LoadBalancerImage, Clock: w.Clock, Exits: w.Exits,
	}
	w.Machine = &machine.Reconciler{
		Client: counted, Engines: w.Engines, Events: w.Events,
		Nodes:        &nodes.Reconciler{Client: counted, Live: w.Client, Events: w.Events, ClusterCache: w.ClusterCache},
		ClusterCache: w.ClusterCache, Clock: w.Clock, Exits: w.Exits, Live: w.Client,
	}
	w.Pool = &machinepool.Reconciler{Client: counted, Live: w.Client, Engines: w.Engines, Events: w.Events}
}

// On lets the reconcilers find the world's engine by the name of a ContainerEngine. Its host lacks nothing.
func (w *World) On(registry *engines.Engines, name types.NamespacedName) {
	w.TB.Helper()
	connection := registry.Connection(name)
	connection.Host = hostinfo.NewKnown(connection.Engine, facts())
	w.Engines = registry
	w.Cluster.Engines, w.Machine.Engines, w.Pool.Engines = registry, registry, registry
}

// facts of a host that lacks nothing.
func facts() hostinfo.Facts {
	return hostinfo.Facts{
		Node: node.Host{CgroupVersion: "2", MilliCPU: 8000, MemoryBytes: 32 << 30},
		Probed: preflight.Host{
			InotifyWatches: 1 << 20, InotifyInstances: 1 << 16, OpenFiles: 1 << 20,
			Capabilities: ^uint64(0), HasCapabilities: true, StorageFreeBytes: 1 << 40, StorageFreeInodes: 1 << 30,
			Processes: 1 << 20, PidMax: 1 << 22, ThreadsMax: 1 << 20, UserIDs: 1 << 32,
			BridgeNetfilter: 1, IPv6: 1,
		},
	}
}

// ReconcileCluster lets the cluster controller look once.
func (w *World) ReconcileCluster() (result ctrl.Result, err error) {
	w.Calls.during(func() { result, err = w.Cluster.Reconcile(w.TB.Context(), request(builders.Cluster)) })
	return result, err
}

// ReconcileMachine lets the machine controller look once at a machine.
func (w *World) ReconcileMachine(name string) (result ctrl.Result, err error) {
	w.Calls.during(func() { result, err = w.Machine.Reconcile(w.TB.Context(), request(name)) })
	return result, err
}

func request(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: builders.Namespace, Name: name}}
}

// Get reads an object; false where it is gone.
func Get[T client.Object](w *World, name string, object T) (T, bool) {
	w.TB.Helper()
	err := w.Client.Get(context.WithoutCancel(w.TB.Context()), client.ObjectKey{Namespace: builders.Namespace, Name: name}, object)
	if client.IgnoreNotFound(err) != nil {
		w.TB.Fatal(err)
	}
	return object, err == nil
}

// Edit changes an object as a user or another controller would.
func Edit[T client.Object](w *World, name string, object T, change func(T)) {
	w.TB.Helper()
	mustGet(w, name, object)
	change(object)
	if err := w.Client.Update(context.WithoutCancel(w.TB.Context()), object); err != nil {
		w.TB.Fatal(err)
	}
}

// EditStatus is Edit for status.
func EditStatus[T client.Object](w *World, name string, object T, change func(T)) {
	w.TB.Helper()
	mustGet(w, name, object)
	change(object)
	if err := w.Client.Status().Update(context.WithoutCancel(w.TB.Context()), object); err != nil {
		w.TB.Fatal(err)
	}
}

// Delete asks the API server to delete an object.
func Delete[T client.Object](w *World, name string, object T) {
	w.TB.Helper()
	mustGet(w, name, object)
	if err := w.Client.Delete(context.WithoutCancel(w.TB.Context()), object); err != nil {
		w.TB.Fatal(err)
	}
}

// Purge removes an object immediately, finalizers or not.
func Purge[T client.Object](w *World, name string, object T) {
	w.TB.Helper()
	Edit(w, name, object, func(object T) { object.SetFinalizers(nil) })
	if _, there := Get(w, name, object); there {
		Delete(w, name, object)
	}
}

func mustGet[T client.Object](w *World, name string, object T) {
	w.TB.Helper()
	if _, there := Get(w, name, object); !there {
		w.TB.Fatalf("%T %s is gone", object, name)
	}
}

// Recorder keeps the Events that the controllers send.
type Recorder struct {
	mutex sync.Mutex
	sent  []string
}

// Eventf implements events.EventRecorder.
func (r *Recorder) Eventf(_, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.sent = append(r.sent, strings.Join([]string{eventType, reason, fmt.Sprintf(note, args...)}, " "))
}

// Sent returns the Events so far: type, reason and note.
func (r *Recorder) Sent() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]string(nil), r.sent...)
}
