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

package placement_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
)

// spread is a cluster over the engines a, b and c.
func spread() *infrav1.ContainerCluster {
	cluster := unplaced("over", nil)
	cluster.Spec = infrav1.ContainerClusterSpec{EngineNames: []string{"a", "b", "c"}, EngineName: "a", Network: infrav1.Network{Name: "lan"}}
	return cluster
}

// machineOn an engine; empty = none yet.
func machineOn(name, engine, deployment string) infrav1.ContainerMachine {
	machine := infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "over", clusterv1.MachineDeploymentNameLabel: deployment},
	}}
	if engine != "" {
		machine.Annotations = map[string]string{infrav1.EngineNameAnnotation: engine}
	}
	return machine
}

// TestChooseEngine: machines of one group are spread, over engines that can have them.
func TestChooseEngine(t *testing.T) {
	t.Parallel()
	lost := func(e *infrav1.ContainerEngine) { e.Spec.Lost = ptr.To(true) }
	for name, tc := range map[string]struct {
		reason   string
		change   func(a, b, c *infrav1.ContainerEngine)
		machines []infrav1.ContainerMachine
		domain   string
		want     string
	}{
		"Empty":  {reason: "The one with the most memory.", change: func(_, b, _ *infrav1.ContainerEngine) { b.Status.Capacity.Memory = quantity("64Gi") }, want: "b"},
		"Spread": {reason: "The one without a machine of the group.", machines: []infrav1.ContainerMachine{machineOn("1", "a", "d"), machineOn("2", "c", "d")}, want: "b"},
		"Others": {reason: "Another MachineDeployment is another group; what it has takes memory.", machines: []infrav1.ContainerMachine{machineOn("1", "a", "x")}, want: "b"},
		"Domain": {reason: "The Machine says where.", machines: []infrav1.ContainerMachine{machineOn("1", "c", "d")}, domain: "c", want: "c"},
		"Lost":   {reason: "Nothing is created there.", change: func(a, b, _ *infrav1.ContainerEngine) { lost(a); b.Spec.Maintenance = ptr.To(true) }, want: "c"},
		"Full": {reason: "It has no memory.", change: func(a, b, _ *infrav1.ContainerEngine) {
			a.Status.Capacity.Memory, b.Status.Capacity.CPU = quantity("512Mi"), quantity("500m")
		}, want: "c"},
		"NoDomain": {reason: "No engine of it can have the machine.", domain: "b", change: func(_, b, _ *infrav1.ContainerEngine) { lost(b) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, c := engineWith("a", "8", "32Gi", nil), engineWith("b", "8", "32Gi", nil), engineWith("c", "8", "32Gi", nil)
			if tc.change != nil {
				tc.change(a, b, c)
			}
			cluster, machine := spread(), machineOn("new", "", "d")
			inventory := placement.Inventory{
				Engines: []infrav1.ContainerEngine{*a, *b, *c}, Clusters: []infrav1.ContainerCluster{*cluster}, Machines: append(tc.machines, machine),
			}
			got, err := inventory.ChooseEngine(placement.Request{Machine: &machine, Cluster: cluster, FailureDomain: tc.domain})
			if got != tc.want {
				t.Errorf("%s Chose %q, want %q: %v", tc.reason, got, tc.want, err)
			}
			if none := new(placement.NoEngineError); (tc.want == "") != errors.As(err, &none) || tc.want == "" && !strings.Contains(err.Error(), "b is lost") {
				t.Errorf("%s %v", tc.reason, err)
			}
		})
	}
}

// TestNoCapacity: the remedy is in the message, and only where capacity is what lacks.
func TestNoCapacity(t *testing.T) {
	t.Parallel()
	const remedy = "set a larger spec.capacity of the engine, smaller limits, or add another engine"
	cluster, machine := spread(), machineOn("new", "", "d")
	for capacity, want := range map[string]bool{"512Mi": true, "32Gi": false} {
		engine := engineWith("a", "8", capacity, nil)
		engine.Spec.Maintenance = ptr.To(!want)
		inventory := placement.Inventory{Engines: []infrav1.ContainerEngine{*engine}, Clusters: []infrav1.ContainerCluster{*cluster}}
		_, err := inventory.ChooseEngine(placement.Request{Machine: &machine, Cluster: cluster})
		if got := strings.Contains(fmt.Sprint(err), remedy); got != want {
			t.Errorf("with %s: %v", capacity, err)
		}
	}
}

// TestChooseHome: the load balancer stays where it is, unless that is lost.
func TestChooseHome(t *testing.T) {
	t.Parallel()
	engines := []infrav1.ContainerEngine{*engineWith("a", "8", "32Gi", nil), *engineWith("b", "8", "32Gi", nil), *engineWith("c", "8", "32Gi", nil)}
	engines[0].Status.Conditions = nil // It does not respond.
	engines[1].Spec.Maintenance = ptr.To(true)
	inventory := placement.Inventory{Engines: engines}
	if home, err := inventory.ChooseHome(spread()); home != "a" {
		t.Errorf("an engine that does not respond was given up for %q: %v", home, err)
	}
	engines[0].Spec.Lost = ptr.To(true)
	if home, err := inventory.ChooseHome(spread()); home != "c" {
		t.Errorf("chose %q, want c: %v", home, err)
	}
	var domains []string
	for _, domain := range inventory.FailureDomains(spread()) {
		domains = append(domains, domain.Name)
	}
	if diff := cmp.Diff([]string{"c"}, domains); diff != "" {
		t.Errorf("failure domains (-want +got):\n%s", diff)
	}
	engines[2].Spec.Lost = ptr.To(true)
	if home, err := inventory.ChooseHome(spread()); err == nil {
		t.Errorf("chose %q of engines that cannot have it", home)
	}
}
