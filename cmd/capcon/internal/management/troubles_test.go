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

package management

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestTroubles(t *testing.T) {
	t.Parallel()
	set := func(to *[]metav1.Condition, conditionType string, status metav1.ConditionStatus, reason string) {
		meta.SetStatusCondition(to, metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: "why"})
	}
	container := func(conditionType string, status metav1.ConditionStatus, reason string) func(*Observed) {
		return func(o *Observed) { set(&o.Containers[0].Status.Conditions, conditionType, status, reason) }
	}
	workload := func(status metav1.ConditionStatus, reason string) func(*Observed) {
		return func(o *Observed) {
			set(&o.Infrastructure.Status.Conditions, infrav1.WorkloadControllersReadyCondition, status, reason)
		}
	}
	silent := func(o *Observed) {
		o.Containers[0].Spec.ProviderID = identity.ProviderID("demo-worker-b-1")
		set(&o.Machines[0].Status.Conditions, clusterv1.MachineNodeReadyCondition, metav1.ConditionUnknown, clusterv1.MachineNodeReadyUnknownReason)
	}
	pressure := func(o *Observed) {
		set(&o.Machines[0].Status.Conditions, clusterv1.MachineNodeHealthyCondition, metav1.ConditionFalse, clusterv1.MachineNodeNotHealthyReason)
	}
	no, yes, deleted := metav1.ConditionFalse, metav1.ConditionTrue, &metav1.Time{Time: time.Unix(1, 0)}
	const ofMachine, ofCluster = "machine demo-worker-b", "cluster demo"
	cases := map[string]struct {
		reason  string
		changes []func(*Observed)
		// object of the only trouble; empty = there is none.
		object string
		// remedy is a part of the trouble's.
		remedy string
		// mayPass: commands that wait continue to.
		mayPass bool
	}{
		"image":     {"The image will not appear by itself.", []func(*Observed){container(infrav1.ContainerReadyCondition, no, infrav1.ImagePullFailedReason)}, ofMachine, "--image", false},
		"bootstrap": {"A command failed for good.", []func(*Observed){container(infrav1.BootstrapCompletedCondition, no, infrav1.BootstrapFailedReason)}, ofMachine, "delete the Machine", false},
		"pulling":   {"It continues.", []func(*Observed){container(infrav1.ContainerReadyCondition, no, infrav1.ImagePullingReason)}, "", "", false},
		"engine away": {
			"It comes back.", []func(*Observed){container(infrav1.ContainerReadyCondition, metav1.ConditionUnknown, infrav1.EngineUnavailableReason)}, "", "", false,
		},
		"machine being deleted": {"Its container's turn comes last.", []func(*Observed){
			container(infrav1.BootstrapCompletedCondition, no, infrav1.BootstrapInterruptedReason),
			func(o *Observed) { o.Machines[0].DeletionTimestamp = deleted },
		}, "", "", false},
		"being deleted": {"On its way out a machine may be in any state.", []func(*Observed){
			container(infrav1.ContainerReadyCondition, no, infrav1.ContainerNotFoundReason),
			func(o *Observed) { o.Containers[0].DeletionTimestamp = deleted },
		}, "", "", false},
		"kubelet silent":      {"The remedy is a command.", []func(*Observed){silent}, ofMachine, "docker exec demo-worker-b-1 systemctl restart kubelet", true},
		"kubelet of a paused": {"The container is the cause.", []func(*Observed){silent, container(infrav1.ContainerReadyCondition, no, infrav1.ContainerPausedReason)}, ofMachine, "unpause", false},
		"pressure":            {"A Node that evicts Pods is Ready, and the user has to free something.", []func(*Observed){pressure}, ofMachine, "capcon doctor", true},
		"pressure of a starter": {"A Node that starts is not healthy.", []func(*Observed){pressure, func(o *Observed) {
			set(&o.Machines[0].Status.Conditions, clusterv1.MachineNodeReadyCondition, no, clusterv1.MachineNodeNotReadyReason)
		}}, "", "", false},
		"update fails":     {"Cluster API waits for it.", []func(*Observed){container(infrav1.UpdatingCondition, yes, infrav1.UpdateFailedReason)}, ofMachine, "it is retried", true},
		"registry":         {"The node keeps what it has.", []func(*Observed){container(infrav1.RegistriesConfiguredCondition, no, infrav1.RegistryCredentialsInvalidReason)}, ofMachine, "the Secret", true},
		"update":           {"It continues.", []func(*Observed){container(infrav1.UpdatingCondition, yes, infrav1.UpdatingReason)}, "", "", false},
		"workload drains":  {"It is retried with an error.", []func(*Observed){workload(no, infrav1.DrainingReason)}, ofCluster, "it is retried", true},
		"workload fails":   {"Claims and Services wait.", []func(*Observed){workload(no, infrav1.WorkloadControllersNotReadyReason)}, ofCluster, "it is retried", true},
		"workload starts":  {"Each cluster does.", []func(*Observed){workload(no, infrav1.WorkloadControllersConnectingReason)}, "", "", false},
		"workload foreign": {"It works.", []func(*Observed){workload(yes, infrav1.ForeignStorageClassReason)}, "", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := ready()
			for _, change := range tc.changes {
				change(&observed)
			}
			got := Summarize(observed).Troubles
			if tc.object == "" {
				if len(got) > 0 {
					t.Errorf("%s Got %+v", tc.reason, got)
				}
				return
			}
			if len(got) != 1 || got[0].Object != tc.object || got[0].Message != "why" || got[0].MayPass != tc.mayPass || !strings.Contains(got[0].Remedy, tc.remedy) {
				t.Errorf("%s Got %+v", tc.reason, got)
			}
		})
	}
}

const onlyControlPlane = "no other control plane can replace it: create the cluster again, with \"capcon down demo\" and \"capcon up demo\""

// firstControlPlane makes the first machine the only control plane of a cluster that is not
// initialized.
func firstControlPlane(reason string) func(*Observed) {
	return func(o *Observed) {
		o.Machines = o.Machines[:1]
		o.Machines[0].Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		o.Machines[0].Status.NodeRef = clusterv1.MachineNodeReference{}
		status := metav1.ConditionFalse
		if reason == clusterv1.MachineUpToDateReason {
			status = metav1.ConditionTrue
		}
		conditions.Set(&o.Machines[0], metav1.Condition{Type: clusterv1.MachineUpToDateCondition, Status: status, Reason: reason})
		o.Cluster.Status.Initialization.ControlPlaneInitialized = nil
	}
}

func TestReplaceable(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*Observed)
		// failed is the reason of the container's condition.
		failed string
		want   string
		// remedy that the trouble has; empty = any.
		remedy string
	}{
		"worker": {
			reason: "A worker's state is gone with its container.",
			failed: infrav1.ContainerNotFoundReason, want: "demo-worker-b",
		},
		"still there": {
			reason: "What failed for another reason would fail again, and has something to look at.",
			failed: infrav1.BootstrapFailedReason,
		},
		"only control plane": {
			reason: "The cluster went with it: another has nothing to join.",
			change: func(o *Observed) {
				o.Machines = o.Machines[slices.IndexFunc(o.Machines, func(m clusterv1.Machine) bool { return m.Name == "demo-worker-b" }):][:1]
				o.Machines[0].Labels[clusterv1.MachineControlPlaneLabel] = ""
			},
			failed: infrav1.ContainerNotFoundReason, remedy: `the cluster is lost with its only control plane; delete it with "capcon down demo"`,
		},
		"further control plane": {
			reason: "The new one joins those that are ready.",
			change: func(o *Observed) {
				for i := range o.Machines {
					o.Machines[i].Labels[clusterv1.MachineControlPlaneLabel] = ""
				}
			},
			failed: infrav1.BootstrapInterruptedReason, want: "demo-worker-b",
		},
		"corrected control plane": {
			reason: "Nothing else replaces one that failed before the cluster was initialized.",
			change: firstControlPlane(clusterv1.MachineNotUpToDateReason),
			failed: infrav1.BootstrapFailedReason, want: "demo-worker-b",
		},
		"control plane as wanted": {
			reason: "It would fail again.",
			change: firstControlPlane(clusterv1.MachineUpToDateReason),
			failed: infrav1.BootstrapFailedReason,
		},
		"corrected control plane of a cluster": {
			reason: "The cluster ends with it.",
			change: func(o *Observed) {
				firstControlPlane(clusterv1.MachineNotUpToDateReason)(o)
				o.Cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
			},
			failed: infrav1.BootstrapFailedReason, remedy: onlyControlPlane,
		},
		"control plane interrupted too often": {
			reason: "The next one starts again.",
			change: firstControlPlane(clusterv1.MachineUpToDateReason),
			failed: infrav1.BootstrapInterruptedReason, want: "demo-worker-b",
		},
		"corrected worker": {
			reason: "Its MachineDeployment replaces it.",
			change: func(o *Observed) {
				o.Machines[0].Status.NodeRef = clusterv1.MachineNodeReference{}
				conditions.Set(&o.Machines[0], metav1.Condition{
					Type: clusterv1.MachineUpToDateCondition, Status: metav1.ConditionFalse, Reason: clusterv1.MachineNotUpToDateReason,
				})
			},
			failed: infrav1.BootstrapFailedReason,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := ready()
			if tc.change != nil {
				tc.change(&observed)
			}
			conditionType := infrav1.BootstrapCompletedCondition
			if tc.failed == infrav1.ContainerNotFoundReason {
				conditionType = infrav1.ContainerReadyCondition
			}
			observed.Containers[0].Status.Conditions = []metav1.Condition{{Type: conditionType, Reason: tc.failed, Status: metav1.ConditionFalse}}
			troubles := Summarize(observed).Troubles
			if len(troubles) != 1 || troubles[0].Replace != tc.want {
				t.Fatalf("%s Want one trouble that replaces %q, got %+v", tc.reason, tc.want, troubles)
			}
			if tc.remedy != "" && troubles[0].Remedy != tc.remedy {
				t.Errorf("%s Remedy %q, want %q", tc.reason, troubles[0].Remedy, tc.remedy)
			}
		})
	}
}

// The Machine that is deleted is the one that the decision was made about.
func TestReplaceLeavesAChangedMachine(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*testing.T, client.Client, *clusterv1.Machine)
		stays  bool
	}{
		"as observed": {reason: "It lost its container.", change: func(*testing.T, client.Client, *clusterv1.Machine) {}},
		"deleted meanwhile": {
			reason: "Another process replaced it.",
			change: func(t *testing.T, c client.Client, machine *clusterv1.Machine) {
				must.Succeed(t, c.Delete(t.Context(), machine))
			},
		},
		"recovered": {
			reason: "Its container was restored after it was observed.",
			change: func(t *testing.T, c client.Client, machine *clusterv1.Machine) {
				machine.Annotations = map[string]string{"changed": ""}
				must.Succeed(t, c.Update(t.Context(), machine))
			},
			stays: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := ready()
			observed.Containers[0].Status.Conditions = []metav1.Condition{{
				Type: infrav1.ContainerReadyCondition, Reason: infrav1.ContainerNotFoundReason, Status: metav1.ConditionFalse,
			}}
			api := fake.NewClientBuilder().WithScheme(must.Get(Scheme())(t)).WithObjects(&observed.Machines[0]).Build()
			machine := &observed.Machines[0]
			must.Succeed(t, api.Get(t.Context(), client.ObjectKeyFromObject(machine), machine))
			trouble := Summarize(observed).Troubles[0]
			tc.change(t, api, machine.DeepCopy())
			must.Succeed(t, Replace(t.Context(), api, machine.Namespace, trouble))
			err := api.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)
			if stays := err == nil; stays != tc.stays || client.IgnoreNotFound(err) != nil {
				t.Errorf("%s The Machine stays: %t, want %t (%v)", tc.reason, stays, tc.stays, err)
			}
		})
	}
}
