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

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// switched returns a world whose cluster runs on an engine while another one answers.
func switched(t *testing.T) *world.World {
	t.Helper()
	w := world.New(t, builders.New())
	w.Nodes.FirstBoot(record.Done)
	w.SettleCluster()
	w.SettleMachine(builders.Machine)
	w.Engine.SwitchStorage("another")
	w.Restart()
	return w
}

// What is not found on another engine than the cluster's is neither created nor given up.
func TestAnotherEngine(t *testing.T) {
	t.Parallel()
	const changed = "Unknown/" + infrav1.EngineChangedReason
	acceptEngine := func(w *world.World) {
		world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
			delete(c.Annotations, infrav1.EngineAnnotation)
		})
	}
	states := func(w *world.World) (string, string) {
		cluster, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
		machine, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
		ofCluster, _ := world.State(cluster, infrav1.LoadBalancerReadyCondition)
		ofMachine, _ := world.State(machine, infrav1.ContainerReadyCondition)
		return ofCluster, ofMachine
	}
	look := func(w *world.World) {
		// Both have to come back later, which is no end that Settle waits for.
		for range 3 {
			_, _ = w.ReconcileCluster()
			_, _ = w.ReconcileMachine(builders.Machine)
		}
	}
	t.Run("Runs", func(t *testing.T) {
		t.Parallel()
		w := switched(t)
		look(w)
		if cluster, machine := states(w); cluster != changed || machine != changed {
			t.Errorf("the cluster is %s and the machine %s, want %s", cluster, machine, changed)
		}
		if containers := must.Get(w.Engine.ListContainers(t.Context(), nil))(t); len(containers) > 0 {
			t.Errorf("created on another engine: %v", containers)
		}
		w.Engine.SwitchStorage("simulated")
		w.SettleCluster()
		w.SettleMachine(builders.Machine)
		if cluster, machine := states(w); cluster != "True/Ready" || machine != "True/"+infrav1.ContainerRunningReason {
			t.Errorf("back on its engine, the cluster is %s and the machine %s", cluster, machine)
		}
	})
	t.Run("Deleted", func(t *testing.T) {
		t.Parallel()
		w := switched(t)
		world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
		world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
		look(w)
		if _, machine := states(w); machine != changed {
			t.Errorf("the machine is %s, want %s: its container may run", machine, changed)
		}
		acceptEngine(w)
		look(w)
		_, cluster := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
		_, machine := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
		if cluster || machine {
			t.Errorf("the user said that the engine is lost; cluster stays: %t, machine stays: %t", cluster, machine)
		}
	})
	t.Run("ClusterDeleted", func(t *testing.T) {
		t.Parallel()
		w := switched(t)
		world.Purge(w, builders.Machine, &infrav1.ContainerMachine{})
		world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
		look(w)
		if _, stays := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{}); !stays {
			t.Error("the cluster was given up; its containers may run on the other engine")
		}
	})
	t.Run("Accepted", func(t *testing.T) {
		t.Parallel()
		w := switched(t)
		acceptEngine(w)
		look(w)
		object, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
		if got := object.Annotations[infrav1.EngineAnnotation]; got != "another" {
			t.Errorf("the recorded engine is %q, want the one that the user accepted", got)
		}
	})
	t.Run("Renamed", func(t *testing.T) {
		t.Parallel()
		w := switched(t)
		w.Engine.SwitchStorage("simulated")
		world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
			c.Annotations[infrav1.EngineAnnotation] = "former name"
		})
		look(w)
		object, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
		if got := object.Annotations[infrav1.EngineAnnotation]; got != "simulated" {
			t.Errorf("the recorded engine is %q: the one that has the cluster's containers is its engine", got)
		}
		if cluster, machine := states(w); cluster != "True/Ready" || machine != "True/"+infrav1.ContainerRunningReason {
			t.Errorf("the cluster is %s and the machine %s", cluster, machine)
		}
	})
	t.Run("WithoutIdentity", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, builders.New())
		w.Engine.SwitchStorage("") // It has no images, so that nothing but the network is created.
		w.Nodes.FirstBoot(record.Done)
		look(w)
		object, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
		if got, recorded := object.Annotations[infrav1.EngineAnnotation]; recorded {
			t.Errorf("recorded %q of an engine without an identity", got)
		}
		if state, message := world.State(object, infrav1.NetworkReadyCondition); state != "True/Ready" {
			t.Errorf("an engine without an identity keeps a cluster from being created: %s %s", state, message)
		}
	})
}
