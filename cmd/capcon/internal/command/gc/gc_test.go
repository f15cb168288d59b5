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

package gc_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestGC(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*testing.T, *commandtest.World)
		args   []string
		want   []string
		left   []string
	}{
		"DryRun": {
			reason: "Without --yes nothing happens.",
			want:   []string{"remove  container  lost-a  default/lost  orphaned: its cluster was created", "keep  container  strange-a", "Use --yes to delete 1 object"},
			left:   []string{"demo-a", "lost-a", "strange-a"},
		},
		"Yes": {
			reason: "What this user made and no plane knows goes.",
			args:   []string{"--yes"}, want: []string{"removed container lost-a", "keep  network  capcon"},
			left: []string{"demo-a", "strange-a"},
		},
		"Owner": {
			reason: "And of the rest what the user names.",
			args:   []string{"--yes", "--owner", "strange-id", "--owner", "demo-id"}, want: []string{"removed container lost-a", "removed container strange-a", "keep  container  demo-a"},
			left: []string{"demo-a"},
		},
		"All": {
			reason: "And the rest when the user says so.",
			args:   []string{"--yes", "--all"}, want: []string{"removed container lost-a", "removed container strange-a"},
			left: []string{"demo-a"},
		},
		"Silent": {
			reason: "A plane that does not answer keeps everything.",
			change: func(_ *testing.T, w *commandtest.World) {
				w.Plane.Current = plane.State{ID: "plane", Exists: true, Detail: "is starting"}
			},
			args: []string{"--yes"}, want: []string{"may belong to management plane capcon-plane, which is not available (is starting)", "No orphaned resources"},
			left: []string{"demo-a", "lost-a", "strange-a"},
		},
		"AnotherManager": {
			reason: "A management cluster that is named keeps what it has.",
			change: func(t *testing.T, w *commandtest.World) {
				w.Plane.Current = plane.State{}
				w.Create(commandtest.ContainerCluster("strange", "strange-id"))
				must.Succeed(t, os.WriteFile(filepath.Join(w.StateHome, "theirs"), nil, 0o600))
			},
			args: []string{"--yes", "--all", "--kubeconfig"}, want: []string{"its cluster is in management cluster"},
			left: []string{"demo-a", "strange-a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.WithLeftovers(t)
			if tc.change != nil {
				tc.change(t, w)
			}
			args := append([]string{"gc"}, tc.args...)
			if args[len(args)-1] == "--kubeconfig" {
				args = append(args, filepath.Join(w.StateHome, "theirs"))
			}
			commandtest.Contains(t, w.MustRun(args...), tc.want...)
			if left := w.Containers(); !slices.Equal(left, tc.left) {
				t.Errorf("%s\nLeft are %v, want %v", tc.reason, left, tc.left)
			}
			_, known, err := w.Directory().Load("lost")
			if err != nil || known != slices.Contains(tc.left, "lost-a") {
				t.Errorf("%s\nWhat is gone is forgotten: %t, %v", tc.reason, known, err)
			}
		})
	}
}

// What an interrupted creation of a network left behind has no label but that of
// the creation.
func TestGCTakesWhatIsLeftOfACreation(t *testing.T) {
	t.Parallel()
	w := commandtest.WithLeftovers(t)
	labels := map[string]string{engine.LabelCreating: "capcon"}
	must.Get(w.Engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "capcon-subnet-x", Labels: labels}))(t)
	must.Succeed(t, w.Engine.CreateVolume(t.Context(), "capcon-claim-x", labels))
	commandtest.Contains(t, w.MustRun("gc", "--yes"), "keep  network  capcon-subnet-x", "keep  volume  capcon-claim-x")
	w.Pass(time.Since(w.Now()) + time.Hour)
	commandtest.Contains(t, w.MustRun("gc", "--yes"), "removed network capcon-subnet-x", "removed volume capcon-claim-x")
	if _, err := w.Engine.InspectNetwork(t.Context(), "capcon-subnet-x"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("The network stays: %v", err)
	}
}

// The last of it takes the network along, and an error keeps nothing else.
func TestGCTakesTheNetwork(t *testing.T) {
	t.Parallel()
	w := commandtest.WithLeftovers(t)
	w.Plane.Current = plane.State{}
	w.Engine.FailNext("RemoveContainer", errors.New("busy"))
	w.MustFail("gc", "--yes", "--all")
	if left := w.Containers(); len(left) != 1 {
		t.Errorf("Left are %v, want the one that failed", left)
	}
	out := w.MustRun("gc", "--yes", "--all", "-o", "json")
	var result []any
	if err := json.Unmarshal([]byte(out), &result); err != nil || len(result) != 2 {
		t.Errorf("Want two decisions, got %v:\n%s", err, out)
	}
	if _, err := w.Engine.InspectNetwork(t.Context(), "capcon"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("The network stays: %v", err)
	}
	commandtest.Contains(t, w.MustRun("gc"), "No resources of this provider")
}

// A cluster of that name may be created again between the decision and the removal.
func TestContainerOfTheSameNameIsKept(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"GC": {"gc", "--yes"}, "Down": {"down", "lost", "--keep-plane"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.WithLeftovers(t)
			isReplaced := false
			w.Engine.OnCall(func(call simulated.Call) error {
				if call.Method != "RemoveContainer" || isReplaced {
					return nil
				}
				isReplaced = true
				must.Succeed(t, w.Engine.RemoveContainer(t.Context(), "lost-a"))
				w.AddContainer("lost-a", "lost", "second-id", identity.RoleControlPlane)
				return nil
			})
			w.MustRun(command...)
			if left := w.Containers(); !isReplaced || !slices.Contains(left, "lost-a") {
				t.Errorf("%v removed a container that it had not listed; left are %v", command, left)
			}
		})
	}
}

// What was moved to another management cluster looks like what was lost, until
// it is forgotten: then nothing removes it.
func TestForget(t *testing.T) {
	t.Parallel()
	w := commandtest.WithLeftovers(t)
	w.Create(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}})
	commandtest.Contains(t, w.MustFail("forget", "demo"), "capcon down demo")
	w.MustRun("forget", "lost")
	for _, command := range [][]string{{"gc", "--yes"}, {"down", "lost", "--keep-plane"}, {"forget", "lost"}} {
		w.MustRun(command...)
		if left := w.Containers(); !slices.Contains(left, "lost-a") {
			t.Errorf("%v removed what was forgotten; left are %v", command, left)
		}
	}
}

// TestGCOnEngines: engines of other hosts are looked at too, and one that is not reached keeps what is known of it.
func TestGCOnEngines(t *testing.T) {
	t.Parallel()
	all := []string{"demo-a", "lost-a", "strange-a"}
	cases := map[string]struct {
		reason string
		change func(w *commandtest.World, build *simulated.Engine)
		args   []string
		code   int
		want   []string
		// left on the engine of the other host.
		left []string
	}{
		"DryRun": {
			reason: "Without --yes nothing happens.",
			want: []string{
				"ACTION  KIND  NAME  CLUSTER  ENGINE  REASON", "remove  container  lost-a  default/lost  build  orphaned", "remove  container  here-a  default/here  -  orphaned",
				"keep  container  demo-a  default/demo  build  its cluster is in management plane capcon-plane",
			},
			left: all,
		},
		"Yes": {reason: "What is orphaned goes.", args: []string{"--yes"}, want: []string{"removed container lost-a"}, left: []string{"demo-a", "strange-a"}},
		"All": {
			reason: "A management plane of that host may have it, which is not asked.",
			args:   []string{"--yes", "--all"}, want: []string{"keep  container  strange-a"}, left: []string{"demo-a", "strange-a"},
		},
		"Owner": {reason: "The user names it.", args: []string{"--yes", "--owner", "strange-id"}, want: []string{"removed container strange-a"}, left: []string{"demo-a"}},
		"Twice": {
			reason: "Two objects of one engine are one.",
			change: func(w *commandtest.World, build *simulated.Engine) {
				w.AddEngine("twin")
				w.Engines["twin.example.org"] = build
				commandtest.Update(w, "twin", &infrav1.ContainerEngine{}, func(e *infrav1.ContainerEngine) { e.Annotations = nil })
			},
			args: []string{"--yes"}, want: []string{"removed container lost-a"}, left: []string{"demo-a", "strange-a"},
		},
		"Lost": {
			reason: "It is gone with all that was on it, as its administrator says.",
			change: func(w *commandtest.World, _ *simulated.Engine) {
				commandtest.Update(w, "build", &infrav1.ContainerEngine{}, func(e *infrav1.ContainerEngine) { e.Spec.Lost = ptr.To(true) })
			},
			args: []string{"--yes"}, want: []string{"removed container here-a"}, left: all,
		},
		"Unreachable": {
			reason: "The others are garbage-collected.",
			change: func(w *commandtest.World, _ *simulated.Engine) { w.BreakEngine("build", "connection refused") },
			args:   []string{"--yes"}, code: 1,
			want: []string{"removed container here-a", `engine "build": the management plane does not reach it: Unreachable: connection refused`, "capcon engine add build"}, left: all,
		},
		"Fails": {
			reason: "It is reached, and does not respond to what follows.",
			change: func(_ *commandtest.World, build *simulated.Engine) {
				build.FailNext("ListContainers", errors.New("broken pipe"))
			},
			args: []string{"--yes"}, code: 1, want: []string{"removed container here-a", `engine "build": list containers: broken pipe`}, left: all,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, build := commandtest.WithEngine(t)
			for _, name := range []string{"lost", "strange"} {
				w.AddContainerOn(build, name+"-a", identity.Owner{Namespace: "default", Cluster: name, ID: name + "-id"}, identity.RoleWorker)
			}
			w.AddContainer("here-a", "here", "here-id", identity.RoleWorker)
			must.Succeed(t, errors.Join(w.Directory().Save("lost", state.Cluster{OwnerID: "lost-id", Plane: "plane", EngineName: "build"}),
				w.Directory().Save("here", state.Cluster{OwnerID: "here-id", Plane: "plane"})))
			if tc.change != nil {
				tc.change(w, build)
			}
			code, out, errs := w.Run(append([]string{"gc"}, tc.args...)...)
			if code != tc.code {
				t.Errorf("%s\ngc ended with %d", tc.reason, code)
			}
			commandtest.Contains(t, out+errs, tc.want...)
			var left []string
			for _, container := range must.Get(build.ListContainers(t.Context(), nil))(t) {
				left = append(left, container.Name)
			}
			if !slices.Equal(left, tc.left) {
				t.Errorf("%s\nLeft are %v, want %v", tc.reason, left, tc.left)
			}
			if _, known, err := w.Directory().Load("lost"); err != nil || known != slices.Contains(left, "lost-a") {
				t.Errorf("%s\nThe record remains: %t, %v", tc.reason, known, err)
			}
		})
	}
}
