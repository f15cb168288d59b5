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

package wait_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

func TestWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		args   []string
		// before the command, and what controllers do when it waits.
		before, controllers func(*commandtest.World)
		code                int
		words               []string
	}{
		"Ready":     {"It is.", []string{"demo"}, nil, nil, 0, []string{"Cluster demo: ready."}},
		"Condition": {"It becomes so; the type and the status may be in any case.", []string{"demo", "--for=condition=available=TRUE"}, nil, available, 0, []string{"Cluster demo: available is true."}},
		"Late": {"What is missing is said.", []string{"demo", "--for=condition=Available", "--timeout", "5s"}, nil, nil, session.ExitNotYet, []string{
			`cluster "demo": timed out after 5s waiting for: Available is true`, "capcon status demo",
		}},
		"NoSuchCondition": {"It may be mistyped.", []string{"demo", "--for=condition=Availabel", "--timeout", "5s"}, available, nil, session.ExitNotYet, []string{
			"the Cluster has no condition Availabel; it has: Available",
		}},
		"Delete":         {"It goes.", []string{"demo", "--for=delete"}, deleteDemo, (*commandtest.World).Vanish, 0, []string{"Cluster demo: deleted."}},
		"DeleteWithLast": {"The plane goes too.", []string{"demo", "--for=delete"}, nil, nil, 0, nil},
		"DeleteAbsent":   {"It is not there.", []string{"other", "--for=delete"}, nil, nil, 0, nil},
		"Absent":         {"It does not come.", []string{"dmeo"}, nil, nil, 1, []string{`cluster "dmeo" not found`, "demo"}},
		"Deleted":        {"It does not come again.", []string{"demo", "--for=condition=Available"}, deleteDemo, (*commandtest.World).Vanish, 1, []string{"was deleted meanwhile"}},
		"NoGoal":         {"The goals are named.", []string{"demo", "--for=Ready=true"}, nil, nil, 1, []string{"--for", "condition=TYPE"}},
		"NoStatus":       {"So are the values.", []string{"demo", "--for=condition=Available=yes"}, nil, nil, 1, []string{"true, false or unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.Created(t)
			w.Controllers = func() {}
			if tc.before != nil {
				tc.before(w)
			}
			if tc.controllers != nil {
				w.Controllers = func() { tc.controllers(w) }
			}
			if name == "DeleteWithLast" {
				w.Plane.Current = plane.State{}
				w.Lose()
			}
			w.Writes = 0
			code, out, errs := w.Run(append([]string{"wait"}, tc.args...)...)
			if code != tc.code || w.Writes > 0 {
				t.Errorf("%s exit code %d, want %d; %d writes:\n%s%s", tc.reason, code, tc.code, w.Writes, out, errs)
			}
			commandtest.Contains(t, out+errs, tc.words...)
		})
	}
}

func deleteDemo(w *commandtest.World) {
	if err := w.Client.Delete(w.T.Context(), w.Cluster()); err != nil {
		w.T.Fatal(err)
	}
}

func available(w *commandtest.World) {
	cluster := w.Cluster()
	cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.AvailableCondition, Status: metav1.ConditionTrue, Reason: "Available"}}
	if err := w.Client.Update(w.T.Context(), cluster); err != nil {
		w.T.Fatal(err)
	}
}
