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
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/containerengine"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/engineobjects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// hosts of a cluster over several engines.
func hosts() []string { return []string{"a", "b", "c"} }

// spanWorld has a cluster over three engines, with three control planes. The engine of the world is that of host a.
type spanWorld struct {
	*world.World

	controller *containerengine.Reconciler
	byHost     map[string]*simulated.Engine
	balancers  map[string]*simulatedhaproxy.Processes
}

// onLAN is the network of the host at this index.
func onLAN(index int) engine.Network {
	dynamic := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 88, 0, byte(192 + 16*index)}), 28)
	return engine.Network{Name: "lan", Driver: "macvlan", Subnets: []engine.Subnet{{
		Prefix: netip.MustParsePrefix("10.88.0.0/24"), Gateway: netip.MustParseAddr("10.88.0.1"), Dynamic: dynamic,
	}}}
}

func machines() []string { return []string{builders.Machine, "m2", "m3"} }

func newSpanWorld(t *testing.T) *spanWorld {
	t.Helper()
	w := beginSpanWorld(t)
	w.look()
	return w
}

// beginSpanWorld returns a world in which no controller has looked.
func beginSpanWorld(t *testing.T) *spanWorld {
	t.Helper()
	key, known := engineobjects.Key(t)
	objects := builders.New(builders.ControlPlane(builders.JoinControlPlaneData), func(o *builders.Objects) {
		spec := &o.ContainerCluster.Spec
		spec.EngineNames, spec.Network.Name, spec.FailureDomains = hosts(), "lan", nil
		o.Machine.Spec.FailureDomain = ""
		o.Others = append(o.Others, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: "credentials"},
			Data:       map[string][]byte{infrav1.EngineSSHKeyKey: key, infrav1.EngineKnownHostsKey: known},
		})
		for _, host := range hosts() {
			o.Others = append(o.Others, &infrav1.ContainerEngine{
				ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: host},
				Spec:       infrav1.ContainerEngineSpec{Endpoint: "ssh://me@" + host, CredentialsSecretName: "credentials"},
			})
		}
		for _, name := range machines()[1:] {
			machine, containerMachine := builders.MachinePair(name)
			builders.MakeControlPlane(machine)
			containerMachine.Labels[clusterv1.MachineControlPlaneLabel] = ""
			machine.Spec.FailureDomain = ""
			o.Others = append(o.Others, machine, containerMachine, builders.DataSecret(name, builders.JoinControlPlaneData))
		}
	})
	w := &spanWorld{World: world.New(t, objects), byHost: map[string]*simulated.Engine{}, balancers: map[string]*simulatedhaproxy.Processes{}}
	for index, host := range hosts() {
		made := &world.Host{Engine: w.Engine, LoadBalancers: w.LoadBalancers, Nodes: w.Nodes}
		if index > 0 {
			made = w.NewHost()
		}
		made.Engine.AddNetwork(onLAN(index))
		made.Nodes.FirstBoot(record.Done)
		w.byHost[host], w.balancers[host] = made.Engine, made.LoadBalancers
	}
	w.restart()
	return w
}

// restart the manager.
func (w *spanWorld) restart() {
	w.TB.Helper()
	w.Restart()
	registry := engines.New(engines.Own(simulated.New()), engines.Options{Open: engineobjects.Open(map[string]engine.Engine{
		"a": kept{w.byHost["a"]}, "b": kept{w.byHost["b"]}, "c": kept{w.byHost["c"]},
	})})
	w.controller = &containerengine.Reconciler{
		Client: w.Cluster.Client, Engines: registry, Events: w.Events, Allowed: must.Get(endpoint.ParseAllowed([]string{"ssh://a", "ssh://b", "ssh://c"}))(w.TB),
	}
	w.Engines, w.Cluster.Engines, w.Machine.Engines, w.Pool.Engines = registry, registry, registry, registry
}

// kept is an engine that other clients connect to after one has gone.
type kept struct{ engine.Engine }

// Close implements engine.Host.
func (kept) Close() error { return nil }

// look lets all controllers look as often as they change anything.
func (w *spanWorld) look() {
	w.TB.Helper()
	for range 6 {
		w.connect()
		_, _ = w.ReconcileCluster()
		for _, name := range machines() {
			_, _ = w.ReconcileMachine(name)
		}
	}
}

// connect the manager to the engines.
func (w *spanWorld) connect() {
	w.TB.Helper()
	for _, host := range hosts() {
		_, _ = w.controller.Reconcile(w.TB.Context(), ctrl.Request{NamespacedName: named(host)})
		if w.Engines.Connection(named(host)) != nil {
			w.On(w.Engines, named(host))
		}
	}
}

// engineOf a machine, by its record.
func (w *spanWorld) engineOf(name string) string {
	w.TB.Helper()
	machine, _ := world.Get(w.World, name, &infrav1.ContainerMachine{})
	return machine.Annotations[infrav1.EngineNameAnnotation]
}

func (w *spanWorld) cluster() *infrav1.ContainerCluster {
	w.TB.Helper()
	cluster, _ := world.Get(w.World, builders.Cluster, &infrav1.ContainerCluster{})
	return cluster
}

func (w *spanWorld) setLost(host string, lost bool) {
	w.TB.Helper()
	world.Edit(w.World, host, &infrav1.ContainerEngine{}, func(e *infrav1.ContainerEngine) { e.Spec.Lost = ptr.To(lost) })
}

// addresses of all containers by their names, on the hosts; one address of two containers is an error.
func (w *spanWorld) addresses(on ...string) map[string]string {
	w.TB.Helper()
	byName, holders := map[string]string{}, map[string]string{}
	for _, host := range on {
		for _, container := range must.Get(w.byHost[host].ListContainers(context.WithoutCancel(w.TB.Context()), nil))(w.TB) {
			address := container.Labels[identity.LabelAddress]
			if other, taken := holders[address]; taken && address != "" {
				w.TB.Errorf("containers %s and %s have address %s", other, container.Name, address)
			}
			holders[address], byName[container.Name] = container.Name, address
		}
	}
	return byName
}

func (w *spanWorld) has(host, container string) bool {
	w.TB.Helper()
	_, err := w.byHost[host].InspectContainer(w.TB.Context(), container)
	return err == nil
}

// TestClusterOverSeveralEngines: each control plane is on another engine, the load balancer leads to all of them, and no address is given twice.
func TestClusterOverSeveralEngines(t *testing.T) {
	t.Parallel()
	w := newSpanWorld(t)
	var on []string
	for _, name := range machines() {
		machine, _ := world.Get(w.World, name, &infrav1.ContainerMachine{})
		if state, message := world.State(machine, infrav1.ContainerReadyCondition); state != "True/"+infrav1.ContainerRunningReason {
			t.Errorf("machine %s is %s: %s", name, state, message)
		}
		host := w.engineOf(name)
		if on = append(on, host); !w.has(host, builders.Container(name)) {
			t.Errorf("machine %s is not on %s, which it records", name, host)
		}
		if machine.Status.FailureDomain != host {
			t.Errorf("machine %s is in failure domain %q, and on %q", name, machine.Status.FailureDomain, host)
		}
	}
	if slices.Sort(on); !slices.Equal(on, hosts()) {
		t.Errorf("machines are on %v, want one on each", on)
	}
	cluster := w.cluster()
	if state, message := world.State(cluster, infrav1.ClusterReadyCondition); state != "True/Ready" {
		t.Errorf("the cluster is %s: %s", state, message)
	}
	balancer := builders.Owner().LoadBalancerContainer()
	addresses := w.addresses(hosts()...)
	if !w.has(cluster.Spec.EngineName, balancer) || addresses[balancer] != cluster.Spec.ControlPlaneEndpoint.Host {
		t.Errorf("engine %q, endpoint %q, containers %v", cluster.Spec.EngineName, cluster.Spec.ControlPlaneEndpoint.Host, addresses)
	}
	var domains []string
	for _, domain := range cluster.Status.FailureDomains {
		domains = append(domains, domain.Name)
	}
	if diff := gocmp.Diff(hosts(), domains); diff != "" {
		t.Errorf("failure domains (-want +got):\n%s", diff)
	}
	if got := w.balancers[cluster.Spec.EngineName].Weights(balancer); len(got) != 3 {
		t.Errorf("backends %v, want 3", got)
	}
}

// TestHostLost: while a host only does not respond, nothing is created elsewhere. Once it is lost, the load balancer is created on another
// one with its address, what its machines have is held until it is back, and is removed then before anything new comes there.
func TestHostLost(t *testing.T) {
	t.Parallel()
	w := newSpanWorld(t)
	home, endpointBefore := w.cluster().Spec.EngineName, w.cluster().Spec.ControlPlaneEndpoint
	balancer := builders.Owner().LoadBalancerContainer()
	at := slices.IndexFunc(machines(), func(name string) bool { return w.engineOf(name) == home })
	if at < 0 {
		t.Fatalf("no machine is on %s", home)
	}
	lost := machines()[at]
	before := w.addresses(hosts()...)
	rest := slices.DeleteFunc(hosts(), func(host string) bool { return host == home })

	w.byHost[home].Down()
	world.Delete(w.World, lost, &infrav1.ContainerMachine{})
	w.look()
	w.restart()
	w.look()
	if _, exists := world.Get(w.World, lost, &infrav1.ContainerMachine{}); !exists || w.cluster().Spec.EngineName != home {
		t.Fatalf("an engine that only does not respond was given up: machine exists %t, load balancer on %s", exists, w.cluster().Spec.EngineName)
	}
	if got := w.addresses(rest...); len(got) != 2 {
		t.Errorf("containers %v, want those of two machines", got)
	}

	w.setLost(home, true)
	w.look()
	cluster := w.cluster()
	if cluster.Spec.EngineName == home || !w.has(cluster.Spec.EngineName, balancer) || cluster.Spec.ControlPlaneEndpoint != endpointBefore {
		t.Fatalf("load balancer on %q, endpoint %v, before %v", cluster.Spec.EngineName, cluster.Spec.ControlPlaneEndpoint, endpointBefore)
	}
	if got := w.addresses(rest...)[balancer]; got != endpointBefore.Host {
		t.Errorf("the load balancer has address %s, want that of the endpoint %s", got, endpointBefore.Host)
	}
	if _, exists := world.Get(w.World, lost, &infrav1.ContainerMachine{}); exists {
		t.Error("the machine on the lost engine is not released")
	}
	if slices.ContainsFunc(cluster.Status.FailureDomains, func(domain clusterv1.FailureDomain) bool { return domain.Name == home }) {
		t.Errorf("failure domains %v have the lost engine", cluster.Status.FailureDomains)
	}
	found, _ := world.Get(w.World, home, &infrav1.ContainerEngine{})
	want := []infrav1.EngineDebt{{
		Name: builders.OwnerID, ClusterName: builders.Cluster, OwnerID: builders.OwnerID,
		Containers: []string{balancer, builders.Container(lost)}, Addresses: []string{before[builders.Container(lost)]},
	}}
	slices.Sort(want[0].Containers)
	if diff := gocmp.Diff(want, found.Spec.Debts); diff != "" {
		t.Fatalf("debts (-want +got):\n%s", diff)
	}

	w.byHost[home].Up()
	w.setLost(home, false)
	w.look()
	if w.has(home, balancer) || w.has(home, builders.Container(lost)) {
		t.Error("the engine that is back still has what was left there")
	}
	if w.cluster().Spec.EngineName == home || !w.has(w.cluster().Spec.EngineName, balancer) {
		t.Errorf("the load balancer is on %s", w.cluster().Spec.EngineName)
	}
	if found, _ := world.Get(w.World, home, &infrav1.ContainerEngine{}); len(found.Spec.Debts) > 0 {
		t.Errorf("debts are left: %v", found.Spec.Debts)
	}
}

// TestLoadBalancerMoved: its user moves it to another engine. What a lost one may have of it is removed when that is back.
func TestLoadBalancerMoved(t *testing.T) {
	t.Parallel()
	w := newSpanWorld(t)
	balancer := builders.Owner().LoadBalancerContainer()
	home := w.cluster().Spec.EngineName
	rest := slices.DeleteFunc(hosts(), func(host string) bool { return host == home })
	move := func(to string) {
		t.Helper()
		world.Edit(w.World, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) { c.Spec.EngineName = to })
		w.look()
		if got := w.cluster().Spec.EngineName; got != to || !w.has(to, balancer) {
			t.Errorf("the load balancer is on %s, want %s", got, to)
		}
	}
	move(rest[0])
	if w.has(home, balancer) {
		t.Errorf("%s still has the load balancer", home)
	}
	w.byHost[rest[0]].Down()
	w.setLost(rest[0], true)
	move(rest[1])
	w.byHost[rest[0]].Up()
	w.setLost(rest[0], false)
	w.look()
	if w.has(rest[0], balancer) || !w.has(rest[1], balancer) {
		t.Errorf("%s has the load balancer: %t; %s: %t", rest[0], w.has(rest[0], balancer), rest[1], w.has(rest[1], balancer))
	}
}

// TestClusterOverSeveralEnginesDeleted: it is removed from all of them, and what a lost one has is recorded.
func TestClusterOverSeveralEnginesDeleted(t *testing.T) {
	t.Parallel()
	w := newSpanWorld(t)
	gone := "b"
	w.byHost[gone].Down()
	w.setLost(gone, true)
	for _, name := range machines() {
		world.Delete(w.World, name, &infrav1.ContainerMachine{})
	}
	world.Delete(w.World, builders.Cluster, &infrav1.ContainerCluster{})
	w.look()
	if _, exists := world.Get(w.World, builders.Cluster, &infrav1.ContainerCluster{}); exists {
		t.Fatal("the cluster is not released")
	}
	if left := w.addresses("a", "c"); len(left) > 0 {
		t.Errorf("containers %v are left", left)
	}
	found, _ := world.Get(w.World, gone, &infrav1.ContainerEngine{})
	if len(found.Spec.Debts) != 1 || found.Spec.Debts[0].NetworkName != "lan" || len(found.Spec.Debts[0].Addresses) == 0 {
		t.Fatalf("debts %+v", found.Spec.Debts)
	}
	w.byHost[gone].Up()
	w.setLost(gone, false)
	w.look()
	if left := w.addresses(gone); len(left) > 0 {
		t.Errorf("containers %v are left on the engine that is back", left)
	}
}

// TestSharedNetworkRefused: networks that are not one are refused before anything is created.
func TestSharedNetworkRefused(t *testing.T) {
	t.Parallel()
	w := newSpanWorld(t)
	other := onLAN(1)
	other.Subnets[0].Prefix = netip.MustParsePrefix("10.99.0.0/24")
	w.byHost["b"].AddNetwork(other)
	w.look()
	state, message := world.State(w.cluster(), infrav1.NetworkReadyCondition)
	if state != "False/"+infrav1.NetworkUnusableReason || !strings.Contains(message, "10.99.0.0/24") {
		t.Errorf("%s: %s", state, message)
	}
}
