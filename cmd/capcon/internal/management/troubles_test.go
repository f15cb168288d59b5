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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
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
