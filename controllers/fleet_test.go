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
	"strings"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

const (
	thirdMachine = "m3"
	// appImage is one that nodes get from the engine.
	appImage = "app:dev"
	// newNodeImage is the one of an upgrade.
	newNodeImage, newVersion = "example.test/node:v1.36.4", "v1.36.4"
)

// fleet is a cluster of a control plane, a worker and a pool, with what Cluster API does.
type fleet struct {
	*world.World
	etcd       *simulatednode.Etcd
	containerd *simulatednode.Containerd
	// isBusy reports whether something is to happen though nothing changes; nil = nothing.
	isBusy func() bool
}

// fleetOptions make the control plane m1, the worker m2, which waits for it, and a pool of one.
func fleetOptions() []builders.Option {
	return []builders.Option{
		func(o *builders.Objects) {
			o.ContainerCluster.Spec.Network.Name = "mine"
			o.ContainerCluster.Spec.OwnerID, o.ContainerCluster.Finalizers = "", nil
			o.Cluster.Finalizers = []string{clusterv1.ClusterFinalizer}
			o.Cluster.Status.Initialization.InfrastructureProvisioned = nil
		},
		builders.MachinePool(1, func(pool *clusterv1.MachinePool, _ *infrav1.ContainerMachinePool) {
			pool.Finalizers = []string{clusterv1.MachinePoolFinalizer}
		}),
		func(o *builders.Objects) {
			o.Machine, o.ContainerMachine = builders.MachinePair(builders.Machine)
			builders.MakeControlPlane(o.Machine)
			o.Others = append(o.Others, builders.DataSecret(builders.Machine, builders.InitData))
			o.Others = append(o.Others, newMachine(secondMachine, builders.JoinWorkerData)...)
		},
	}
}

// newMachine is one without bootstrap data; a control plane where the data is of one.
func newMachine(name, data string) []client.Object {
	machine, containerMachine := builders.MachinePair(name)
	machine.Spec.Bootstrap.DataSecretName = nil
	if data == builders.JoinControlPlaneData {
		builders.MakeControlPlane(machine)
	}
	return []client.Object{machine, containerMachine, builders.DataSecret(name, data)}
}

// newFleet is a fleet whose nodes bootstrap within a moment.
func newFleet(w *world.World) *fleet {
	f := &fleet{World: w, containerd: &simulatednode.Containerd{}}
	w.Nodes.FirstBoot(record.Done)
	for _, image := range []string{appImage, newNodeImage} {
		w.Engine.AddImage(engine.Image{Tags: []string{image}}, map[string][]byte{"file": []byte(image)})
	}
	f.etcd = simulatednode.RunEtcd(w.Engine)
	w.Engine.HandleExec(func(name string, command engine.Command) (engine.Output, error) {
		output, handled, err := f.etcd.Exec(command)
		if handled {
			return output, err
		}
		if program := command.Args[0]; program == "crictl" || program == "ctr" {
			return f.containerd.Exec(name, command)
		}
		return w.LoadBalancers.Exec(name, command)
	})
	return f
}

// Revive implements faults.World.
func (f *fleet) Revive() { f.Restart() }

// RestartEngine implements faults.World.
func (f *fleet) RestartEngine() { f.Engine.RestartEngine() }

// LoseStatus implements faults.World. A status is what a move and a restore lose.
func (f *fleet) LoseStatus() {
	if _, there := world.Get(f.World, builders.Cluster, &infrav1.ContainerCluster{}); there {
		world.EditStatus(f.World, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
			c.Status = infrav1.ContainerClusterStatus{}
		})
	}
	if _, there := world.Get(f.World, builders.Pool, &infrav1.ContainerMachinePool{}); there {
		world.EditStatus(f.World, builders.Pool, &infrav1.ContainerMachinePool{}, func(p *infrav1.ContainerMachinePool) {
			p.Status = infrav1.ContainerMachinePoolStatus{}
		})
	}
	for _, machine := range f.ContainerMachines() {
		world.EditStatus(f.World, machine.Name, &machine, func(m *infrav1.ContainerMachine) { m.Status = infrav1.ContainerMachineStatus{} })
	}
	for _, machine := range f.Machines() {
		world.EditStatus(f.World, machine.Name, &machine, func(m *clusterv1.Machine) { m.Status = clusterv1.MachineStatus{} })
	}
}

// look lets each controller look once. Faults cause errors: the next
// reconcile continues.
func (f *fleet) look() {
	_, _ = f.ReconcileCluster()
	if _, there := world.Get(f.World, builders.Pool, &infrav1.ContainerMachinePool{}); there {
		_, _ = f.ReconcilePool()
	}
	for _, machine := range f.ContainerMachines() {
		_, _ = f.ReconcileMachine(machine.Name)
	}
}

// pauses are the times between looks that found nothing to do: the last ones are longer than
// an image is looked for again, a control plane is drained, and a manager waits for its user.
func pauses() []time.Duration {
	return []time.Duration{time.Second, 15 * time.Second, 30 * time.Second, time.Minute}
}

// settle lets all look, until a fleet that nothing disturbs comes to rest.
func (f *fleet) settle() {
	f.TB.Helper()
	f.drive(faults.Fault{}.Arm(f), []time.Duration{time.Second, time.Second}, func() { f.actAsClusterAPI() }, f.look)
}

// drive lets Cluster API act and the manager look, until nothing happens any more.
func (f *fleet) drive(injector *faults.Injector, pauses []time.Duration, act, look func()) {
	f.TB.Helper()
	quiet := 0
	for range 150 {
		versions := f.Versions()
		act()
		injector.Guard(look)
		f.Clock.SetTime(f.Clock.Now().Add(pauses[quiet]))
		if quiet++; !slices.Equal(versions, f.Versions()) || f.isBusy != nil && f.isBusy() {
			quiet = 0
			injector.Mark()
		}
		if quiet == len(pauses) {
			return
		}
	}
	mutations := f.Mutations()
	f.TB.Fatalf("the work does not end; the last mutations:\n%s", strings.Join(mutations[max(0, len(mutations)-10):], "\n"))
}

// actAsClusterAPI does once what Cluster API does for all kinds.
func (f *fleet) actAsClusterAPI() {
	cluster, there := world.Get(f.World, builders.Cluster, &clusterv1.Cluster{})
	if !there || ptr.Deref(cluster.Spec.Paused, false) {
		return
	}
	containerCluster, _ := world.Get(f.World, builders.Cluster, &infrav1.ContainerCluster{})
	isProvisioned := ptr.Deref(containerCluster.Status.Initialization.Provisioned, false)
	if isProvisioned && cluster.Status.Initialization.InfrastructureProvisioned == nil {
		world.EditStatus(f.World, builders.Cluster, cluster, func(c *clusterv1.Cluster) { c.Status.Initialization.InfrastructureProvisioned = ptr.To(true) })
	}
	f.ActAsClusterAPI()
	for _, machine := range f.Machines() {
		if machine.Spec.Bootstrap.DataSecretName == nil && f.hasControlPlane() {
			world.Edit(f.World, machine.Name, &machine, func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = ptr.To(m.Name + "-data") })
		}
	}
	if !cluster.DeletionTimestamp.IsZero() {
		f.deleteInOrder()
	}
	f.finishPool()
}

// hasControlPlane reports whether one is a Node.
func (f *fleet) hasControlPlane() bool { return slices.ContainsFunc(f.Machines(), isReadyControlPlane) }

func isReadyControlPlane(machine clusterv1.Machine) bool {
	_, isControlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]
	return isControlPlane && machine.Status.NodeRef.IsDefined()
}

// deleteInOrder is the deletion of a Cluster: its workers, its control planes, the rest.
func (f *fleet) deleteInOrder() {
	pools := f.deletePool()
	workers, controlPlanes := 0, 0
	for _, machine := range f.Machines() {
		if _, isControlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]; isControlPlane {
			controlPlanes++
			continue
		}
		workers++
		f.deleteMachine(machine.Name)
	}
	switch {
	case pools || workers > 0:
	case controlPlanes > 0:
		for _, machine := range f.Machines() {
			f.deleteMachine(machine.Name)
		}
	default:
		if containerCluster, there := world.Get(f.World, builders.Cluster, &infrav1.ContainerCluster{}); !there {
			world.Purge(f.World, builders.Cluster, &clusterv1.Cluster{})
		} else if containerCluster.DeletionTimestamp.IsZero() {
			world.Delete(f.World, builders.Cluster, containerCluster)
		}
	}
}

// deleteMachine unless it is being deleted.
func (f *fleet) deleteMachine(name string) {
	if machine, there := world.Get(f.World, name, &clusterv1.Machine{}); there && machine.DeletionTimestamp.IsZero() {
		world.Delete(f.World, name, machine)
	}
}

// deletePool unless it is being deleted; false where there is none.
func (f *fleet) deletePool() bool {
	pool, there := world.Get(f.World, builders.Pool, &clusterv1.MachinePool{})
	if there && pool.DeletionTimestamp.IsZero() {
		world.Delete(f.World, builders.Pool, pool)
	}
	return there
}

// finishPool is what Cluster API does with a MachinePool that is deleted.
func (f *fleet) finishPool() {
	pool, there := world.Get(f.World, builders.Pool, &clusterv1.MachinePool{})
	if !there || pool.DeletionTimestamp.IsZero() {
		return
	}
	infrastructure, there := world.Get(f.World, builders.Pool, &infrav1.ContainerMachinePool{})
	switch {
	case !there:
		world.Edit(f.World, builders.Pool, pool, func(p *clusterv1.MachinePool) { p.Finalizers = nil })
	case infrastructure.DeletionTimestamp.IsZero():
		world.Delete(f.World, builders.Pool, infrastructure)
	}
}
