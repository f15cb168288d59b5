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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// toBePlaced has the engine of a world's cluster chosen by the provider.
func toBePlaced(w *world.World) {
	world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
		c.Spec.EngineName, c.Spec.EngineSelector = "", &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}}
	})
}

// TestPlacement: a cluster whose engine is to be chosen is nowhere until one has room for it, and stays on that.
func TestPlacement(t *testing.T) {
	t.Parallel()
	s := newSeveral(t)
	w := s.second
	toBePlaced(w)
	before := len(w.Engine.MutatingCalls())
	for range 3 {
		_, _ = w.ReconcileCluster()
		_, _ = w.ReconcileMachine(builders.Machine)
	}
	cluster, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	if state, message := world.State(cluster, infrav1.PreflightPassedCondition); state != "False/"+infrav1.EngineNotChosenReason || !strings.Contains(message, "spec.engineSelector") {
		t.Errorf("the cluster is %s, %q", state, message)
	}
	if calls := w.Engine.MutatingCalls(); len(calls) != before || len(s.own.Journal()) > 0 {
		t.Errorf("called engines for a cluster that is on none: %v, %v", calls[before:], s.own.Journal())
	}
	must.Succeed(t, w.Client.Create(t.Context(), &infrav1.ContainerEngine{
		ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: "second", Labels: map[string]string{"zone": "a"}},
		Spec: infrav1.ContainerEngineSpec{Capacity: infrav1.EngineCapacity{
			CPU: ptr.To(resource.MustParse("4")), Memory: ptr.To(resource.MustParse("4Gi")),
		}},
		Status: infrav1.ContainerEngineStatus{
			Conditions: []metav1.Condition{{Type: infrav1.EngineReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready"}},
		},
	}))
	w.SettleCluster()
	w.SettleMachine(builders.Machine)
	if ofCluster, ofMachine := states(w); ofCluster != "True/Ready" || ofMachine != "True/"+infrav1.ContainerRunningReason {
		t.Errorf("placed: the cluster is %s and the machine %s", ofCluster, ofMachine)
	}
	cluster, _ = world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	engine, _ := world.Get(w, "second", &infrav1.ContainerEngine{})
	want := []infrav1.EngineReservation{{ClusterName: builders.Cluster, CPU: ptr.To(resource.MustParse("2")), Memory: ptr.To(resource.MustParse("2Gi"))}}
	if diff := cmp.Diff(want, engine.Spec.Reservations); diff != "" || cluster.Spec.EngineName != "second" {
		t.Errorf("it is on %q, and has reserved (-want, +got):\n%s", cluster.Spec.EngineName, diff)
	}
	world.Edit(w, "second", &infrav1.ContainerEngine{}, func(e *infrav1.ContainerEngine) { e.Labels = nil })
	w.SettleCluster()
	if ofCluster, _ := states(w); ofCluster != "True/Ready" {
		t.Errorf("its engine is not selected any more: the cluster is %s", ofCluster)
	}
}

// TestDeletedBeforePlacement: nothing of it is anywhere.
func TestDeletedBeforePlacement(t *testing.T) {
	t.Parallel()
	s := newSeveral(t)
	w := s.second
	toBePlaced(w)
	_, _ = w.ReconcileCluster()
	_, _ = w.ReconcileMachine(builders.Machine)
	world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
	_, err := w.ReconcileMachine(builders.Machine)
	must.Succeed(t, err)
	world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
	_, err = w.ReconcileCluster()
	must.Succeed(t, err)
	if _, isThere := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{}); isThere {
		t.Error("the cluster is kept")
	}
}
