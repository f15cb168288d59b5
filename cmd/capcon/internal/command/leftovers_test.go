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

package command

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// leftoverWorld has a cluster that its plane knows, one that this user made and
// no plane knows, and one of another user.
func leftoverWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	ctx := t.Context()
	w.plane.state = plane.State{ID: "plane", Exists: true, Answers: true, Kubeconfig: []byte("management")}
	must.Get(network.Ensure(ctx, w.engine, network.Request{}))(t)
	for _, name := range []string{"demo", "lost", "strange"} {
		labels := identity.Owner{Namespace: "default", Cluster: name, ID: name + "-id"}.ContainerLabels(identity.RoleControlPlane, name+"-a")
		_, err := w.engine.CreateContainer(ctx, engine.Spec{
			Name: name + "-a", Image: "localhost/capcon/node:v1.36.3", Labels: labels, Attachment: engine.Attachment{Network: "capcon"},
		})
		if err = errors.Join(err, w.engine.StartContainer(ctx, name+"-a")); err != nil {
			t.Fatal(err)
		}
	}
	cluster := &infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "demo",
	}, Spec: infrav1.ContainerClusterSpec{OwnerID: "demo-id"}}
	directory := state.For(filepath.Join(w.state, "capcon"), "simulated", "simulated")
	err := errors.Join(w.client.Create(ctx, cluster),
		directory.Save("demo", state.Cluster{OwnerID: "demo-id"}), directory.Save("lost", state.Cluster{OwnerID: "lost-id", Plane: "plane"}))
	must.Succeed(t, err)
	return w
}

func containerNames(t *testing.T, w *world) []string {
	t.Helper()
	containers := must.Get(w.engine.ListContainers(t.Context(), nil))(t)
	var names []string
	for _, container := range containers {
		names = append(names, container.Name)
	}
	return names
}

func TestList(t *testing.T) {
	t.Parallel()
	w := leftoverWorld(t)
	code, out, errs := w.run("list")
	if code != 0 {
		t.Fatalf("list ended with %d: %s", code, errs)
	}
	mustContain(t, squeeze(out), "management plane capcon-plane: ready", "default/demo  management plane capcon-plane  demo-id  1, 1 running  capcon  1 anonymous",
		"default/lost  none available  lost-id", "default/strange  none available", "capcon gc")

	code, out, _ = w.run("list", "demo", "-o", "json")
	var result struct {
		Clusters []struct {
			OwnerID, Manager string
			Containers       []struct{ Machine string }
		}
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || code != 0 || len(result.Clusters) != 1 {
		t.Fatalf("Want one cluster, got %d, %v:\n%s", code, err, out)
	}
	if got := result.Clusters[0]; got.OwnerID != "demo-id" || got.Manager == "" || len(got.Containers) != 1 || got.Containers[0].Machine != "demo-a" {
		t.Errorf("Got %+v", got)
	}
	_, out, _ = w.run("list", "demo")
	mustContain(t, squeeze(out), "demo-a  control-plane  demo-a  running")
	if code, _, errs := w.run("list", "absent"); code != 1 {
		t.Errorf("Want an error for what there is nothing of, got %d: %s", code, errs)
	}
	w.plane.state = plane.State{ID: "plane", Exists: true, Detail: "is starting"}
	_, out, _ = w.run("list")
	mustContain(t, out, "not ready: is starting", "default/demo")
}

func TestGC(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*testing.T, *world)
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
			change: func(_ *testing.T, w *world) {
				w.plane.state = plane.State{ID: "plane", Exists: true, Detail: "is starting"}
			},
			args: []string{"--yes"}, want: []string{"may belong to management plane capcon-plane, which is not available (is starting)", "No orphaned resources"},
			left: []string{"demo-a", "lost-a", "strange-a"},
		},
		"AnotherManager": {
			reason: "A management cluster that is named keeps what it has.",
			change: func(t *testing.T, w *world) {
				cluster := &infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: "strange",
				}, Spec: infrav1.ContainerClusterSpec{OwnerID: "strange-id"}}
				w.plane.state = plane.State{}
				must.Succeed(t, errors.Join(w.client.Create(t.Context(), cluster), os.WriteFile(filepath.Join(w.state, "theirs"), nil, 0o600)))
			},
			args: []string{"--yes", "--all", "--kubeconfig"}, want: []string{"its cluster is in management cluster"},
			left: []string{"demo-a", "strange-a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := leftoverWorld(t)
			if tc.change != nil {
				tc.change(t, w)
			}
			args := append([]string{"gc"}, tc.args...)
			if args[len(args)-1] == "--kubeconfig" {
				args = append(args, filepath.Join(w.state, "theirs"))
			}
			code, out, errs := w.run(args...)
			if code != 0 {
				t.Errorf("%s\ngc ended with %d: %s", tc.reason, code, errs)
			}
			mustContain(t, squeeze(out), tc.want...)
			if left := containerNames(t, w); !slices.Equal(left, tc.left) {
				t.Errorf("%s\nLeft are %v, want %v", tc.reason, left, tc.left)
			}
			_, known, err := state.For(filepath.Join(w.state, "capcon"), "simulated", "simulated").Load("lost")
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
	w := leftoverWorld(t)
	labels := map[string]string{engine.LabelCreating: "capcon"}
	_, err := w.engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "capcon-subnet-x", Labels: labels})
	if err = errors.Join(err, w.engine.CreateVolume(t.Context(), "capcon-claim-x", labels)); err != nil {
		t.Fatal(err)
	}
	_, out, _ := w.run("gc", "--yes")
	mustContain(t, squeeze(out), "keep  network  capcon-subnet-x", "keep  volume  capcon-claim-x")
	w.mu.Lock()
	w.now = time.Now().Add(time.Hour)
	w.mu.Unlock()
	code, out, errs := w.run("gc", "--yes")
	if code != 0 {
		t.Errorf("gc ended with %d: %s", code, errs)
	}
	mustContain(t, out, "removed network capcon-subnet-x", "removed volume capcon-claim-x")
	if _, err := w.engine.InspectNetwork(t.Context(), "capcon-subnet-x"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("The network stays: %v", err)
	}
}

// The last of it takes the network along, and an error keeps nothing else.
func TestGCTakesTheNetwork(t *testing.T) {
	t.Parallel()
	w := leftoverWorld(t)
	w.plane.state = plane.State{}
	w.engine.FailNext("RemoveContainer", errors.New("busy"))
	if code, out, errs := w.run("gc", "--yes", "--all"); code != 1 {
		t.Errorf("Want the error, got %d:\n%s%s", code, out, errs)
	}
	if left := containerNames(t, w); len(left) != 1 {
		t.Errorf("Left are %v, want the one that failed", left)
	}
	code, out, errs := w.run("gc", "--yes", "--all", "-o", "json")
	if code != 0 {
		t.Errorf("gc ended with %d: %s", code, errs)
	}
	var result []any
	if err := json.Unmarshal([]byte(out), &result); err != nil || len(result) != 2 {
		t.Errorf("Want two decisions, got %v:\n%s", err, out)
	}
	if _, err := w.engine.InspectNetwork(t.Context(), "capcon"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("The network stays: %v", err)
	}
	_, out, _ = w.run("gc")
	mustContain(t, out, "No resources of this provider")
}

// A cluster of that name may be created again between the decision and the removal.
func TestContainerOfTheSameNameIsKept(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"GC": {"gc", "--yes"}, "Down": {"down", "lost", "--keep-plane"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := leftoverWorld(t)
			isReplaced := false
			w.engine.OnCall(func(call simulated.Call) error {
				if call.Method != "RemoveContainer" || isReplaced {
					return nil
				}
				isReplaced = true
				must.Succeed(t, w.engine.RemoveContainer(t.Context(), "lost-a"))
				w.addNode(t, "lost", "second-id")
				return nil
			})
			if code, out, errs := w.run(command...); code != 0 {
				t.Errorf("%v ended with %d:\n%s%s", command, code, out, errs)
			}
			if left := containerNames(t, w); !isReplaced || !slices.Contains(left, "lost-a") {
				t.Errorf("%v removed a container that it had not listed; left are %v", command, left)
			}
		})
	}
}

// What was moved to another management cluster looks like what was lost, until
// it is forgotten: then nothing removes it.
func TestForget(t *testing.T) {
	t.Parallel()
	w := leftoverWorld(t)
	present := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}
	must.Succeed(t, w.client.Create(t.Context(), present))
	if code, _, errs := w.run("forget", "demo"); code != 1 || !strings.Contains(errs, "capcon down demo") {
		t.Errorf("A cluster of the plane is not forgotten; got %d: %s", code, errs)
	}
	if code, _, errs := w.run("forget", "lost"); code != 0 {
		t.Errorf("forget ended with %d: %s", code, errs)
	}
	for _, command := range [][]string{{"gc", "--yes"}, {"down", "lost", "--keep-plane"}, {"forget", "lost"}} {
		if code, out, errs := w.run(command...); code != 0 {
			t.Errorf("%v ended with %d:\n%s%s", command, code, out, errs)
		}
		if left := containerNames(t, w); !slices.Contains(left, "lost-a") {
			t.Errorf("%v removed what was forgotten; left are %v", command, left)
		}
	}
}
