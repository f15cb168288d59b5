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

package contract_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestAdoption takes the steps of Cluster API's e2e test of adoption: all
// ContainerMachines of a cluster are lost, and recreated with nothing but
// spec.providerID. The containers that run are taken over as they are.
func TestAdoption(t *testing.T) {
	t.Parallel()
	w := live(t)
	before := observe(w)
	since := len(w.Calls.Effects())
	pause(w, true)
	settle(w)
	var bare []*infrav1.ContainerMachine
	for _, lost := range w.ContainerMachines() {
		bare = append(bare, &infrav1.ContainerMachine{
			ObjectMeta: metav1.ObjectMeta{Namespace: lost.Namespace, Name: lost.Name, UID: types.UID(lost.Name + "-again")},
			Spec:       infrav1.ContainerMachineSpec{ProviderID: lost.Spec.ProviderID},
		})
		world.Purge(w, lost.Name, &infrav1.ContainerMachine{})
	}
	w.Restart()
	for _, machine := range bare {
		must.Succeed(t, w.Client.Create(t.Context(), machine))
	}
	pause(w, false)
	settle(w)
	for _, machine := range w.ContainerMachines() {
		if len(machine.Finalizers) > 0 || len(machine.Status.Conditions) > 0 {
			t.Errorf("%s has no owner yet, and is given the finalizers %v and the conditions %v", machine.Name, machine.Finalizers, machine.Status.Conditions)
		}
	}
	// Cluster API finds its Machines' infrastructure again.
	for _, machine := range bare {
		world.Edit(w, machine.Name, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
			_, whole := builders.MachinePair(m.Name)
			m.Labels, m.OwnerReferences = whole.Labels, whole.OwnerReferences
		})
	}
	settle(w)
	check(t, "what was done to the engine", []string{}, effects(w, since))
	after := observe(w)
	// They were recreated without the image, which the container has.
	before.Specs, after.Specs = nil, nil
	check(t, "the cluster", before, after)
}

// TestRestore restores a cluster from a backup, which has no status, after all
// its objects were lost. Cluster API's own status is lost too, and comes back
// later. What runs is found and nothing is recreated.
func TestRestore(t *testing.T) {
	t.Parallel()
	w := live(t)
	before := observe(w)
	since := len(w.Calls.Effects())
	pause(w, true)
	settle(w)
	backup := takeBackup(t, w)
	for _, object := range backup {
		lost, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			t.Fatalf("%T is no object", object)
		}
		world.Purge(w, object.GetName(), lost)
	}
	w.Restart()
	for _, object := range backup {
		must.Succeed(t, w.Client.Create(t.Context(), object))
		// Whatever is not there yet: the cluster is still paused.
		_, _ = w.ReconcileCluster()
		for _, name := range []string{controlPlane, worker} {
			_, _ = w.ReconcileMachine(name)
		}
	}
	check(t, "what was done to the engine while the cluster was paused", []string{}, effects(w, since))
	pause(w, false)
	settle(w)
	check(t, "what was done to the engine before Cluster API came to itself", []string{}, effects(w, since))
	becomeNodes(w)
	settle(w)
	check(t, "what was done to the engine", []string{}, effects(w, since))
	check(t, "the cluster", before, observe(w))
}

// takeBackup returns all objects as a backup has them, in the order in which
// they can be recreated.
func takeBackup(t *testing.T, w *world.World) []client.Object {
	t.Helper()
	names := []struct {
		name   string
		object client.Object
	}{
		{builders.Cluster, &clusterv1.Cluster{}}, {builders.Cluster, &infrav1.ContainerCluster{}},
		{controlPlane, &clusterv1.Machine{}}, {controlPlane, &infrav1.ContainerMachine{}}, {controlPlane + "-data", &corev1.Secret{}},
		{worker, &clusterv1.Machine{}}, {worker, &infrav1.ContainerMachine{}}, {worker + "-data", &corev1.Secret{}},
		{builders.Cluster + "-kubeconfig", &corev1.Secret{}},
	}
	uids := map[types.UID]types.UID{}
	var backup []client.Object
	for _, n := range names {
		object, there := world.Get(w, n.name, n.object)
		if !there {
			t.Fatalf("%T %s is not there", n.object, n.name)
		}
		object.SetResourceVersion("")
		if uid := object.GetUID(); uid != "" {
			uids[uid] = uid + "-restored"
			object.SetUID(uids[uid])
		}
		switch object := object.(type) {
		case *clusterv1.Cluster:
			object.Status = clusterv1.ClusterStatus{}
		case *clusterv1.Machine:
			object.Status = clusterv1.MachineStatus{}
		case *infrav1.ContainerCluster:
			object.Status = infrav1.ContainerClusterStatus{}
		case *infrav1.ContainerMachine:
			object.Status = infrav1.ContainerMachineStatus{}
		}
		backup = append(backup, object)
	}
	for _, object := range backup {
		owners := object.GetOwnerReferences()
		for i := range owners {
			owners[i].UID = uids[owners[i].UID]
		}
		object.SetOwnerReferences(owners)
	}
	return backup
}

func pause(w *world.World, paused bool) {
	world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(paused) })
}

// TestExternallyManaged has another controller bring up network, endpoint and
// status of a cluster. The provider touches neither the object nor anything
// that belongs to it, and makes its machines all the same.
func TestExternallyManaged(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(func(o *builders.Objects) {
		metav1.SetMetaDataAnnotation(&o.ContainerCluster.ObjectMeta, clusterv1.ManagedByAnnotation, "another")
		o.ContainerCluster.Finalizers = nil
		o.ContainerCluster.Spec = infrav1.ContainerClusterSpec{
			OwnerID:              builders.OwnerID,
			ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "api.example.test", Port: 443},
			LoadBalancer:         infrav1.LoadBalancer{Type: infrav1.LoadBalancerNone},
		}
		o.ContainerCluster.Status.Initialization.Provisioned = ptr.To(true)
	}, builders.ControlPlane(builders.InitData)))
	w.Nodes.FirstBoot(record.Done)
	given, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	look := func() {
		t.Helper()
		settle(w)
		now, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
		check(t, "the ContainerCluster", given, now)
	}
	look()
	machine, _ := world.Get(w, controlPlane, &infrav1.ContainerMachine{})
	if state, message := world.State(machine, infrav1.MachineReadyCondition); state != "True/Ready" {
		t.Errorf("the control plane is %s: %s", state, message)
	}
	containers := must.Get(w.Engine.ListContainers(t.Context(), nil))(t)
	if len(containers) != 1 || containers[0].Name != builders.Container(controlPlane) {
		t.Errorf("there are the containers %v, want the control plane alone", containers)
	}
	world.Delete(w, controlPlane, &infrav1.ContainerMachine{})
	settle(w)
	if _, err := w.Engine.InspectContainer(t.Context(), builders.Container(controlPlane)); err == nil || engine.IgnoreNotFound(err) != nil {
		t.Errorf("the control plane is deleted, and its container: %v", err)
	}
	look()
	// Who manages it keeps it with a finalizer of its own.
	world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) { c.Finalizers = []string{"example.test/theirs"} })
	world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
	given, _ = world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	look()
	if _, err := w.Engine.InspectNetwork(t.Context(), "capcon"); err != nil {
		t.Errorf("the network, which another controller manages: %v", err)
	}
}
