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
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// withBuild is a world whose management plane has the engine build.
func withBuild(t *testing.T) (w *commandtest.World, build *simulated.Engine) {
	t.Helper()
	w = commandtest.New(t)
	w.Plane.Current = commandtest.Running("plane")
	w.Controllers = w.Become
	build = w.AddEngine("build")
	w.Writes = 0
	return w, build
}

// TestUpOnEngine: a cluster is created on the engine of another host, and stays there.
func TestUpOnEngine(t *testing.T) {
	t.Parallel()
	w, build := withBuild(t)
	commandtest.Contains(t, w.MustRun("up", "demo", "--engine-name", "build", "--dry-run"), `spec.topology.variables[engineName].value: "build"`)
	if w.Writes > 0 {
		t.Errorf("--dry-run wrote %d times", w.Writes)
	}
	commandtest.Contains(t, w.MustRun("up", "demo", "--engine-name", "build"), "build, docker", "ssh://me@build.example.org")
	if got := string(variable(w, "engineName")); got != `"build"` {
		t.Errorf("variable engineName is %s", got)
	}
	if got := w.Record().EngineName; got != "build" {
		t.Errorf("the record has engine %q", got)
	}
	must.Get(build.InspectContainer(t.Context(), "demo-a-1234"))(t)
	if containers := w.Containers(); len(containers) > 0 {
		t.Errorf("the engine of the management plane has %v", containers)
	}

	before := w.Cluster()
	w.Writes = 0
	for _, args := range [][]string{{}, {"--engine-name", "build"}} {
		w.MustRun(append([]string{"up", "demo"}, args...)...)
	}
	commandtest.Contains(t, w.MustFail("up", "demo", "--engine-name", "other"), `--engine-name "other": immutable, the cluster is on engine "build"`, "create another cluster")
	if diff := cmp.Diff(before, w.Cluster()); diff != "" || w.Writes > 0 {
		t.Errorf("%d writes, and the Cluster (-before +after):\n%s", w.Writes, diff)
	}
	// What an update needs is on the engine of the cluster.
	w.MustRun("up", "demo", "--memory", "4Gi")
	commandtest.Contains(t, w.MustFail("up", "demo", "--image", "localhost/none:v1.36.3"), `engine "build": image "localhost/none:v1.36.3"`)
}

// TestUpOverSeveralEngines: all are checked, and get the images, before anything is created.
func TestUpOverSeveralEngines(t *testing.T) {
	t.Parallel()
	const image = "localhost/own/node:v1.36.3"
	w, build := withBuild(t)
	other := w.AddEngine("other")
	w.Engine.AddImage(engine.Image{Tags: []string{image}}, map[string][]byte{
		"kind/version": []byte("v1.36.3"), "kind/manifests/default-cni.yaml": []byte(templates.Flannel),
	})
	over := []string{"up", "demo", "--engines", "build,other", "--network", "lan", "--image", image}
	commandtest.Contains(t, w.MustFail("up", "demo", "--engines", "build,build", "--engine-name", "x"), "--engines", "different engines", "--engine-name", "--network")
	commandtest.Contains(t, w.MustFail(over...), `of ContainerEngine "build" not found`, `"docker network create -d macvlan"`)
	for index, eng := range []*simulated.Engine{build, other} {
		eng.AddNetwork(engine.Network{Name: "lan", Driver: "macvlan", Subnets: []engine.Subnet{{
			Prefix: netip.MustParsePrefix("10.88.0.0/24"), Dynamic: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 88, 0, byte(192 + 16*index)}), 28),
		}}})
	}
	_, _, shown := w.Run(over...)
	commandtest.Contains(t, shown, "engine: build, ", "; other, ")
	if got := string(variable(w, "engineNames")); got != `["build","other"]` {
		t.Errorf("variable engineNames is %s", got)
	}
	if got := string(variable(w, "storage")); got != `{"type":"NodeLocal"}` {
		t.Errorf("variable storage is %s", got)
	}
	for name, eng := range map[string]*simulated.Engine{"build": build, "other": other} {
		if _, err := eng.InspectImage(t.Context(), image); err != nil {
			t.Errorf("engine %s: %v", name, err)
		}
	}
	commandtest.Contains(t, w.MustFail("up", "demo", "--engines", "build,third", "--network", "lan"), "the cluster is on build,other")

	lose := func(lost bool) {
		commandtest.Update(w, "other", &infrav1.ContainerEngine{}, func(e *infrav1.ContainerEngine) { e.Spec.Lost = ptr.To(lost) })
	}
	w.BreakEngine("other", "no route to host")
	commandtest.Contains(t, w.MustFail("up", "demo", "--memory", "4Gi"), `engine "other"`, "no route to host")
	lose(true)
	w.MustRun("up", "demo", "--memory", "4Gi")
}

// TestUpKeepsTheEngineOfThePlane: a cluster is not moved.
func TestUpKeepsTheEngineOfThePlane(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.AddEngine("build")
	w.Writes = 0
	commandtest.Contains(t, w.MustFail("up", "demo", "--engine-name", "build"), "immutable, the cluster is on the engine of the management plane")
	if w.Writes > 0 {
		t.Errorf("%d writes", w.Writes)
	}
}

// TestUpCopiesImages that the engine of the management plane has: they may be in no registry.
func TestUpCopiesImages(t *testing.T) {
	t.Parallel()
	const image = "localhost/own/node:v1.36.3"
	w, build := withBuild(t)
	w.Engine.AddImage(engine.Image{Tags: []string{image}}, map[string][]byte{
		"kind/version": []byte("v1.36.3"), "kind/manifests/default-cni.yaml": []byte(templates.Flannel),
	})
	w.MustRun("up", "demo", "--engine-name", "build", "--image", image)
	must.Get(build.InspectImage(t.Context(), image))(t)
}

// TestUpOnEngineOfFile: the variable of a file is the flag.
func TestUpOnEngineOfFile(t *testing.T) {
	t.Parallel()
	w, _ := withBuild(t)
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	must.Succeed(t, os.WriteFile(path, []byte(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: demo
spec:
  topology:
    classRef:
      name: container
    version: v1.36.3
    controlPlane:
      replicas: 1
    workers:
      machineDeployments:
        - class: worker
          name: worker
          replicas: 1
    variables:
      - name: engineName
        value: build
`), 0o600))
	w.MustRun("up", "-f", path)
	if got := string(variable(w, "engineName")); got != `"build"` {
		t.Errorf("variable engineName is %s", got)
	}
	w.Writes = 0
	w.MustRun("up", "-f", path)
	text := must.Get(os.ReadFile(path))(t)
	must.Succeed(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "value: build", "value: other")), 0o600))
	commandtest.Contains(t, w.MustFail("up", "-f", path), "spec.topology.variables[engineName].value", `immutable, the cluster is on engine "build"`)
	if w.Writes > 0 {
		t.Errorf("%d writes", w.Writes)
	}
}

// TestUpRefusesAnEngine on which no cluster can be created, before anything is.
func TestUpRefusesAnEngine(t *testing.T) {
	t.Parallel()
	change := func(change func(*infrav1.ContainerEngine)) func(w *commandtest.World) {
		return func(w *commandtest.World) { commandtest.Update(w, "build", &infrav1.ContainerEngine{}, change) }
	}
	cases := map[string]struct {
		reason, name string
		change       func(w *commandtest.World)
		want         []string
	}{
		"Invalid": {
			reason: "No object has such a name.", name: "A_", want: []string{`--engine-name "A_"`, "capcon engine list"},
		},
		"NoPlane": {
			reason: "A new management plane has no engines.",
			change: func(w *commandtest.World) { w.Plane.Current = plane.State{} },
			want:   []string{`engine "build": not found in the management cluster`, "which has no engines", "capcon engine add"},
		},
		"Unknown": {reason: "A name may be mistyped.", name: "bild", want: []string{`engine "bild": not found`, "which has build", "capcon engine add"}},
		"Drained": {
			reason: "Its administrator wants no more clusters there.",
			change: change(func(e *infrav1.ContainerEngine) { e.Spec.Maintenance = ptr.To(true) }),
			want:   []string{`engine "build": no clusters are created on it (spec.maintenance)`, "capcon engine drain build --undo"},
		},
		"Unreachable": {
			reason: "The cluster would wait for it.",
			change: func(w *commandtest.World) { w.BreakEngine("build", "connection refused") },
			want:   []string{`engine "build": the management plane does not reach it: Unreachable: connection refused`, "capcon engine add build"},
		},
		"NotYet": {
			reason: "It may be refused.",
			change: change(func(e *infrav1.ContainerEngine) { e.Status.Conditions = nil }),
			want:   []string{`engine "build": the management plane has not connected to it yet`, "capcon engine list"},
		},
		"Changed": {
			reason: "The condition is that of another endpoint.",
			change: change(func(e *infrav1.ContainerEngine) {
				e.Generation = 2
				e.Status.Conditions = []metav1.Condition{{
					Type: infrav1.EngineReachableCondition, Status: metav1.ConditionTrue, Reason: infrav1.EngineReachableReason, ObservedGeneration: 1,
				}}
			}),
			want: []string{"has not connected to it yet"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, build := withBuild(t)
			if tc.change != nil {
				tc.change(w)
			}
			if tc.name == "" {
				tc.name = "build"
			}
			commandtest.Contains(t, w.MustFail("up", "demo", "--engine-name", tc.name), tc.want...)
			if w.Writes > 0 || w.Plane.Created > 0 || len(w.Clusters()) > 0 {
				t.Errorf("%s %d writes, %d management planes, clusters %v", tc.reason, w.Writes, w.Plane.Created, w.Clusters())
			}
			if calls := append(w.Engine.MutatingCalls(), build.MutatingCalls()...); len(calls) > 0 {
				t.Errorf("%s Engines were changed: %v", tc.reason, calls)
			}
		})
	}
}
