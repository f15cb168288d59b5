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
	"errors"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

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
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// hostName is the name of the ContainerEngine, and its host.
const hostName = "build"

// lostWorld's cluster is on the engine of an object, with the controller of that.
type lostWorld struct {
	*world.World

	controller *containerengine.Reconciler
	own        *simulated.Engine
	resists    bool
}

// build is the engine of the world, as it is reached by the ContainerEngine.
type build struct {
	engine.Engine

	world *lostWorld
}

// Close implements engine.Host: another client connects after one has gone.
func (build) Close() error { return nil }

// RemoveContainer implements engine.ContainerWriter.
func (b build) RemoveContainer(ctx context.Context, name string) error {
	if b.world.resists {
		return errors.New("device or resource busy")
	}
	return b.Engine.RemoveContainer(ctx, name)
}

// newLostWorld has a cluster with one machine that runs.
func newLostWorld(t *testing.T) *lostWorld {
	t.Helper()
	key, known := engineobjects.Key(t)
	w := &lostWorld{own: simulated.New(), World: world.New(t, builders.New(func(o *builders.Objects) {
		o.ContainerCluster.Spec.EngineName, o.Machine.Spec.FailureDomain = hostName, ""
		o.Others = append(o.Others, &infrav1.ContainerEngine{
			ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: hostName},
			Spec:       infrav1.ContainerEngineSpec{Endpoint: "ssh://me@" + hostName, CredentialsSecretName: "credentials"},
		}, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: "credentials"},
			Data:       map[string][]byte{infrav1.EngineSSHKeyKey: key, infrav1.EngineKnownHostsKey: known},
		})
	}))}
	w.Nodes.FirstBoot(record.Done)
	w.restart()
	w.probe()
	w.SettleCluster()
	w.SettleMachine(builders.Machine)
	if ofCluster, ofMachine := states(w.World); ofCluster != "True/Ready" || ofMachine != "True/"+infrav1.ContainerRunningReason {
		t.Fatalf("at first, the cluster is %s and the machine %s", ofCluster, ofMachine)
	}
	return w
}

// restart the manager.
func (w *lostWorld) restart() {
	w.TB.Helper()
	w.Restart()
	registry := engines.New(engines.Own(w.own), engines.Options{Open: engineobjects.Open(map[string]engine.Engine{hostName: build{w.Engine, w}})})
	w.controller = &containerengine.Reconciler{
		Client: w.Cluster.Client, Engines: registry, Events: w.Events, Allowed: must.Get(endpoint.ParseAllowed([]string{"ssh://" + hostName}))(w.TB),
	}
	w.Engines, w.Cluster.Engines, w.Machine.Engines, w.Pool.Engines = registry, registry, registry, registry
}

// probe the engine as often as it changes anything.
func (w *lostWorld) probe() {
	w.TB.Helper()
	for range 3 {
		_, _ = w.controller.Reconcile(w.TB.Context(), ctrl.Request{NamespacedName: named(hostName)})
		if w.Engines.Connection(named(hostName)) != nil {
			w.On(w.Engines, named(hostName)) // Its host is known.
		}
	}
}

// look lets all controllers look a few times; what they wait for may have no end.
func (w *lostWorld) look() {
	w.TB.Helper()
	for range 3 {
		w.probe()
		_, _ = w.ReconcileMachine(builders.Machine)
		_, _ = w.ReconcileCluster()
	}
}

func (w *lostWorld) engineObject() *infrav1.ContainerEngine {
	w.TB.Helper()
	found, _ := world.Get(w.World, hostName, &infrav1.ContainerEngine{})
	return found
}

func (w *lostWorld) setLost(lost bool) {
	w.TB.Helper()
	world.Edit(w.World, hostName, &infrav1.ContainerEngine{}, func(e *infrav1.ContainerEngine) { e.Spec.Lost = ptr.To(lost) })
}

// deleteAll requests the deletion of Cluster, machine and ContainerCluster, as Cluster API does in the end.
func (w *lostWorld) deleteAll() {
	w.TB.Helper()
	world.Delete(w.World, builders.Machine, &infrav1.ContainerMachine{})
	world.Delete(w.World, builders.Cluster, &infrav1.ContainerCluster{})
}

// exist says whether machine and cluster do.
func (w *lostWorld) exist() (machine, cluster bool) {
	w.TB.Helper()
	_, machine = world.Get(w.World, builders.Machine, &infrav1.ContainerMachine{})
	_, cluster = world.Get(w.World, builders.Cluster, &infrav1.ContainerCluster{})
	return machine, cluster
}

// containers on the engine, by name, while it responds.
func (w *lostWorld) containers() []string {
	w.TB.Helper()
	var names []string
	for _, container := range must.Get(w.Engine.ListContainers(context.WithoutCancel(w.TB.Context()), nil))(w.TB) {
		names = append(names, container.Name)
	}
	return names
}

// debtsOfWhole are those of the world's cluster.
func debtsOfWhole() []infrav1.EngineDebt {
	return []infrav1.EngineDebt{{Name: builders.OwnerID, ClusterName: builders.Cluster, OwnerID: builders.OwnerID, NetworkName: "capcon"}}
}

// TestLostEngine: what is deleted while an engine is lost does not wait for it, is recorded, and is removed before
// anything new comes when it is back. One that only does not respond is waited for.
func TestLostEngine(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t)
	owner := builders.Owner()
	must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{
		Name: "service", Image: builders.LoadBalancerImage, Labels: owner.ContainerLabels(identity.RoleServiceLoadBalancer, ""),
		Attachment: engine.Attachment{Network: "capcon"},
	}))(t)
	must.Succeed(t, w.Engine.CreateVolume(t.Context(), owner.Volume(), owner.VolumeLabels()))
	before := w.containers()
	w.Engine.Down()
	w.deleteAll()
	w.look()
	w.restart()
	w.look()
	if machine, cluster := w.exist(); !machine || !cluster || len(w.engineObject().Spec.Debts) > 0 {
		t.Fatalf("the engine only does not respond: the machine stays: %t, the cluster: %t; debts %v", machine, cluster, w.engineObject().Spec.Debts)
	}

	w.setLost(true)
	w.look()
	machine, cluster := w.exist()
	if diff := gocmp.Diff(debtsOfWhole(), w.engineObject().Spec.Debts); diff != "" || machine || cluster {
		t.Fatalf("the engine is lost: the machine stays: %t, the cluster: %t; debts (-want, +got):\n%s", machine, cluster, diff)
	}
	w.Engine.Up()
	// The next cluster has the same name.
	next := builders.New().ContainerCluster
	next.Spec.EngineName, next.Spec.OwnerID = hostName, "another"
	must.Succeed(t, w.Client.Create(t.Context(), next))
	w.restart()
	w.look()
	if diff := gocmp.Diff(before, w.containers()); diff != "" {
		t.Errorf("it responds, and its administrator has not said that it is back (-before, +after):\n%s", diff)
	}

	w.resists = true // Nothing can be removed.
	w.setLost(false)
	w.look()
	object, _ := world.Get(w.World, builders.Cluster, &infrav1.ContainerCluster{})
	state, message := world.State(object, infrav1.LoadBalancerReadyCondition)
	if state != "Unknown/"+infrav1.EngineUnavailableReason || !strings.Contains(message, "left there while it was lost") {
		t.Errorf("the next cluster is %s: %s", state, message)
	}
	if reason := conditions.GetReason(w.engineObject(), infrav1.EngineReadyCondition); reason != infrav1.EngineDebtsUnpaidReason {
		t.Errorf("the engine is %s", reason)
	}
	if diff := gocmp.Diff(before, w.containers()); diff != "" {
		t.Errorf("something was created before the debts are paid (-before, +after):\n%s", diff)
	}
	w.resists = false
	w.probe()
	volumes := must.Get(w.Engine.ListVolumes(t.Context(), nil))(t)
	if left := w.containers(); len(left)+len(volumes)+len(w.engineObject().Spec.Debts) > 0 {
		t.Errorf("containers %v and volumes %v are left, and debts %v", left, volumes, w.engineObject().Spec.Debts)
	}
	w.SettleCluster()
	if ofCluster, _ := states(w.World); ofCluster != "True/Ready" {
		t.Errorf("the next cluster is %s", ofCluster)
	}
	if calls := w.own.Journal(); len(calls) > 0 {
		t.Errorf("called the manager's own engine: %v", calls)
	}
}

// TestMachineOnLostEngine: its container is removed when the engine is back, and the cluster continues.
func TestMachineOnLostEngine(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t)
	w.Engine.Down()
	w.setLost(true)
	w.probe()
	world.Delete(w.World, builders.Machine, &infrav1.ContainerMachine{})
	w.look()
	if machine, cluster := w.exist(); machine || !cluster {
		t.Fatalf("the machine stays: %t, the cluster: %t", machine, cluster)
	}
	want := []infrav1.EngineDebt{{
		Name: builders.OwnerID, ClusterName: builders.Cluster, OwnerID: builders.OwnerID, Containers: []string{builders.Container(builders.Machine)},
	}}
	if diff := gocmp.Diff(want, w.engineObject().Spec.Debts); diff != "" {
		t.Errorf("debts (-want, +got):\n%s", diff)
	}
	w.Engine.Up()
	w.setLost(false)
	w.look()
	if diff := gocmp.Diff([]string{builders.Owner().LoadBalancerContainer()}, w.containers()); diff != "" || len(w.engineObject().Spec.Debts) > 0 {
		t.Errorf("debts %v, containers (-want, +got):\n%s", w.engineObject().Spec.Debts, diff)
	}
	w.SettleCluster()
	if ofCluster, _ := states(w.World); ofCluster != "True/Ready" {
		t.Errorf("the cluster is %s", ofCluster)
	}
}

// TestMachineOfLostCluster: of a machine whose ContainerCluster is gone, only the container is known.
func TestMachineOfLostCluster(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t)
	w.Engine.Down()
	w.setLost(true)
	world.Purge(w.World, builders.Cluster, &infrav1.ContainerCluster{})
	world.Delete(w.World, builders.Machine, &infrav1.ContainerMachine{})
	w.look()
	name := builders.Container(builders.Machine)
	want := []infrav1.EngineDebt{{Name: name, ClusterName: builders.Cluster, Containers: []string{name}}}
	machine, _ := w.exist()
	if diff := gocmp.Diff(want, w.engineObject().Spec.Debts); diff != "" || machine {
		t.Errorf("the machine stays: %t; debts (-want, +got):\n%s", machine, diff)
	}
	w.Engine.Up()
	w.setLost(false)
	w.look()
	if slices.Contains(w.containers(), name) || len(w.engineObject().Spec.Debts) > 0 {
		t.Errorf("containers %v, debts %v", w.containers(), w.engineObject().Spec.Debts)
	}
}

// TestClusterDeletedOnLostEngine: while the Cluster is being deleted, the deletion of its infrastructure records all.
func TestClusterDeletedOnLostEngine(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t)
	w.Engine.Down()
	w.setLost(true)
	world.Edit(w.World, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Finalizers = []string{clusterv1.ClusterFinalizer} })
	world.Delete(w.World, builders.Cluster, &clusterv1.Cluster{})
	world.Delete(w.World, builders.Machine, &infrav1.ContainerMachine{})
	w.look()
	if machine, cluster := w.exist(); machine || !cluster || len(w.engineObject().Spec.Debts) > 0 {
		t.Errorf("the machine stays: %t, the cluster: %t; debts %v", machine, cluster, w.engineObject().Spec.Debts)
	}
	world.Delete(w.World, builders.Cluster, &infrav1.ContainerCluster{})
	w.look()
	_, cluster := w.exist()
	if diff := gocmp.Diff(debtsOfWhole(), w.engineObject().Spec.Debts); diff != "" || cluster {
		t.Errorf("the cluster stays: %t; debts (-want, +got):\n%s", cluster, diff)
	}
}

// killAt kills the manager when it has written the ContainerEngine, or is about to.
func (w *lostWorld) killAt(after bool) {
	var killed error
	strike := func(write world.Write, strikes bool) error {
		if strikes && write.Verb+write.Object == "patch*v1beta2.ContainerEngine "+hostName {
			killed = errors.New("the manager was killed")
		}
		return killed
	}
	w.Writes.Hook(
		func(write world.Write) error { return strike(write, !after) },
		func(write world.Write) error { return strike(write, after) },
	)
}

// revive starts another manager.
func (w *lostWorld) revive() {
	w.Writes.Hook(nil, nil)
	w.restart()
}

// TestKilledWithDebts: the record is there before the finalizer goes, and what is paid before its record does.
func TestKilledWithDebts(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]bool{"BeforeRecord": false, "AfterRecord": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLostWorld(t)
			w.Engine.Down()
			w.setLost(true)
			w.probe()
			w.deleteAll()
			w.killAt(after)
			_, _ = w.ReconcileMachine(builders.Machine)
			w.revive()
			if machine, _ := w.exist(); !machine || (len(w.engineObject().Spec.Debts) > 0) != after {
				t.Errorf("the machine stays: %t; debts %v", machine, w.engineObject().Spec.Debts)
			}
			_, err := w.ReconcileMachine(builders.Machine)
			must.Succeed(t, err)
			w.killAt(after)
			_, _ = w.ReconcileCluster()
			w.revive()
			if machine, cluster := w.exist(); machine || !cluster {
				t.Errorf("the machine stays: %t, the cluster: %t", machine, cluster)
			}
			w.look()
			machine, cluster := w.exist()
			if diff := gocmp.Diff(debtsOfWhole(), w.engineObject().Spec.Debts); diff != "" || machine || cluster {
				t.Errorf("the machine stays: %t, the cluster: %t; debts (-want, +got):\n%s", machine, cluster, diff)
			}
			w.Engine.Up()
			w.setLost(false)
			w.killAt(after)
			w.probe()
			w.revive()
			w.look()
			if left := w.containers(); len(left) > 0 || len(w.engineObject().Spec.Debts) > 0 {
				t.Errorf("containers %v are left, and debts %v", left, w.engineObject().Spec.Debts)
			}
		})
	}
}

// TestBackBeforeRelease: the engine is back while the finalizers are still there: its objects are deleted as on any other.
func TestBackBeforeRelease(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t)
	w.setLost(true)
	w.probe()
	w.deleteAll()
	w.killAt(true)
	_, _ = w.ReconcileMachine(builders.Machine)
	w.setLost(false)
	w.revive()
	w.look()
	w.look()
	machine, cluster := w.exist()
	if left := w.containers(); machine || cluster || len(left) > 0 || len(w.engineObject().Spec.Debts) > 0 {
		t.Errorf("the machine stays: %t, the cluster: %t; containers %v, debts %v", machine, cluster, left, w.engineObject().Spec.Debts)
	}
}
