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
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// poolWork is a piece of work on a pool of two that is disturbed.
type poolWork struct {
	// setup makes it due.
	setup func(w *world.World)
	// fresh begins with a pool that was never looked at.
	fresh bool
	// wanted is how many instances there are at the end.
	wanted int
	// least is how many Nodes there are at all times.
	least int
	// version that all are made for at the end.
	version string
}

func poolWorks() map[string]poolWork {
	replicas := func(count int32) func(*world.World) {
		return func(w *world.World) {
			world.Edit(w, builders.Pool, &clusterv1.MachinePool{}, func(m *clusterv1.MachinePool) { m.Spec.Replicas = ptr.To(count) })
		}
	}
	return map[string]poolWork{
		"Create":    {fresh: true, wanted: 2, version: "v1.36.3"},
		"ScaleUp":   {setup: replicas(3), wanted: 3, least: 2, version: "v1.36.3"},
		"ScaleDown": {setup: replicas(1), wanted: 1, least: 1, version: "v1.36.3"},
		"RollOut": {setup: func(w *world.World) {
			world.Edit(w, builders.Pool, &clusterv1.MachinePool{}, func(m *clusterv1.MachinePool) { m.Spec.Template.Spec.Version = "v1.36.4" })
		}, wanted: 2, least: 2, version: "v1.36.4"},
		"Replace": {setup: func(w *world.World) {
			_ = w.Engine.RemoveContainer(w.TB.Context(), builders.Container(w.ContainerMachines()[0].Name))
		}, wanted: 2, least: 1, version: "v1.36.3"},
		"Delete": {setup: func(w *world.World) {
			world.Edit(w, builders.Pool, &clusterv1.MachinePool{}, func(m *clusterv1.MachinePool) { m.Finalizers = []string{clusterv1.MachinePoolFinalizer} })
			world.Delete(w, builders.Pool, &clusterv1.MachinePool{})
			world.Delete(w, builders.Pool, &infrav1.ContainerMachinePool{})
		}},
	}
}

// TestPoolFaults is TestFaults for pools: whatever write is cut off, the pool
// ends with as many instances as are wanted, each with its Machine and its
// container and nothing else, and never had fewer Nodes than there had
// to be, nor more than one instance too many. A pool only lists containers of the
// engine, and what disturbs its machines there is in TestFaults.
func TestPoolFaults(t *testing.T) {
	t.Parallel()
	for name, work := range poolWorks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted := func(f faults.Fault) bool { return f.Target == faults.APIWrite && f.Kind != faults.Forgotten }
			faults.Each(t, wanted, work.run)
		})
	}
}

func (p poolWork) run(t *testing.T, f faults.Fault) *faults.Injector {
	t.Helper()
	w := world.New(t, builders.New(builders.MachinePool(2)))
	w.Nodes.FirstBoot(record.Done)
	if !p.fresh {
		w.SettlePool()
		p.setup(w)
	}
	injector := disturbed{w, nil}.arm(f)
	quiet := 0
	for looks := 0; quiet < 3; looks++ {
		if looks == 80 {
			t.Fatalf("the work does not end; the last mutations: %v", w.Mutations())
		}
		versions := w.Versions()
		injector.Guard(func() { w.LookAtPool() })
		p.checkMeanwhile(t, w)
		quiet++
		if !slices.Equal(versions, w.Versions()) {
			quiet = 0
			injector.Mark()
		}
	}
	p.checkEnd(t, w)
	return injector
}

// checkMeanwhile is what holds at each moment.
func (p poolWork) checkMeanwhile(t *testing.T, w *world.World) {
	t.Helper()
	nodes, staying := 0, 0
	for _, machine := range w.Machines() {
		if !machine.DeletionTimestamp.IsZero() {
			continue
		}
		staying++
		if machine.Status.NodeRef.IsDefined() {
			nodes++
		}
	}
	if nodes < p.least {
		t.Errorf("only %d instances are Nodes", nodes)
	}
	// A scale-down begins with two.
	if staying > max(p.wanted+1, 2) {
		t.Errorf("there are %d instances, want %d", staying, p.wanted)
	}
}

func (p poolWork) checkEnd(t *testing.T, w *world.World) {
	t.Helper()
	var instances, machines, containers []string
	for _, made := range w.ContainerMachines() {
		instances = append(instances, made.Name)
		if state, message := world.State(&made, infrav1.MachineReadyCondition); state != "True/Ready" {
			t.Errorf("%s is %s: %s", made.Name, state, message)
		}
		if version := made.Annotations[infrav1.VersionAnnotation]; version != p.version {
			t.Errorf("%s is made for %s, want %s", made.Name, version, p.version)
		}
	}
	for _, machine := range w.Machines() {
		machines = append(machines, machine.Name)
	}
	w.Calls.Hook(nil, nil)
	found := must.Get(w.Engine.ListContainers(t.Context(), map[string]string{identity.LabelRole: string(identity.RoleWorker)}))(t)
	for _, container := range found {
		containers = append(containers, container.Labels[identity.LabelMachine])
	}
	slices.Sort(containers)
	if len(instances) != p.wanted || !slices.Equal(instances, machines) || !slices.Equal(instances, containers) {
		t.Errorf("ContainerMachines %v, Machines %v, containers of %v; want %d", instances, machines, containers, p.wanted)
	}
	pool, there := world.Get(w, builders.Pool, &infrav1.ContainerMachinePool{})
	if deleted := p.version == ""; there == deleted {
		t.Errorf("that the pool is there is %t", there)
	}
	if there && (len(pool.Spec.ProviderIDList) != p.wanted || !ptr.Deref(pool.Status.Ready, false)) {
		t.Errorf("the pool reports %v, ready %v", pool.Spec.ProviderIDList, pool.Status.Ready)
	}
}
