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
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network/lan"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// unplug the host of this index: no other reaches its containers further than this, and these reach no other.
func (w *spanWorld) unplug(index int, reach lan.Reach) {
	w.TB.Helper()
	unplugged := onLAN(index).Subnets[0].Dynamic
	for i, host := range hosts() {
		w.balancers[host].SetReach(func(address netip.Addr) lan.Reach {
			if i == index || unplugged.Contains(address) {
				return reach
			}
			return lan.Responds
		})
	}
}

// plug all hosts.
func (w *spanWorld) plug() {
	for _, balancers := range w.balancers {
		balancers.SetReach(nil)
	}
}

// lookAtCluster lets the cluster controller look. Cluster API has its infrastructure provisioned already, and its machines would be created.
func (w *spanWorld) lookAtCluster() {
	w.TB.Helper()
	for range 3 {
		w.connect()
		_, _ = w.ReconcileCluster()
	}
}

// probes that are left on the hosts.
func (w *spanWorld) probes() []string {
	w.TB.Helper()
	var names []string
	for _, host := range hosts() {
		selector := map[string]string{identity.LabelRole: string(identity.RoleProbe)}
		for _, container := range must.Get(w.byHost[host].ListContainers(context.WithoutCancel(w.TB.Context()), selector))(w.TB) {
			names = append(names, container.Name)
		}
	}
	return names
}

// TestHostsNotConnected: nothing is created while a host does not reach another, or large packets do not arrive. The condition names both,
// and it is lifted by itself.
func TestHostsNotConnected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		index int
		reach lan.Reach
		want  []string
	}{
		"unplugged":       {2, lan.Silent, []string{`"a" with "c": no response`, "one LAN"}},
		"first unplugged": {0, lan.Silent, []string{`"a" with "b", "c": no response`, "one LAN"}},
		"small packets":   {1, lan.Connects, []string{`to ContainerEngine "a" from "b"`, "MTU"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := beginSpanWorld(t)
			w.unplug(test.index, test.reach)
			w.lookAtCluster()
			w.restart()
			w.lookAtCluster()
			state, message := world.State(w.cluster(), infrav1.NetworkReadyCondition)
			if state != "False/"+infrav1.NetworkUnusableReason {
				t.Errorf("%s: %s", state, message)
			}
			for _, part := range test.want {
				if !strings.Contains(message, part) {
					t.Errorf("message %q lacks %q", message, part)
				}
			}
			if left := w.addresses(hosts()...); len(left) > 0 {
				t.Errorf("containers %v were created", left)
			}
			w.plug()
			w.lookAtCluster()
			if state, message := world.State(w.cluster(), infrav1.ClusterReadyCondition); state != "True/Ready" {
				t.Errorf("afterwards %s: %s", state, message)
			}
			// What stands is not asked again.
			w.unplug(test.index, test.reach)
			w.restart()
			w.lookAtCluster()
			if state, message := world.State(w.cluster(), infrav1.ClusterReadyCondition); state != "True/Ready" {
				t.Errorf("once it was created %s: %s", state, message)
			}
		})
	}
}

// TestHostsAreAskedOnce: one probe on each engine.
func TestHostsAreAskedOnce(t *testing.T) {
	t.Parallel()
	w := beginSpanWorld(t)
	made := map[string]int{}
	w.Calls.Hook(func(call simulated.Call) error {
		if strings.Contains(call.Name, "-probe-") {
			made[call.Method]++
		}
		return nil
	}, nil)
	w.lookAtCluster()
	w.look()
	if diff := gocmp.Diff(map[string]int{"CreateContainer": 1}, made); diff != "" {
		t.Errorf("calls by the name of the probe (-want +got):\n%s", diff)
	}
	if left := w.probes(); len(left) > 0 {
		t.Errorf("probes %v are left", left)
	}
}

// TestHostsNeedTheImage: an engine that pulls the image of the load balancer is waited for.
func TestHostsNeedTheImage(t *testing.T) {
	t.Parallel()
	w := beginSpanWorld(t)
	w.byHost["c"].RemoveImage(builders.LoadBalancerImage)
	w.lookAtCluster()
	state, message := world.State(w.cluster(), infrav1.LoadBalancerReadyCondition)
	if !strings.Contains(state, "ImagePull") {
		t.Errorf("%s: %s", state, message)
	}
	if left := w.addresses(hosts()...); len(left) > 0 {
		t.Errorf("containers %v were created", left)
	}
	w.byHost["c"].AddImage(engine.Image{Tags: []string{builders.LoadBalancerImage}}, nil)
	w.lookAtCluster()
	if state, message := world.State(w.cluster(), infrav1.ClusterReadyCondition); state != "True/Ready" {
		t.Errorf("afterwards %s: %s", state, message)
	}
}

// reconcileInterval is more than what was refused is not tried again for.
const reconcileInterval = 20 * time.Second

// disturbedSpan is a world with several engines and a fault in it.
type disturbedSpan struct{ *spanWorld }

// LoseStatus implements faults.World.
func (d disturbedSpan) LoseStatus() {}

// Revive implements faults.World.
func (d disturbedSpan) Revive() {
	d.restart()
	d.connect()
}

// RestartEngine implements faults.World.
func (d disturbedSpan) RestartEngine() { d.byHost["b"].RestartEngine() }

// state of the objects and the containers.
func (d disturbedSpan) state() []string {
	d.TB.Helper()
	containers := d.addresses(hosts()...)
	return append(d.Versions(), slices.Sorted(maps.Keys(containers))...)
}

// create lets the cluster controller look until it has changed nothing three times.
func (d disturbedSpan) create(f faults.Fault) *faults.Injector {
	d.TB.Helper()
	injector := d.arm(f)
	d.settle(injector)
	return injector
}

func (d disturbedSpan) arm(f faults.Fault) *faults.Injector {
	d.TB.Helper()
	d.connect()
	injector := f.Arm(d)
	// Observers of hosts list what managers left, and streams of events begin, concurrently.
	unlessConcurrent := func(strike func(simulated.Call) error) func(simulated.Call) error {
		return func(call simulated.Call) error {
			if call.Method == "ListContainers" || call.Method == "Events" {
				return nil
			}
			return strike(call)
		}
	}
	for _, host := range hosts() {
		d.byHost[host].OnCall(unlessConcurrent(injector.BeforeCall))
		d.byHost[host].AfterCall(unlessConcurrent(injector.AfterCall))
	}
	d.Writes.Hook(
		func(world.Write) error { return injector.BeforeWrite() },
		func(world.Write) error { return injector.AfterWrite() },
	)
	return injector
}

func (d disturbedSpan) settle(injector *faults.Injector) {
	d.TB.Helper()
	if !injector.Settle(d.state, func() {
		_, _ = d.ReconcileCluster()
		d.Clock.SetTime(d.Clock.Now().Add(reconcileInterval))
	}) {
		d.TB.Error("the work does not end")
	}
}

// TestHostsFaults: whatever fails while the hosts are checked, the cluster is created in the end, and no probe is left.
func TestHostsFaults(t *testing.T) {
	t.Parallel()
	kinds := faults.Of(faults.Killed, faults.Refused, faults.Restarted)
	faults.Each(t, kinds, func(t *testing.T, f faults.Fault) *faults.Injector {
		t.Helper()
		d := disturbedSpan{beginSpanWorld(t)}
		injector := d.create(f)
		if state, message := world.State(d.cluster(), infrav1.ClusterReadyCondition); state != "True/Ready" {
			t.Errorf("%s: %s", state, message)
		}
		if left := d.probes(); len(left) > 0 {
			t.Errorf("probes %v are left", left)
		}
		return injector
	})
}

// TestHostsDeletedHalfWay: the cluster is deleted after its manager was killed while it checked the hosts. Nothing is left.
func TestHostsDeletedHalfWay(t *testing.T) {
	t.Parallel()
	whole := disturbedSpan{beginSpanWorld(t)}.create(faults.Fault{})
	left := 0
	for _, f := range whole.Faults() {
		if f.Kind != faults.Killed {
			continue
		}
		d := disturbedSpan{beginSpanWorld(t)}
		injector := d.arm(f)
		for looks := 0; looks < 5 && !injector.Struck(); looks++ {
			injector.Guard(func() { _, _ = d.ReconcileCluster() })
		}
		left += len(d.probes())
		for _, name := range machines() {
			world.Purge(d.World, name, &infrav1.ContainerMachine{})
		}
		world.Delete(d.World, builders.Cluster, &infrav1.ContainerCluster{})
		d.settle(injector)
		if _, exists := world.Get(d.World, builders.Cluster, &infrav1.ContainerCluster{}); exists {
			t.Errorf("%s: the cluster is not deleted", f)
		}
		if containers := d.addresses(hosts()...); len(containers) > 0 {
			t.Errorf("%s: containers %v are left", f, containers)
		}
	}
	if left == 0 {
		t.Error("no manager was killed while there was a probe")
	}
}
