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

package up_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

func TestUpRefusesTheNameOfALostCluster(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		plane  plane.State
		words  []string
	}{
		"NoPlane":      {"The plane was removed.", plane.State{}, []string{"down demo --force"}},
		"AnotherPlane": {"A new one answers.", plane.State{ID: "plane-2", Exists: true, Answers: true, Kubeconfig: []byte("management")}, []string{"down demo --force"}},
		"StoppedPlane": {"A new one does not run.", plane.State{ID: "plane-2", Exists: true}, []string{"down demo --force"}},
		"SamePlane":    {"Only the objects are lost.", plane.State{ID: "plane-1", Exists: true, Answers: true, Kubeconfig: []byte("management")}, []string{"capcon down demo\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.Created(t)
			w.Lose()
			w.Plane.Current = tc.plane
			w.Engine.ResetJournal()
			before := w.Record()
			commandtest.Contains(t, w.MustFail("up", "demo"), append(tc.words, `cluster "demo" has 1 container (owner ID owner)`, "clusterctl move --to-kubeconfig", "forget demo")...)
			if calls := w.Engine.MutatingCalls(); len(calls) > 0 || len(w.Clusters()) > 0 {
				t.Errorf("%s Something was created: %v, %v", tc.reason, calls, w.Clusters())
			}
			if diff := cmp.Diff(before, w.Record()); diff != "" {
				t.Errorf("%s The record changed (-before +after):\n%s", tc.reason, diff)
			}
		})
	}
}
