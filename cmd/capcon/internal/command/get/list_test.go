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

package get_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

func TestList(t *testing.T) {
	t.Parallel()
	w := commandtest.WithLeftovers(t)
	commandtest.Contains(t, w.MustRun("list"), "management plane capcon-plane: ready", "default/demo  management plane capcon-plane  demo-id  1, 1 running  capcon  1 anonymous",
		"default/lost  none available  lost-id", "default/strange  none available", "capcon gc")

	out := w.MustRun("list", "demo", "-o", "json")
	var result struct {
		Clusters []struct {
			OwnerID, Manager string
			Containers       []struct{ Machine string }
		}
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || len(result.Clusters) != 1 {
		t.Fatalf("Want one cluster, got %v:\n%s", err, out)
	}
	if got := result.Clusters[0]; got.OwnerID != "demo-id" || got.Manager == "" || len(got.Containers) != 1 || got.Containers[0].Machine != "demo-a" {
		t.Errorf("Got %+v", got)
	}
	commandtest.Contains(t, w.MustRun("list", "demo"), "demo-a  control-plane  demo-a  running")
	w.MustFail("list", "absent")
	w.Plane.Current = plane.State{ID: "plane", Exists: true, Detail: "is starting"}
	commandtest.Contains(t, w.MustRun("list"), "not ready: is starting", "default/demo")
}

// TestListOnEngine: a cluster on the engine of another host has its resources there.
func TestListOnEngine(t *testing.T) {
	t.Parallel()
	w, _ := commandtest.WithEngine(t)
	commandtest.Contains(t, w.MustRun("list"), "OWNER ID  ENGINE  CONTAINERS", "default/demo  management plane capcon-plane  demo-id  build  1, 1 running")
	commandtest.Contains(t, w.MustRun("list", "demo", "-o", "json"), `"engineName": "build"`)
	commandtest.Contains(t, w.MustRun("list", "demo"), "demo-a  control-plane  demo-a  running")
	w.BreakEngine("build", "connection refused")
	out := w.MustFail("list")
	commandtest.Contains(t, out, "default/demo  management plane capcon-plane  demo-id  build   unknown     unknown   unknown",
		`engine "build": the management plane does not reach it`, "capcon engine add build")
	if count := strings.Count(out, "connection refused"); count != 1 {
		t.Errorf("the error is there %d times", count)
	}
	commandtest.Contains(t, w.MustFail("list", "-o", "json"), `"unknownOn": [`)
}

// TestListOverEngines: what is known of some engines is shown, also that it is not all. An engine of another namespace is another one.
func TestListOverEngines(t *testing.T) {
	t.Parallel()
	w, _, _ := commandtest.Spread(t)
	of := commandtest.ContainerCluster("theirs", "their-id")
	of.Namespace, of.Spec.EngineName = "team", "build"
	w.Create(of)
	commandtest.Contains(t, w.MustRun("list"), "demo-id   build,other  2, 2 running", "their-id  team/build   unknown")
	w.BreakEngine("other", "connection refused")
	commandtest.Contains(t, w.MustFail("list"), "build,other  1, 1 running; others unknown", "1 anonymous; others unknown")
}
