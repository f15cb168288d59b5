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

package controllers_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/engineobjects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// several is a manager with two engines of objects, each with a cluster.
type several struct {
	registry      *engines.Engines
	own           *simulated.Engine
	first, second *world.World
	// slow is the engine of the first.
	slow *engineobjects.Slow
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: builders.Namespace, Name: name}
}

func newSeveral(t *testing.T) *several {
	t.Helper()
	on := func(name string) *world.World {
		w := world.New(t, builders.New(func(o *builders.Objects) {
			o.ContainerCluster.Spec.EngineName, o.Machine.Spec.FailureDomain = name, ""
		}))
		w.Nodes.FirstBoot(record.Done)
		return w
	}
	s := &several{own: simulated.New(), first: on("first"), second: on("second")}
	s.slow = engineobjects.NewSlow(s.first.Engine)
	s.registry = engines.New(engines.Own(s.own), engines.Options{
		Open:         engineobjects.Open(map[string]engine.Engine{"first": s.slow, "second": s.second.Engine}),
		ProbeTimeout: 100 * time.Millisecond,
	})
	for name, w := range map[string]*world.World{"first": s.first, "second": s.second} {
		target := engineobjects.Target(t, name)
		target.Placement = engines.Placement{AdvertiseAddress: name + ".example.org", FailureDomain: "rack-" + name}
		must.Succeed(t, s.registry.Connect(t.Context(), named(name), target))
		w.On(s.registry, named(name))
	}
	must.Succeed(t, s.probe(t, "second"))
	return s
}

func (s *several) probe(t *testing.T, name string) error {
	t.Helper()
	_, err := s.registry.Probe(t.Context(), named(name), engineobjects.Accept)
	return err
}

// states of a world's cluster and machine.
func states(w *world.World) (ofCluster, ofMachine string) {
	cluster, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	machine, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	ofCluster, _ = world.State(cluster, infrav1.LoadBalancerReadyCondition)
	ofMachine, _ = world.State(machine, infrav1.ContainerReadyCondition)
	return ofCluster, ofMachine
}

// TestSeveralEngines: a cluster is on the engine that it names, whatever others do.
func TestSeveralEngines(t *testing.T) {
	t.Parallel()
	const unavailable, ready, running = "Unknown/" + infrav1.EngineUnavailableReason, "True/Ready", "True/" + infrav1.ContainerRunningReason
	s := newSeveral(t)
	expect := func(when string, w *world.World, wantCluster, wantMachine string) {
		t.Helper()
		for range 3 {
			_, _ = w.ReconcileCluster()
			_, _ = w.ReconcileMachine(builders.Machine)
		}
		if cluster, machine := states(w); cluster != wantCluster || machine != wantMachine {
			t.Errorf("%s: the cluster is %s and the machine %s, want %s and %s", when, cluster, machine, wantCluster, wantMachine)
		}
	}
	expect("not connected to yet", s.first, unavailable, unavailable)
	if calls := s.first.Engine.MutatingCalls(); len(calls) > 1 { // The world has made the network.
		t.Errorf("changed an engine that was not reached: %v", calls)
	}
	must.Succeed(t, s.probe(t, "first"))
	s.first.SettleCluster()
	s.first.SettleMachine(builders.Machine)
	expect("connected", s.first, ready, running)

	s.slow.Delay(time.Hour)
	start := time.Now()
	if err := s.probe(t, "first"); err == nil {
		t.Fatal("an engine that hangs responds")
	}
	created := func() int {
		calls := slices.DeleteFunc(s.first.Engine.MutatingCalls(), func(c simulated.Call) bool { return c.Method == "Exec" })
		return len(calls)
	}
	before := created()
	expect("hangs", s.first, unavailable, unavailable)
	s.second.SettleCluster()
	s.second.SettleMachine(builders.Machine)
	expect("the other one does not", s.second, ready, running)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	s.slow.Delay(0)
	must.Succeed(t, s.probe(t, "first"))
	expect("responds again", s.first, ready, running)
	if after := created(); after != before {
		t.Errorf("%d calls that change something, %d before", after, before)
	}
	if calls := s.own.Journal(); len(calls) > 0 {
		t.Errorf("called the manager's own engine: %v", calls)
	}
}

// TestEndpointOnAnotherHost: what is published there is the endpoint, because no client reaches its networks.
func TestEndpointOnAnotherHost(t *testing.T) {
	t.Parallel()
	s := newSeveral(t)
	w := s.second
	w.SettleCluster()
	w.SettleMachine(builders.Machine)
	check := func(when string) {
		t.Helper()
		cluster, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
		spec := cluster.Spec
		if spec.ControlPlaneEndpoint.Host != "second.example.org" || spec.ControlPlaneEndpoint.Port != spec.LoadBalancer.HostPort ||
			spec.LoadBalancer.HostPort == 0 || spec.LoadBalancer.HostAddress != "0.0.0.0" {
			t.Errorf("%s: endpoint %+v, load balancer %+v", when, spec.ControlPlaneEndpoint, spec.LoadBalancer)
		}
		container := must.Get(w.Engine.InspectContainer(t.Context(), builders.Owner().LoadBalancerContainer()))(t)
		publishes := func(p engine.PortBinding) bool {
			return p.ContainerPort == 6443 && int32(p.HostPort) == spec.LoadBalancer.HostPort && p.HostAddress == netip.IPv4Unspecified()
		}
		if !slices.ContainsFunc(container.Ports, publishes) {
			t.Errorf("%s: the load balancer publishes %v, want 6443 on 0.0.0.0:%d", when, container.Ports, spec.LoadBalancer.HostPort)
		}
	}
	check("created")
	machine, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if got := machine.Annotations[infrav1.EngineNameAnnotation]; got != "second" {
		t.Errorf("the machine is recorded on %q", got)
	}
	container := must.Get(w.Engine.InspectContainer(t.Context(), builders.Container(builders.Machine)))(t)
	if got := container.Labels[identity.LabelFailureDomain]; got != "rack-second" {
		t.Errorf("the machine's failure domain is %q", got)
	}
	must.Succeed(t, w.Engine.RemoveContainer(t.Context(), builders.Owner().LoadBalancerContainer()))
	w.SettleCluster()
	check("created again")
	// A machine outlives the object of its cluster, and is removed from its engine all the same.
	world.Purge(w, builders.Cluster, &infrav1.ContainerCluster{})
	world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
	w.SettleMachine(builders.Machine)
	if _, err := w.Engine.InspectContainer(t.Context(), builders.Container(builders.Machine)); err == nil {
		t.Error("the container is left on its engine")
	}
}

// TestMaintenance: no cluster is created on the engine, and one that was started is completed.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	s := newSeveral(t)
	maintain := func(maintenance bool) {
		t.Helper()
		target := engineobjects.Target(t, "second")
		target.Placement = engines.Placement{AdvertiseAddress: "second.example.org", Maintenance: maintenance}
		must.Succeed(t, s.registry.Connect(t.Context(), named("second"), target))
	}
	maintain(true)
	w := s.second
	before := len(w.Engine.MutatingCalls())
	for range 3 {
		_, _ = w.ReconcileCluster()
	}
	cluster, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	state, message := world.State(cluster, infrav1.PreflightPassedCondition)
	if state != "False/"+infrav1.EngineInMaintenanceReason || !strings.Contains(message, "spec.maintenance") || len(w.Engine.MutatingCalls()) != before {
		t.Errorf("%s, %s; calls %v", state, message, w.Engine.MutatingCalls())
	}
	maintain(false)
	w.SettleCluster()
	maintain(true)
	w.SettleMachine(builders.Machine)
	w.SettleCluster()
	if ofCluster, ofMachine := states(w); ofCluster != "True/Ready" || ofMachine != "True/"+infrav1.ContainerRunningReason {
		t.Errorf("the cluster is %s and the machine %s", ofCluster, ofMachine)
	}
}
