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
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// move of a fleet to another management cluster, as "clusterctl move" does it.
type move struct {
	from, to *fleet
	done     int
}

// TestMoveFaults: a cluster is adopted by the manager it is moved to with all its containers,
// whatever happens to this one or to the one before it. The containers are not touched.
func TestMoveFaults(t *testing.T) {
	t.Parallel()
	faults.Each(t, nil, func(t *testing.T, fault faults.Fault) *faults.Injector {
		t.Helper()
		from := newFleet(world.New(t, builders.New(fleetOptions()...)))
		from.settle()
		to := *from
		to.World = from.OtherManagement(&builders.Objects{})
		m := &move{from: from, to: &to}
		to.isBusy = func() bool { return m.done < len(m.steps()) }
		before := m.containers(t, fault)
		injector := fault.Arm(m)
		hook(from.World, injector)
		hook(to.World, injector)
		to.drive(injector, pauses(), m.act, func() { from.look(); to.look() })
		to.check(t, end{controlPlanes: []string{builders.Machine}, workers: []string{secondMachine}, instances: 1})
		if left := from.ContainerMachines(); len(left) > 0 {
			t.Errorf("ContainerMachines are left where they were: %d", len(left))
		}
		if diff := gocmp.Diff(before, m.containers(t, fault)); diff != "" {
			t.Errorf("containers (-before +after):\n%s", diff)
		}
		return injector
	})
}

// Revive implements faults.World.
func (m *move) Revive() {
	m.from.Revive()
	m.to.Revive()
}

// LoseStatus implements faults.World.
func (m *move) LoseStatus() {
	m.from.LoseStatus()
	m.to.LoseStatus()
}

// RestartEngine implements faults.World.
func (m *move) RestartEngine() { m.to.RestartEngine() }

// containers with what would show that one was replaced, or started again without a restart
// of the engine.
func (m *move) containers(t *testing.T, fault faults.Fault) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, container := range must.Get(m.to.Engine.ListContainers(t.Context(), nil))(t) {
		found[container.Name] = container.ID
		if fault.Kind != faults.Restarted {
			found[container.Name] += " started " + container.StartedAt.String()
		}
	}
	return found
}

// act does the next step of a move. Between any two, both managers look.
func (m *move) act() {
	m.from.actAsClusterAPI()
	m.to.actAsClusterAPI()
	if steps := m.steps(); m.done < len(steps) {
		steps[m.done]()
		m.done++
	}
}

func (m *move) steps() []func() {
	pause := func(f *fleet, paused *bool) {
		world.Edit(f.World, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Spec.Paused = paused })
	}
	return []func(){
		func() { pause(m.from, ptr.To(true)) },
		m.copy,
		func() {
			m.each(func(object client.Object) error {
				object.SetAnnotations(map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""})
				return m.from.Client.Update(m.from.TB.Context(), object)
			})
		},
		func() {
			m.each(func(object client.Object) error { return m.from.Client.Delete(m.from.TB.Context(), object) })
		},
		func() {
			m.each(func(object client.Object) error {
				object.SetFinalizers(nil)
				return client.IgnoreNotFound(m.from.Client.Update(m.from.TB.Context(), object))
			})
		},
		func() { pause(m.to, nil) },
	}
}

// copy all objects, without status and with other UIDs.
func (m *move) copy() {
	m.each(func(object client.Object) error {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		moved := &unstructured.Unstructured{Object: content}
		gvk, err := apiutil.GVKForObject(object, m.to.Client.Scheme())
		if err != nil {
			return err
		}
		moved.SetGroupVersionKind(gvk)
		unstructured.RemoveNestedField(moved.Object, "status")
		moved.SetResourceVersion("")
		moved.SetUID(otherUID(object.GetUID()))
		owners := object.GetOwnerReferences()
		for i := range owners {
			owners[i].UID = otherUID(owners[i].UID)
		}
		moved.SetOwnerReferences(owners)
		return m.to.Client.Create(m.to.TB.Context(), moved)
	})
}

func otherUID(uid types.UID) types.UID { return uid + "-moved" }

// each object that a move moves, where it was.
func (m *move) each(do func(client.Object) error) {
	m.from.TB.Helper()
	for _, list := range []client.ObjectList{
		&clusterv1.ClusterList{}, &infrav1.ContainerClusterList{}, &clusterv1.MachineList{}, &infrav1.ContainerMachineList{},
		&clusterv1.MachinePoolList{}, &infrav1.ContainerMachinePoolList{}, &corev1.SecretList{},
	} {
		must.Succeed(m.from.TB, m.from.Client.List(m.from.TB.Context(), list))
		must.Succeed(m.from.TB, meta.EachListItem(list, func(item runtime.Object) error {
			object, _ := item.(client.Object)
			return do(object)
		}))
	}
}
