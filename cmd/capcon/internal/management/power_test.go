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

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

func TestPower(t *testing.T) {
	t.Parallel()
	const stopped, paused = infrav1.StoppedAnnotation, infrav1.PausedWhileStoppedAnnotation
	cases := map[string]struct {
		annotations []string
		isPaused    bool
		want        Power
	}{
		"runs":                      {want: PowerOn},
		"paused":                    {isPaused: true, want: PowerOn},
		"being stopped":             {annotations: []string{stopped}, want: PowerStopping},
		"stopped":                   {annotations: []string{stopped, paused}, isPaused: true, want: PowerStopped},
		"stopped, paused by a user": {annotations: []string{stopped}, isPaused: true, want: PowerStopped},
		"start requested early":     {annotations: []string{infrav1.StoppingSinceAnnotation}, want: PowerStarting},
		"being started":             {annotations: []string{paused}, isPaused: true, want: PowerStarting},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := ready()
			for _, annotation := range tc.annotations {
				metav1.SetMetaDataAnnotation(&observed.Cluster.ObjectMeta, annotation, "")
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
