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

package watching_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/controllers/watching"
)

func TestTakenOver(t *testing.T) {
	t.Parallel()
	owner := func(apiVersion, kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind}}}
	}
	cases := map[string]struct {
		reason string
		object metav1.ObjectMeta
		want   bool
	}{
		"Alone":        {"There is nothing to do for it yet.", metav1.ObjectMeta{}, false},
		"Machine":      {"Its Machine wants it made.", owner("cluster.x-k8s.io/v1beta2", "Machine"), true},
		"OlderMachine": {"A version of the API is not another owner.", owner("cluster.x-k8s.io/v1beta1", "Machine"), true},
		"ControlPlane": {
			"Who had it made does not take it over.",
			owner("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane"), false,
		},
		"OtherMachine": {"A Machine of somebody else is none.", owner("example.test/v1", "Machine"), false},
		"Finalizer":    {"What was made for it has to be cleaned up.", metav1.ObjectMeta{Finalizers: []string{"ours"}}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passes := watching.TakenOver("Machine").Update(event.UpdateEvent{
				ObjectOld: &infrav1.ContainerMachine{}, ObjectNew: &infrav1.ContainerMachine{ObjectMeta: c.object},
			})
			if passes != c.want {
				t.Errorf("%s passes: %t", c.reason, passes)
			}
		})
	}
}

func TestChangesOfOwners(t *testing.T) {
	t.Parallel()
	machine := func(change func(*clusterv1.Machine)) *clusterv1.Machine {
		made := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		change(made)
		return made
	}
	cases := map[string]struct {
		reason    string
		predicate predicate.Predicate
		change    func(*clusterv1.Machine)
		want      bool
	}{
		"Spec":      {"A data secret may have come.", watching.MachineSpecOrNode(), func(m *clusterv1.Machine) { m.Generation++ }, true},
		"Node":      {"A Node's container is never made anew.", watching.MachineSpecOrNode(), func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "n" }, true},
		"Status":    {"Nothing here reads it.", watching.MachineSpecOrNode(), func(m *clusterv1.Machine) { m.Status.Phase = "Running" }, false},
		"OfCluster": {"Nothing here reads it.", watching.ClusterSpec(), func(m *clusterv1.Machine) { m.Status.Phase = "Running" }, false},
		"Paused":    {"A pause is part of the spec.", watching.ClusterSpec(), func(m *clusterv1.Machine) { m.Generation++ }, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passes := c.predicate.Update(event.UpdateEvent{ObjectOld: machine(func(*clusterv1.Machine) {}), ObjectNew: machine(c.change)})
			if passes != c.want {
				t.Errorf("%s passes: %t", c.reason, passes)
			}
			if !c.predicate.Create(event.CreateEvent{Object: machine(c.change)}) {
				t.Error("What a manager finds when it starts is looked at.")
			}
		})
	}
}
