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

package node_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	noderecord "github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestCopyWaits: while an image is copied into one node, no other node is asked what it has.
func TestCopyWaits(t *testing.T) {
	t.Parallel()
	const second = "m2"
	w := world.New(t, builders.New(func(o *builders.Objects) {
		o.ContainerCluster.Spec.Images = []string{"app:dev"}
		machine, containerMachine := builders.MachinePair(second)
		o.Others = append(o.Others, machine, containerMachine, builders.DataSecret(second, builders.JoinWorkerData))
	}))
	w.Nodes.FirstBoot(noderecord.Done)
	w.Engine.AddImage(engine.Image{Tags: []string{"app:dev"}}, map[string][]byte{"app": []byte("app")})
	containerd, asked, waits := &simulatednode.Containerd{}, 0, time.Duration(0)
	w.Engine.HandleExec(func(name string, command engine.Command) (engine.Output, error) {
		if name == builders.Container(second) {
			asked++
		} else if slices.Contains(command.Args, "import") {
			for range 3 {
				result, err := w.ReconcileMachine(second)
				if err != nil {
					return engine.Output{}, err
				}
				waits = result.RequeueAfter
			}
			if asked > 0 {
				t.Errorf("%d commands in the node that waits", asked)
			}
		}
		return containerd.Exec(name, command)
	})
	for _, name := range []string{builders.Machine, second} {
		w.SettleMachine(name)
		world.EditStatus(w, name, &clusterv1.Machine{}, func(m *clusterv1.Machine) { m.Status.NodeRef = clusterv1.MachineNodeReference{Name: name} })
	}
	w.SettleMachine(builders.Machine)
	if waits < 5*time.Second {
		t.Errorf("the node that waits looks after %s", waits)
	}
	w.SettleMachine(second)
	if names := containerd.Names(builders.Container(second)); !slices.Contains(names, "docker.io/library/app:dev") {
		t.Errorf("images of the second node: %q", names)
	}
}

// copied tests which images of the engine a node gets.
func copied() map[string]nodeTest {
	containerd := func(_ *testing.T, w *world.World) {
		w.Engine.HandleExec((&simulatednode.Containerd{}).Exec)
		w.Engine.AddImage(engine.Image{Tags: []string{"app:dev"}}, map[string][]byte{"app": []byte("app")})
	}
	images := func(references ...string) []builders.Option {
		return []builders.Option{func(o *builders.Objects) { o.ContainerCluster.Spec.Images = references }}
	}
	sent := func(wanted ...string) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) {
			t.Helper()
			events := slices.DeleteFunc(w.Events.Sent(), func(event string) bool { return !strings.Contains(event, " Image") })
			if diff := gocmp.Diff(wanted, slices.Compact(events)); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		}
	}
	return map[string]nodeTest{
		"ImageOfCluster": {
			reason: "A node that joins gets it, once.",
			args:   args{options: images("app:dev"), setup: containerd, change: all(isDone, becomesNode)},
			assert: sent("Normal ImageCopied Copied image app:dev into the node"),
		},
		"ImageWithoutCredentials": {
			reason: "A Secret that is gone keeps no image of the engine from the node.",
			args: args{
				options: append(images("app:dev"), withRegistries(infrav1.Registry{Host: "r.example", CredentialsSecretName: "pull"})),
				setup:   all(containerd, pullSecret(`{"auths":{"r.example":{"username":"a","password":"b"}}}`)),
				change: all(func(t *testing.T, w *world.World) {
					t.Helper()
					world.Purge(w, "pull", &corev1.Secret{})
					isDone(t, w)
				}, becomesNode),
			},
			want:   want{requeueAfter: reconcile.UserInterval},
			assert: sent("Normal ImageCopied Copied image app:dev into the node"),
		},
		"ImageNotFound": {
			reason: "It is reported and looked for again; the machine is ready, and gets the others.",
			args:   args{options: images("typo:dev", "app:dev"), setup: containerd, change: all(isDone, becomesNode)},
			want:   want{requeueAfter: reconcile.UserInterval},
			check:  world.TryingAgain,
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				for _, wanted := range []string{
					"Normal ImageCopied Copied image app:dev into the node",
					`Warning ImageNotCopied Cannot copy image typo:dev of the ContainerCluster into the node: find image "typo:dev" on the engine: not found; build or pull it first`,
				} {
					if !slices.Contains(w.Events.Sent(), wanted) {
						t.Errorf("no Event %q: %q", wanted, w.Events.Sent())
					}
				}
			},
		},
	}
}
