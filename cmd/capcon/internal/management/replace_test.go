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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

func TestReplaceable(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*Observed)
		// failed is the reason of the container's condition.
		failed string
		want   string
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
			failed: infrav1.ContainerNotFoundReason,
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
				t.Errorf("%s Want one trouble that replaces %q, got %+v", tc.reason, tc.want, troubles)
			}
		})
	}
}

// TestOnlyControlPlaneRemoved: nothing is left that another control plane could join.
func TestOnlyControlPlaneRemoved(t *testing.T) {
	t.Parallel()
	observed := ready()
	observed.Machines = observed.Machines[slices.IndexFunc(observed.Machines, func(m clusterv1.Machine) bool { return m.Name == "demo-worker-b" }):][:1]
	observed.Machines[0].Labels[clusterv1.MachineControlPlaneLabel] = ""
	observed.Containers[0].Status.Conditions = []metav1.Condition{{
		Type: infrav1.ContainerReadyCondition, Reason: infrav1.ContainerNotFoundReason, Status: metav1.ConditionFalse,
	}}
	found := Summarize(observed).Troubles
	if !slices.ContainsFunc(found, func(trouble Trouble) bool { return strings.Contains(trouble.Remedy, "capcon down demo") }) {
		t.Errorf("troubles %+v", found)
	}
}
