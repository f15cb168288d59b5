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

	"github.com/google/go-cmp/cmp"
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
	failed := func(conditionType, reason string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: conditionType, Reason: reason, Status: status, Message: "why"}
	}
	cases := map[string]struct {
		reason    string
		condition metav1.Condition
		deleting  bool
		want      int
	}{
		"image":       {"The image will not appear by itself.", failed(infrav1.ContainerReadyCondition, infrav1.ImagePullFailedReason, metav1.ConditionFalse), false, 1},
		"bootstrap":   {"A command failed for good.", failed(infrav1.BootstrapCompletedCondition, infrav1.BootstrapFailedReason, metav1.ConditionFalse), false, 1},
		"pulling":     {"It continues.", failed(infrav1.ContainerReadyCondition, infrav1.ImagePullingReason, metav1.ConditionFalse), false, 0},
		"engine away": {"It comes back.", failed(infrav1.ContainerReadyCondition, infrav1.EngineUnavailableReason, metav1.ConditionUnknown), false, 0},
		"machine being deleted": {
			"Its container's turn comes last.",
			failed(infrav1.BootstrapCompletedCondition, infrav1.BootstrapInterruptedReason, metav1.ConditionFalse), false, 0,
		},
		"being deleted": {
			"On its way out a machine may be in any state.",
			failed(infrav1.ContainerReadyCondition, infrav1.ContainerNotFoundReason, metav1.ConditionFalse), true, 0,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := ready()
			observed.Containers[0].Status.Conditions = []metav1.Condition{tc.condition}
			if name == "machine being deleted" {
				observed.Machines[0].DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}
			if tc.deleting {
				observed.Containers[0].DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}
			got := Summarize(observed).Troubles
			if len(got) != tc.want {
				t.Fatalf("%s Want %d, got %v", tc.reason, tc.want, got)
			}
			for _, trouble := range got {
				if trouble.Remedy == "" || trouble.Message != "why" || trouble.Object != "machine demo-worker-b" {
					t.Errorf("A trouble names object, cause and remedy, got: %+v", trouble)
				}
			}
		})
	}
}

// A kubelet that reports nothing may do so again, so commands that wait continue to.
func TestKubeletSilent(t *testing.T) {
	t.Parallel()
	observed := ready()
	container, machine := &observed.Containers[0], &observed.Machines[0]
	container.Spec.ProviderID = identity.ProviderID("demo-worker-b-1")
	for _, conditionType := range []string{infrav1.ContainerReadyCondition, infrav1.BootstrapCompletedCondition} {
		meta.SetStatusCondition(&container.Status.Conditions, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "Done"})
	}
	if got := Summarize(observed).Troubles; len(got) != 0 {
		t.Fatalf("a Node that is ready is no trouble, got: %+v", got)
	}
	meta.SetStatusCondition(&machine.Status.Conditions, metav1.Condition{
		Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionUnknown, Reason: clusterv1.MachineNodeReadyUnknownReason, Message: "why",
	})
	got := Summarize(observed).Troubles
	if len(got) != 1 || !got[0].MayPass || got[0].Message != "why" || !strings.Contains(got[0].Remedy, "docker exec demo-worker-b-1 systemctl restart kubelet") {
		t.Errorf("the remedy is a command, got: %+v", got)
	}
	meta.SetStatusCondition(&container.Status.Conditions, metav1.Condition{Type: infrav1.ContainerReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.ContainerPausedReason})
	if got := Summarize(observed).Troubles; len(got) != 1 || got[0].Reason != infrav1.ContainerPausedReason {
		t.Errorf("a container that is paused is the cause, got: %+v", got)
	}
}

// A Node that evicts Pods is Ready, and the user has to free something.
func TestNodePressure(t *testing.T) {
	t.Parallel()
	observed := ready()
	machine := &observed.Machines[0]
	set := func(conditionType string, status metav1.ConditionStatus, message string) {
		meta.SetStatusCondition(&machine.Status.Conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: clusterv1.MachineNodeNotHealthyReason, Message: message,
		})
	}
	const message = "* Node.DiskPressure: kubelet has disk pressure"
	set(clusterv1.MachineNodeReadyCondition, metav1.ConditionTrue, "")
	set(clusterv1.MachineNodeHealthyCondition, metav1.ConditionFalse, message)
	got := Summarize(observed).Troubles
	if len(got) != 1 || !got[0].MayPass || got[0].Message != message || !strings.Contains(got[0].Remedy, "capcon doctor") {
		t.Errorf("troubles: %+v, want the pressure with its remedy", got)
	}
	set(clusterv1.MachineNodeReadyCondition, metav1.ConditionFalse, "")
	if got := Summarize(observed).Troubles; len(got) != 0 {
		t.Errorf("troubles: %+v, want none: a Node that starts is not healthy", got)
	}
}

// What runs for the workload cluster is shown where it does not work.
func TestWorkloadTrouble(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		status  metav1.ConditionStatus
		because string
		want    bool
	}{
		"drains":  {infrav1.DrainingReason, metav1.ConditionFalse, "It is retried with an error.", true},
		"fails":   {infrav1.WorkloadControllersNotReadyReason, metav1.ConditionFalse, "Claims and Services wait.", true},
		"starts":  {infrav1.WorkloadControllersConnectingReason, metav1.ConditionFalse, "Each cluster does.", false},
		"foreign": {infrav1.ForeignStorageClassReason, metav1.ConditionTrue, "It works.", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := ready()
			meta.SetStatusCondition(&observed.Infrastructure.Status.Conditions, metav1.Condition{
				Type: infrav1.WorkloadControllersReadyCondition, Status: tc.status, Reason: tc.reason, Message: "no permission",
			})
			got := Summarize(observed).Troubles
			if (len(got) == 1) != tc.want {
				t.Errorf("%s Troubles: %+v", tc.because, got)
			}
		})
	}
}

// Machines that are not there yet are missing too: what is done stays done.
func TestNodesOfMissingMachines(t *testing.T) {
	t.Parallel()
	o := ready()
	o.Machines, o.Containers = o.Machines[1:], o.Containers[1:]
	o.Workers[0].Status.Replicas, o.Workers[0].Status.UpToDateReplicas = nil, nil
	want := Stage{Name: "nodes", Detail: "1 of 2 ready"}
	stages := Summarize(o).Stages
	if diff := cmp.Diff(want, stages[len(stages)-1]); diff != "" {
		t.Errorf("the worker has no Machine yet (-want +got):\n%s", diff)
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
			if err := Replace(t.Context(), api, machine.Namespace, trouble); err != nil {
				t.Fatal(err)
			}
			err := api.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)
			if stays := err == nil; stays != tc.stays || client.IgnoreNotFound(err) != nil {
				t.Errorf("%s The Machine stays: %t, want %t (%v)", tc.reason, stays, tc.stays, err)
			}
		})
	}
}
