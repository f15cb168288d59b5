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
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

func TestPower(t *testing.T) {
	t.Parallel()
	const (
		stopped, paused = infrav1.StoppedAnnotation, infrav1.PausedWhileStoppedAnnotation
		stopping        = infrav1.StoppingSinceAnnotation
		starting        = infrav1.StartingSinceAnnotation
	)
	cases := map[string]struct {
		annotations []string
		isPaused    bool
		reported    string
		want        Power
	}{
		"runs":                      {want: PowerOn},
		"paused":                    {isPaused: true, want: PowerOn},
		"runs again":                {reported: infrav1.StartedReason, want: PowerOn},
		"stop requested":            {annotations: []string{stopped}, want: PowerStopping},
		"stop requested again":      {annotations: []string{stopped}, reported: infrav1.StoppedReason, want: PowerStopping},
		"being stopped":             {annotations: []string{stopped, stopping}, reported: infrav1.StoppingReason, want: PowerStopping},
		"paused, being stopped":     {annotations: []string{stopped, stopping}, isPaused: true, want: PowerStopping},
		"stopped":                   {annotations: []string{stopped, stopping, paused}, isPaused: true, reported: infrav1.StoppedReason, want: PowerStopped},
		"stopped, paused by a user": {annotations: []string{stopped, stopping}, isPaused: true, reported: infrav1.StoppedReason, want: PowerStopped},
		"not stopped":               {annotations: []string{stopped, stopping, paused}, isPaused: true, reported: infrav1.StopFailedReason, want: PowerStopping},
		"start requested early":     {annotations: []string{stopping}, want: PowerStarting},
		"being started":             {annotations: []string{starting, paused}, isPaused: true, reported: infrav1.StartingReason, want: PowerStarting},
		"paused, being started":     {annotations: []string{starting}, isPaused: true, reported: infrav1.StartingReason, want: PowerStarting},
		"about to be unpaused":      {annotations: []string{starting, paused}, isPaused: true, reported: infrav1.StartedReason, want: PowerStarting},
		"not started":               {annotations: []string{starting}, reported: infrav1.StartFailedReason, want: PowerOn},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := ready()
			for _, annotation := range tc.annotations {
				metav1.SetMetaDataAnnotation(&observed.Cluster.ObjectMeta, annotation, "")
			}
			if tc.reported != "" {
				conditions.Set(observed.Infrastructure, metav1.Condition{Type: infrav1.StoppedCondition, Status: metav1.ConditionFalse, Reason: tc.reported})
			}
			observed.Cluster.Spec.Paused = ptr.To(tc.isPaused)
			got := Summarize(observed)
			// What the other objects say is of before.
			if got.Power != tc.want || got.Ready() != (tc.want == PowerOn) {
				t.Errorf("power %q, ready: %t, want %q", got.Power, got.Ready(), tc.want)
			}
			if tc.want != PowerOn && got.State() != string(tc.want) {
				t.Errorf("state %q, want %q", got.State(), tc.want)
			}
		})
	}
}

// TestStartFailed: where a machine says itself what it lacks, it is replaced or has its own remedy,
// and a command that waits does not give up for the cluster's report of it.
func TestStartFailed(t *testing.T) {
	t.Parallel()
	for missing, want := range map[bool]bool{false: false, true: true} {
		observed := ready()
		conditions.Set(observed.Infrastructure, metav1.Condition{Type: infrav1.StoppedCondition, Status: metav1.ConditionFalse, Reason: infrav1.StartFailedReason})
		if missing {
			conditions.Set(&observed.Containers[0], metav1.Condition{
				Type: infrav1.ContainerReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.ContainerNotFoundReason,
			})
		}
		got := Summarize(observed).Troubles
		if len(got) == 0 || got[0].Reason != infrav1.StartFailedReason || got[0].MayPass != want {
			t.Errorf("a machine says it: %t, troubles: %+v", missing, got)
		}
	}
}
