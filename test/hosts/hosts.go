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

// Package hosts is a manager with the engines of many hosts, all in memory: those of ContainerEngines, each with a
// namespace of its own, in which there is at most one cluster of one machine.
//
// All controllers of the manager run, as they do in a management cluster. What Cluster API does is done by the test.
// It is for bubbles of testing/synctest, in which nothing of it takes time.
package hosts

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/engineobjects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
)

// Hosts of a manager.
type Hosts struct {
	tb    testing.TB
	api   *api
	hosts []*host
	// key and known are the credentials of all.
	key, known []byte
	own        *host
}

// host has one engine.
type host struct {
	namespace string
	engine    *simulated.Engine

	mutex sync.Mutex
	calls Calls
}

// engineName of each ContainerEngine.
const engineName = "build"

// New returns a manager with no engine but its own, and the hosts of others.
func New(tb testing.TB, count int) *Hosts {
	tb.Helper()
	h := &Hosts{tb: tb, api: newAPI(builders.Scheme(tb)), own: newHost("")}
	h.key, h.known = engineobjects.Key(tb)
	for i := range count {
		h.hosts = append(h.hosts, newHost(fmt.Sprintf("team%03d", i)))
	}
	return h
}

func newHost(namespace string) *host {
	one := &host{namespace: namespace, calls: Calls{}, engine: simulated.New(
		simulated.WithoutJournal(), simulated.WithInfo(engine.Info{Name: "simulated", Version: "29.1", StorageID: namespace, CPUs: 8, MemoryBytes: 16 << 30}),
	)}
	simulatedhaproxy.Run(one.engine)
	simulatednode.Run(one.engine).FirstBoot(record.Done)
	for _, image := range []string{builders.NodeImage, builders.LoadBalancerImage} {
		one.engine.AddImage(engine.Image{Tags: []string{image}}, nil)
	}
	one.engine.OnCall(func(call simulated.Call) error {
		one.mutex.Lock()
		defer one.mutex.Unlock()
		one.calls[call.Method]++
		return nil
	})
	return one
}

// Start the manager. Stop ends it, and waits until it has.
func (h *Hosts) Start() (stop func()) {
	h.tb.Helper()
	byHost := map[string]engine.Engine{}
	for _, one := range h.hosts {
		byHost[one.name()] = one.engine
	}
	mgr := newManager(h.tb, h.api)
	ctx, cancel := context.WithCancel(h.tb.Context())
	must.Succeed(h.tb, controllers.Setup(ctx, mgr, controllers.Options{
		Engine: h.own.engine, LoadBalancerImage: builders.LoadBalancerImage, ClusterCache: clustercache.NewFakeEmptyClusterCache(),
		Engines: engines.Options{Open: engineobjects.Open(byHost)}, AllowedEndpoints: must.Get(endpoint.ParseAllowed([]string{"ssh://*.example.org"}))(h.tb),
	}))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return func() {
		cancel()
		must.Succeed(h.tb, <-ended)
	}
}

func (h *host) name() string { return h.namespace + ".example.org" }

// Connect creates a ContainerEngine for each host.
func (h *Hosts) Connect() {
	h.tb.Helper()
	for _, one := range h.hosts {
		h.create(
			&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: one.namespace, Name: engineName},
				Data:       map[string][]byte{infrav1.EngineSSHKeyKey: h.key, infrav1.EngineKnownHostsKey: h.known},
			},
			&infrav1.ContainerEngine{
				ObjectMeta: metav1.ObjectMeta{Namespace: one.namespace, Name: engineName},
				Spec:       infrav1.ContainerEngineSpec{Endpoint: "ssh://me@" + one.name(), CredentialsSecretName: engineName},
			})
	}
}

// CreateMachines creates a cluster with one control plane on each engine.
func (h *Hosts) CreateMachines() {
	h.tb.Helper()
	for _, one := range h.hosts {
		objects := builders.New(builders.ControlPlane(builders.InitData), func(o *builders.Objects) {
			o.ContainerCluster.Spec.EngineName, o.Machine.Spec.FailureDomain = engineName, ""
			o.ContainerCluster.Spec.OwnerID, o.ContainerCluster.Finalizers = "", nil
			o.Cluster.Finalizers = []string{clusterv1.ClusterFinalizer}
		}).All()
		for _, object := range objects {
			object.SetNamespace(one.namespace)
		}
		h.create(objects...)
	}
}

func (h *Hosts) create(objects ...client.Object) {
	h.tb.Helper()
	for _, object := range objects {
		must.Succeed(h.tb, h.api.Create(h.tb.Context(), object))
	}
}

// JoinNodes says of each Machine that it is a Node.
func (h *Hosts) JoinNodes() {
	h.tb.Helper()
	each(h, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{Name: m.Name}
		must.Succeed(h.tb, h.api.Status().Update(h.tb.Context(), m))
	})
}

// DeleteMachines deletes each of them; DeleteClusters does that with the rest once they are gone.
func (h *Hosts) DeleteMachines() {
	h.tb.Helper()
	each(h, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { h.delete(c) })
	each(h, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) { h.delete(m) })
	each(h, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) { h.delete(m) })
}

// DeleteClusters whose Machines are gone.
func (h *Hosts) DeleteClusters() {
	h.tb.Helper()
	each(h, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
		m.Finalizers = nil
		must.Succeed(h.tb, h.api.Update(h.tb.Context(), m))
	})
	each(h, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) { h.delete(c) })
}

// each object of a name, in all namespaces.
func each[T client.Object](h *Hosts, name string, object T, do func(T)) {
	h.tb.Helper()
	for _, one := range h.hosts {
		fresh, isObject := object.DeepCopyObject().(T)
		if !isObject {
			h.tb.Fatalf("a copy of %T is a %T", object, fresh)
		}
		must.Succeed(h.tb, h.api.Get(h.tb.Context(), client.ObjectKey{Namespace: one.namespace, Name: name}, fresh))
		do(fresh)
	}
}

func (h *Hosts) delete(object client.Object) {
	h.tb.Helper()
	must.Succeed(h.tb, h.api.Delete(h.tb.Context(), object))
}

// CheckReady fails the test unless all machines are.
func (h *Hosts) CheckReady() {
	h.tb.Helper()
	each(h, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
		if !conditions.IsTrue(m, infrav1.MachineReadyCondition) {
			h.tb.Errorf("machine in %s: %+v", m.Namespace, conditions.Get(m, infrav1.MachineReadyCondition))
		}
	})
}

// CheckEmpty fails the test if a cluster is left, or a container.
func (h *Hosts) CheckEmpty() {
	h.tb.Helper()
	left := &infrav1.ContainerClusterList{}
	must.Succeed(h.tb, h.api.List(h.tb.Context(), left))
	if len(left.Items) > 0 {
		h.tb.Errorf("%d ContainerClusters are left", len(left.Items))
	}
	for _, one := range h.hosts {
		if containers := must.Get(one.engine.ListContainers(h.tb.Context(), nil))(h.tb); len(containers) > 0 {
			h.tb.Errorf("%d containers are left on the engine of %s", len(containers), one.namespace)
		}
	}
}

// Calls of one engine, by method.
type Calls map[string]int

// Since are those after others.
func (c Calls) Since(before Calls) Calls {
	since := Calls{}
	for method, count := range c {
		if count > before[method] {
			since[method] = count - before[method]
		}
	}
	return since
}

// Calls of each engine so far.
func (h *Hosts) Calls() []Calls {
	all := make([]Calls, len(h.hosts))
	for i, one := range h.hosts {
		all[i] = one.made()
	}
	return all
}

// OwnCalls are those of the manager's own engine.
func (h *Hosts) OwnCalls() Calls { return h.own.made() }

func (h *host) made() Calls {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return maps.Clone(h.calls)
}

// Writes of the manager and of the test so far.
func (h *Hosts) Writes() int64 { return h.api.writes.Load() }

// Usage of this process.
type Usage struct {
	// Heap in bytes, after garbage collection.
	Heap       int64
	Goroutines int
}

// Used returns that of now.
func Used() Usage {
	// What a finalizer holds goes with the second one.
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return Usage{Heap: int64(stats.HeapAlloc), Goroutines: runtime.NumGoroutine()} //nolint:gosec // There is never so much.
}
