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

package env_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// pairsTime bounds how long pairs of faults are tried.
const pairsTime = 20 * time.Second

// TestIntegrationFaults takes the manager of a cluster through its life against a real API
// server, with a random sample of pairs of faults: it is killed, and later a call of the
// engine fails. Each cluster becomes ready and is deleted, and nothing is left of it. SEED
// repeats a sample, of at most COUNT (1000) pairs.
func TestIntegrationFaults(t *testing.T) {
	t.Parallel()
	config := env.Start(t)
	config.QPS = -1
	api := must.Get(client.NewWithWatch(config, client.Options{Scheme: builders.Scheme(t)}))(t)
	seed := number(t, "SEED", uint64(time.Now().UnixNano()))
	count := number(t, "COUNT", 1000)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // It is to be repeated.
	all := (&life{t: t, api: api}).run(faults.Fault{}, faults.Fault{}).Faults()
	kills := slices.DeleteFunc(slices.Clone(all), func(f faults.Fault) bool { return f.Kind != faults.Killed && f.Kind != faults.Forgotten })
	failures := slices.DeleteFunc(all, func(f faults.Fault) bool {
		return f.Kind != faults.Unavailable && f.Kind != faults.Refused && f.Kind != faults.Restarted
	})
	tried := uint64(0)
	for end := time.Now().Add(pairsTime); tried < count && time.Now().Before(end) && !t.Failed(); tried++ {
		first, second := kills[random.IntN(len(kills))], failures[random.IntN(len(failures))]
		(&life{t: t, api: api}).run(first, second)
		if t.Failed() {
			t.Logf("pair %d: %s, %s", tried+1, first, second)
		}
	}
	t.Logf("SEED=%d COUNT=%d", seed, tried)
}

// number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text, found := os.LookupEnv(name)
	if !found || text == "" {
		return otherwise
	}
	return must.Get(strconv.ParseUint(text, 10, 64))(t)
}

// life is one cluster with one worker, from its creation to its deletion.
type life struct {
	t     *testing.T
	api   client.WithWatch
	world *world.World
}

// LoseStatus implements faults.World.
func (l *life) LoseStatus() {
	if _, there := world.Get(l.world, builders.Machine, &infrav1.ContainerMachine{}); there {
		world.EditStatus(l.world, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
			m.Status = infrav1.ContainerMachineStatus{}
		})
	}
}

// Revive implements faults.World.
func (l *life) Revive() { l.world.Restart() }

// RestartEngine implements faults.World.
func (l *life) RestartEngine() { l.world.Engine.RestartEngine() }

// run a life with two faults.
func (l *life) run(first, second faults.Fault) *faults.Injector {
	l.t.Helper()
	l.world = world.New(l.t, &builders.Objects{})
	l.world.Nodes.FirstBoot(record.Done)
	l.world.Client = l.api
	l.world.Restart()
	l.create()
	one, other := first.Arm(l), second.Arm(l)
	both := func(a, b error) error {
		if a != nil {
			return a
		}
		return b
	}
	l.world.Calls.Hook(
		func(call simulated.Call) error { return both(other.BeforeCall(call), one.BeforeCall(call)) },
		func(call simulated.Call) error { return both(other.AfterCall(call), one.AfterCall(call)) },
	)
	l.world.Writes.Hook(
		func(world.Write) error { return both(other.BeforeWrite(), one.BeforeWrite()) },
		func(world.Write) error { return both(other.AfterWrite(), one.AfterWrite()) },
	)
	look := func() { other.Guard(func() { one.Guard(l.look) }) }
	l.until("the machine is ready", look, l.isReady)
	world.Delete(l.world, builders.Cluster, &clusterv1.Cluster{})
	l.until("the cluster is deleted", look, l.isDeleted)
	one.Mark()
	l.checkLeft()
	return one
}

// until something is so, let Cluster API act and the controllers look. An engine's refusal is
// cached for 15 seconds, which pass.
func (l *life) until(what string, look func(), is func() bool) {
	l.t.Helper()
	for range 60 {
		l.actAsClusterAPI()
		look()
		if is() {
			return
		}
		l.world.Clock.SetTime(l.world.Clock.Now().Add(time.Second))
	}
	machine, _ := world.Get(l.world, builders.Machine, &infrav1.ContainerMachine{})
	cluster, _ := world.Get(l.world, builders.Cluster, &infrav1.ContainerCluster{})
	l.t.Fatalf("%s: no; conditions %v and %v; the last mutations: %v", what, cluster.GetConditions(), machine.GetConditions(), l.world.Mutations())
}

// look lets both controllers look once. Faults cause errors: the next reconcile continues.
func (l *life) look() {
	_, _ = l.world.ReconcileCluster()
	_, _ = l.world.ReconcileMachine(builders.Machine)
}

func (l *life) create() {
	l.t.Helper()
	o := builders.New()
	create := func(object client.Object) {
		l.t.Helper()
		object.SetUID("")
		must.Succeed(l.t, l.api.Create(l.t.Context(), object))
	}
	o.Cluster.Finalizers = []string{clusterv1.ClusterFinalizer}
	create(o.Cluster)
	o.ContainerCluster.OwnerReferences[0].UID = o.Cluster.UID
	o.ContainerCluster.Spec.OwnerID, o.ContainerCluster.Finalizers = "", nil
	create(o.ContainerCluster)
	create(o.Secret)
	create(o.Machine)
	o.ContainerMachine.OwnerReferences[0].UID = o.Machine.UID
	o.ContainerMachine.Finalizers = nil
	create(o.ContainerMachine)
}

// actAsClusterAPI does once what Cluster API does.
func (l *life) actAsClusterAPI() {
	l.t.Helper()
	cluster, there := world.Get(l.world, builders.Cluster, &clusterv1.Cluster{})
	if !there {
		return
	}
	containerCluster, hasInfrastructure := world.Get(l.world, builders.Cluster, &infrav1.ContainerCluster{})
	if ptr.Deref(containerCluster.Status.Initialization.Provisioned, false) && !ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) {
		world.EditStatus(l.world, builders.Cluster, cluster, func(c *clusterv1.Cluster) { c.Status.Initialization.InfrastructureProvisioned = ptr.To(true) })
	}
	l.world.ActAsClusterAPI()
	machine, hasMachine := world.Get(l.world, builders.Machine, &clusterv1.Machine{})
	switch {
	case cluster.DeletionTimestamp.IsZero():
	case hasMachine && machine.DeletionTimestamp.IsZero():
		world.Delete(l.world, builders.Machine, machine)
	case hasMachine:
	case hasInfrastructure && containerCluster.DeletionTimestamp.IsZero():
		world.Delete(l.world, builders.Cluster, containerCluster)
	case !hasInfrastructure:
		world.Edit(l.world, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Finalizers = nil })
	}
}

func (l *life) isReady() bool {
	machine, _ := world.Get(l.world, builders.Machine, &clusterv1.Machine{})
	containerMachine, _ := world.Get(l.world, builders.Machine, &infrav1.ContainerMachine{})
	cluster, _ := world.Get(l.world, builders.Cluster, &infrav1.ContainerCluster{})
	machineState, _ := world.State(containerMachine, infrav1.MachineReadyCondition)
	clusterState, _ := world.State(cluster, infrav1.ClusterReadyCondition)
	return machineState == "True/Ready" && clusterState == "True/Ready" && machine.Status.NodeRef.IsDefined()
}

func (l *life) isDeleted() bool {
	_, there := world.Get(l.world, builders.Cluster, &clusterv1.Cluster{})
	return !there
}

// checkLeft: nothing is, on the engine or in the API server.
func (l *life) checkLeft() {
	l.t.Helper()
	ctx := context.WithoutCancel(l.t.Context())
	containers := must.Get(l.world.Engine.ListContainers(ctx, nil))(l.t)
	if volumes := l.world.Engine.VolumeNames(); len(containers) > 0 || len(volumes) > 0 {
		l.t.Errorf("left are containers %v and volumes %v", containers, volumes)
	}
	if _, err := l.world.Engine.InspectNetwork(ctx, "capcon"); engine.IgnoreNotFound(err) != nil || err == nil {
		l.t.Errorf("the network is left: %v", err)
	}
	for _, object := range []client.Object{&infrav1.ContainerMachine{}, &clusterv1.Machine{}} {
		if _, there := world.Get(l.world, builders.Machine, object); there {
			l.t.Errorf("%T is left", object)
		}
	}
	must.Succeed(l.t, l.api.Delete(ctx, builders.DataSecret(builders.Machine, "")))
	for name, count := range l.world.Calls.Begins() {
		if count > 1 {
			l.t.Errorf("container %s began %d times", name, count)
		}
	}
}

// TestMain keeps the library that all waiting goes through from printing each kill with its
// stack.
func TestMain(m *testing.M) {
	utilruntime.PanicHandlers = nil
	os.Exit(m.Run())
}
