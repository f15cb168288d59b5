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

package supportbundle_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// bundleWorld is logsWorld with the secret of the bootstrap data wherever it can get to.
func bundleWorld(t *testing.T) *commandtest.World {
	t.Helper()
	w := commandtest.WithLogs(t)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}}
	}
	must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{Name: plane.DefaultName, Image: commandtest.PlaneImage}))(t)
	w.Engine.SetLog(plane.DefaultName, "the plane says swordfish42\n")
	w.Engine.SetLog("demo-lb", "the balancer says swordfish42\n")
	commandtest.Update(w, "demo-a", &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
		machine.Status.Conditions = []metav1.Condition{{Type: "Ready", Message: "two lines:\n\"swordfish42\""}}
		machine.Status.NodeRef.Name = "demo-a"
	})
	w.Create(
		&clusterv1.Cluster{ObjectMeta: meta("demo"), Spec: clusterv1.ClusterSpec{
			Topology: clusterv1.Topology{ClassRef: clusterv1.ClusterClassRef{Name: "class"}},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: "demo",
			},
		}, Status: clusterv1.ClusterStatus{Conditions: []metav1.Condition{
			{Type: clusterv1.ClusterAvailableCondition, Status: metav1.ConditionFalse, Reason: "Down", Message: "swordfish42"},
		}}},
		&clusterv1.ClusterClass{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "class"},
			Spec: clusterv1.ClusterClassSpec{Infrastructure: clusterv1.InfrastructureClass{
				TemplateRef: clusterv1.ClusterClassTemplateReference{Kind: "ContainerClusterTemplate", Name: "class"},
			}},
		},
		&infrav1.ContainerClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "class"}},
		&bootstrapv1.KubeadmConfig{ObjectMeta: meta("demo-a"), Spec: bootstrapv1.KubeadmConfigSpec{
			Files: []bootstrapv1.File{{Path: "/etc/other", Permissions: "0600", Content: "open sesame"}},
		}},
		&clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other-a"},
			Spec:       clusterv1.MachineSpec{ClusterName: "other", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("none")}},
		},
		event("demo-a", "swordfish42 is wrong"), event("other-a", "of another cluster"),
	)
	return w
}

func event(machine, message string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: machine + ".1"},
		InvolvedObject: corev1.ObjectReference{Kind: "Machine", Name: machine}, Message: message,
	}
}

// readBundle returns the files by their names below the root.
func readBundle(t *testing.T, path string) map[string]string {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	plain := must.Get(gzip.NewReader(file))(t)
	files := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		content, failed := io.ReadAll(archive)
		must.Succeed(t, errors.Join(err, failed))
		_, name, _ := strings.Cut(header.Name, "/")
		files[name] = string(content)
	}
}

func TestSupportBundle(t *testing.T) {
	const node, balancer = "containers/demo-a/", "containers/demo-lb/"
	containers := []string{
		node + "container.json", node + "containers.txt", node + "images.txt", node + "journal.log",
		balancer + "console.log", balancer + "container.json",
	}
	objects := []string{
		"events.yaml", "host.json", "management-plane.log",
		"objects/Cluster/demo.yaml", "objects/ClusterClass/class.yaml", "objects/ContainerCluster/demo.yaml",
		"objects/ContainerClusterTemplate/class.yaml", "objects/KubeadmConfig/demo-a.yaml", "objects/Machine/demo-a.yaml",
		"status.json",
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*testing.T, *commandtest.World)
		want   []string
		// errs are in errors.txt and on stderr.
		errs []string
	}{
		"All": {reason: "Nothing is missing.", want: slices.Concat(containers, objects)},
		"PlaneSilent": {
			reason: "Containers and the plane's log need no plane that answers.",
			change: func(_ *testing.T, w *commandtest.World) {
				w.Plane.Current = plane.State{Exists: true, Detail: "is starting"}
			},
			want: slices.Concat(containers, []string{"errors.txt", "host.json", "management-plane.log", "status.json"}),
			errs: []string{"objects are missing", "not ready (is starting)"},
		},
		"PlaneRemoved": {
			reason: "Memory knows the cluster.",
			change: func(t *testing.T, w *commandtest.World) {
				w.Plane.Current = plane.State{}
				must.Succeed(t, w.Engine.RemoveContainer(t.Context(), plane.DefaultName))
			},
			want: slices.Concat(containers, []string{"errors.txt", "host.json", "status.json"}),
			errs: []string{"objects are missing", "no management cluster found"},
		},
		"OneKindFails": {
			reason: "Only what fails is missing.",
			change: func(t *testing.T, w *commandtest.World) {
				w.ReadErrors = map[string]error{"Cluster": errors.New("etcd: no leader, password=swordfish42")}
			},
			want: slices.Concat(containers, []string{"errors.txt"}, objects),
			errs: []string{"status: ", "etcd: no leader, password=[redacted]"},
		},
		"ContainerFails": {
			reason: "The other artifacts of the container are there.",
			change: func(_ *testing.T, w *commandtest.World) { w.Engine.FailNext("Exec", errors.New("broken pipe")) },
			want: slices.DeleteFunc(slices.Concat(containers, []string{"errors.txt"}, objects), func(name string) bool {
				return name == node+"journal.log"
			}),
			errs: []string{"containers: ", "run journalctl: ", "broken pipe"},
		},
		"NoContainers": {
			reason: "A cluster without an owner has objects.",
			change: func(t *testing.T, w *commandtest.World) { withoutOwner(w) },
			want:   slices.DeleteFunc(slices.Clone(objects), func(name string) bool { return name == "objects/ContainerCluster/demo.yaml" }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			w := bundleWorld(t)
			if tc.change != nil {
				tc.change(t, w)
			}
			code, out, errs := w.Run("support-bundle", "demo")
			const path = "support-bundle-demo-19700101T000000Z.tar.gz"
			info, err := os.Stat(path)
			if err != nil || code != 0 || info.Mode() != 0o600 {
				t.Fatalf("%s\nGot %d, %v, %v: %s", tc.reason, code, info, err, errs)
			}
			commandtest.Contains(t, out, "Wrote "+path+": ", "Review the file")
			files := readBundle(t, path)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(files))); diff != "" {
				t.Errorf("%s\nFiles (-want +got):\n%s\n%s", tc.reason, diff, errs)
			}
			commandtest.Contains(t, files["errors.txt"], tc.errs...)
			commandtest.Contains(t, errs, tc.errs...)
			if tc.errs == nil && errs != "" {
				t.Errorf("%s\nComplaints: %s", tc.reason, errs)
			}
			if strings.Contains(files["errors.txt"], "objects are missing") {
				return // only the plane has the secrets
			}
			for file, content := range files {
				for _, secret := range []string{"swordfish42", "open sesame", "another cluster"} {
					if strings.Contains(content, secret) {
						t.Errorf("%q is in %s:\n%s", secret, file, content)
					}
				}
			}
		})
	}
}

// withoutOwner makes the cluster one that has just been created.
func withoutOwner(w *commandtest.World) {
	must.Succeed(w.T, w.Client.Delete(w.T.Context(), commandtest.ContainerCluster("demo", "")))
	must.Succeed(w.T, os.RemoveAll(w.StateHome))
}

func TestSupportBundleOverwritesNothing(t *testing.T) {
	t.Parallel()
	w := bundleWorld(t)
	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	must.Succeed(t, os.WriteFile(path, []byte("mine"), 0o600))
	code, _, errs := w.Run("support-bundle", "demo", "--file", path)
	if content, err := os.ReadFile(path); code != 1 || err != nil || string(content) != "mine" {
		t.Errorf("Want code 1 and the file as it was, got %d, %v, %q", code, err, content)
	}
	commandtest.Contains(t, errs, "--file", "already exists", "use another path")
}

// TestSupportBundleOnEngine: what the engine of the cluster has, or why it is missing, which is an error.
func TestSupportBundleOnEngine(t *testing.T) {
	for name, broken := range map[string]bool{"Reached": false, "Unreachable": true} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			w, _ := commandtest.WithEngine(t)
			if broken {
				w.BreakEngine("build", "connection refused")
			}
			code, _, errs := w.Run("support-bundle", "demo", "--file", "bundle.tar.gz")
			if (code != 0) != broken {
				t.Errorf("support-bundle ended with %d: %s", code, errs)
			}
			files := readBundle(t, "bundle.tar.gz")
			if broken {
				commandtest.Contains(t, errs, "Not collected: containers: engine \"build\": the management plane does not reach it", "capcon engine add build")
				commandtest.Contains(t, files["errors.txt"], "connection refused")
			} else {
				commandtest.Contains(t, files["engine.json"], "ssh://me@build.example.org")
			}
			for _, file := range []string{"containers/demo-a/container.json", "engine.json"} {
				if _, found := files[file]; found == broken {
					t.Errorf("The bundle has %s: %t", file, found)
				}
			}
			commandtest.Contains(t, files["status.json"], `"name": "demo"`)
		})
	}
}

// TestBundleOfEngines: a machine on another engine is a part of the bundle, and missing if that is not reached.
func TestBundleOfEngines(t *testing.T) {
	w, _, _ := commandtest.Spread(t)
	t.Chdir(t.TempDir())
	w.MustRun("support-bundle", "demo", "--file", "whole.tar.gz")
	w.BreakEngine("other", "connection refused")
	commandtest.Contains(t, w.MustFail("support-bundle", "demo", "--file", "part.tar.gz"), `Not collected: containers: engine "other"`)
	w.AddEngine("unrelated")
	for _, file := range []string{"engine.json", "engine-other.json", "objects/ContainerEngine/build.yaml", "objects/ContainerEngine/other.yaml"} {
		if _, found := readBundle(t, "whole.tar.gz")[file]; !found {
			t.Errorf("The bundle lacks %s", file)
		}
	}
	for bundle, isWhole := range map[string]bool{"whole.tar.gz": true, "part.tar.gz": false} {
		files := readBundle(t, bundle)
		_, hasCluster := files["containers/demo-a/container.json"]
		if _, hasMachine := files["containers/demo-b/container.json"]; !hasCluster || hasMachine != isWhole {
			t.Errorf("%s has demo-a: %t, demo-b: %t", bundle, hasCluster, hasMachine)
		}
	}
	// That of the load balancer keeps no other from being collected.
	w.BreakEngine("build", "connection refused")
	commandtest.Update(w, "other", &infrav1.ContainerEngine{}, func(o *infrav1.ContainerEngine) {
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].Status = metav1.ConditionTrue
		}
	})
	out := w.MustFail("support-bundle", "demo", "--file", "worker.tar.gz")
	if count := strings.Count(out, `Not collected: containers: engine "build"`); count != 1 {
		t.Errorf("The error is there %d times:\n%s", count, out)
	}
	files := readBundle(t, "worker.tar.gz")
	for file, want := range map[string]bool{
		"containers/demo-a/container.json": false, "containers/demo-b/container.json": true, "engine.json": false, "engine-other.json": true,
		"objects/ContainerEngine/unrelated.yaml": false, "objects/Secret/build-credentials.yaml": false,
	} {
		if _, found := files[file]; found != want {
			t.Errorf("The bundle has %s: %t", file, found)
		}
	}
}
