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

package reconcile_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

func TestSelected(t *testing.T) {
	t.Parallel()
	labeled := metav1.ObjectMeta{Labels: map[string]string{clusterv1.WatchLabel: "ours"}}
	for name, c := range map[string]struct {
		reason string
		object metav1.ObjectMeta
		filter string
		want   bool
	}{
		"NoFilter":        {"All are this manager's.", metav1.ObjectMeta{}, "", true},
		"LabeledNoFilter": {"Those with a label, too.", labeled, "", true},
		"Labeled":         {"Its label says that it is.", labeled, "ours", true},
		"Other":           {"Its label says that it is another's.", labeled, "theirs", false},
		"NotLabeled":      {"Without a label it is not.", metav1.ObjectMeta{}, "ours", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := reconcile.Selected(&infrav1.ContainerMachine{ObjectMeta: c.object}, c.filter); got != c.want {
				t.Errorf("%s selected: %t", c.reason, got)
			}
		})
	}
}

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
		"OtherMachine": {"A Machine of another provider is none.", owner("example.test/v1", "Machine"), false},
		"Finalizer":    {"What was made for it has to be cleaned up.", metav1.ObjectMeta{Finalizers: []string{"ours"}}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passes := reconcile.TakenOver("Machine").Update(event.UpdateEvent{
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
		"Spec":      {"A data secret may have come.", reconcile.MachineSpecOrNodeChanged(), func(m *clusterv1.Machine) { m.Generation++ }, true},
		"Node":      {"A Node's container is never recreated.", reconcile.MachineSpecOrNodeChanged(), func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "n" }, true},
		"Status":    {"Nothing here reads it.", reconcile.MachineSpecOrNodeChanged(), func(m *clusterv1.Machine) { m.Status.Phase = "Running" }, false},
		"OfCluster": {"Nothing here reads it.", reconcile.ClusterSpecChanged(), func(m *clusterv1.Machine) { m.Status.Phase = "Running" }, false},
		"Stopped":   {"Containers are left stopped, or started.", reconcile.ClusterSpecChanged(), func(m *clusterv1.Machine) { m.Annotations = map[string]string{infrav1.StoppedAnnotation: ""} }, true},
		"Annotated": {"Other annotations are not read.", reconcile.ClusterSpecChanged(), func(m *clusterv1.Machine) { m.Annotations = map[string]string{"other": ""} }, false},
		"Paused":    {"A pause is part of the spec.", reconcile.ClusterSpecChanged(), func(m *clusterv1.Machine) { m.Generation++ }, true},
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

func TestChangesOfInstances(t *testing.T) {
	t.Parallel()
	condition := func(object conditions.Setter, conditionType, reason string) {
		conditions.Set(object, metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason})
	}
	cases := map[string]struct {
		reason string
		change func(*infrav1.ContainerMachine)
		want   bool
	}{
		"Spec":  {"It may have been given its provider ID.", func(m *infrav1.ContainerMachine) { m.Generation++ }, true},
		"Ready": {"The pool says how many are ready, and why others are not.", func(m *infrav1.ContainerMachine) { condition(m, "Ready", "New") }, true},
		"Missing": {"It is replaced.", func(m *infrav1.ContainerMachine) {
			condition(m, infrav1.ContainerReadyCondition, infrav1.ContainerNotFoundReason)
		}, true},
		"Message": {"The pool does not read it.", func(m *infrav1.ContainerMachine) { m.Status.Conditions[0].Message = "new" }, false},
		"Other":   {"The pool reads it from Ready.", func(m *infrav1.ContainerMachine) { condition(m, "BootstrapCompleted", "New") }, false},
		"Labels":  {"They are put back.", func(m *infrav1.ContainerMachine) { m.Labels = map[string]string{"new": ""} }, true},
		"Record":  {"It may be outdated now.", func(m *infrav1.ContainerMachine) { m.Annotations = map[string]string{"new": ""} }, true},
		"Owner":   {"It is put back.", func(m *infrav1.ContainerMachine) { m.OwnerReferences = make([]metav1.OwnerReference, 1) }, true},
		"Addresses": {"The pool reports them.", func(m *infrav1.ContainerMachine) {
			m.Status.Addresses = clusterv1.MachineAddresses{{Address: "new"}}
		}, true},
		"Finalizer": {"It is its own business.", func(m *infrav1.ContainerMachine) { m.Finalizers = []string{"new"} }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
			condition(before, "Ready", "Old")
			after := before.DeepCopy()
			c.change(after)
			if passes := reconcile.PoolInstanceChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); passes != c.want {
				t.Errorf("%s passes: %t", c.reason, passes)
			}
			if !reconcile.PoolInstanceChanged().Delete(event.DeleteEvent{Object: before}) {
				t.Error("What is gone is looked at.")
			}
		})
	}
}

func TestHealthOfMachines(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, condition string
		want              bool
	}{
		"Available":  {"It counts for its pool now.", clusterv1.MachineAvailableCondition, true},
		"Unhealthy":  {"It may have to be replaced.", clusterv1.MachineHealthCheckSucceededCondition, true},
		"Remediated": {"It has to be replaced.", clusterv1.MachineOwnerRemediatedCondition, true},
		"Other":      {"Nothing here reads it.", clusterv1.MachineUpToDateCondition, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := &clusterv1.Machine{}
			conditions.Set(after, metav1.Condition{Type: c.condition, Status: metav1.ConditionTrue, Reason: "New"})
			if passes := reconcile.MachineSpecOrHealthChanged().Update(event.UpdateEvent{ObjectOld: &clusterv1.Machine{}, ObjectNew: after}); passes != c.want {
				t.Errorf("%s passes: %t", c.reason, passes)
			}
		})
	}
}
