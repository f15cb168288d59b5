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
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestUpWithoutADifferenceWritesNothing(t *testing.T) {
	t.Parallel()
	w := commandtest.WithVolume(t)
	w.Controllers = func() {}
	for _, args := range [][]string{nil, {"--workers", "3", "--control-planes", "1", "--kubernetes-version", "v1.36.3"}, {"--image", "localhost/capcon/node:v1.36.3", "--cni", "auto"}} {
		if code, out, errs := w.Run(append([]string{"up", "demo"}, args...)...); code != 0 || strings.Contains(out, "Plan") {
			t.Errorf("up %v ended with %d:\n%s%s", args, code, out, errs)
		}
	}
	if w.Writes != 0 {
		t.Errorf("%d writes", w.Writes)
	}
}

// A Machine whose bootstrap was interrupted after it became a Node has data.
func TestUpReplacesNoMachineWithVolumes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, machine string
		unreachable     bool
		args            []string
		code, writes    int
		words           []string
	}{
		"volume":        {"Its data is lost.", "demo-worker-0", false, nil, 1, 0, []string{"lose    PersistentVolume pv (claim default/data) on Machine demo-worker-0", "capcon up demo --yes"}},
		"not known":     {"There may be volumes.", "demo-worker-1", true, nil, 1, 0, []string{"lose    PersistentVolumes on these Machines, if there are any"}},
		"--yes":         {"The user agrees.", "demo-worker-0", false, []string{"--yes"}, 0, 1, nil},
		"loses nothing": {"Another one does the same.", "demo-worker-1", false, nil, 0, 1, []string{"replacing Machine: BootstrapInterrupted"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.WithVolume(t)
			interrupt(w, tc.machine)
			if tc.unreachable {
				w.Workload = nil
			}
			w.Writes = 0
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.Controllers = func() {
				if w.Writes > 0 {
					cancel() // no controller makes another Machine
				}
			}
			code, out, errs := w.RunIn(ctx, append([]string{"up", "demo"}, tc.args...)...)
			if ctx.Err() != nil {
				code = 0
			}
			if code != tc.code || w.Writes != tc.writes {
				t.Errorf("%s Ended with %d after %d writes, want %d after %d:\n%s%s", tc.reason, code, w.Writes, tc.code, tc.writes, out, errs)
			}
			commandtest.Contains(t, out+errs, tc.words...)
		})
	}
}

// interrupt the bootstrap of a Machine that is a Node.
func interrupt(w *commandtest.World, name string) {
	w.T.Helper()
	key := client.ObjectKey{Namespace: "default", Name: name}
	machine := &clusterv1.Machine{}
	must.Succeed(w.T, w.Client.Get(w.T.Context(), key, machine))
	conditions.Set(machine, metav1.Condition{Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionFalse, Reason: "NotReady"})
	machine.Spec.InfrastructureRef.Name = name
	must.Succeed(w.T, w.Client.Update(w.T.Context(), machine))
	must.Succeed(w.T, w.Client.Create(w.T.Context(), &infrav1.ContainerMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}},
		Status: infrav1.ContainerMachineStatus{Conditions: []metav1.Condition{{
			Type: infrav1.BootstrapCompletedCondition, Status: metav1.ConditionFalse, Reason: infrav1.BootstrapInterruptedReason, Message: "interrupted",
		}}},
	}))
}

// label a Machine.
func label(w *commandtest.World, name, key, value string) {
	w.T.Helper()
	commandtest.Update(w, name, &clusterv1.Machine{}, func(machine *clusterv1.Machine) { machine.Labels[key] = value })
}

// meanwhile lets another user act before the patch of up is written, once.
func meanwhile(w *commandtest.World, act func(cluster *clusterv1.Cluster)) {
	done := false
	w.Client = interceptor.NewClient(w.Client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if _, isCluster := o.(*clusterv1.Cluster); isCluster && !done {
				done = true
				cluster := w.Cluster()
				act(cluster)
				must.Succeed(w.T, c.Update(ctx, cluster))
			}
			return c.Patch(ctx, o, patch, options...)
		},
	})
}

func TestUpRefusesAnOutdatedPlan(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		act    func(cluster *clusterv1.Cluster)
		code   int
		want   int32
	}{
		"the status changed": {
			"It is the same plan.", []string{"--workers", "2", "--yes"},
			func(c *clusterv1.Cluster) { c.Status.Phase = "Provisioned" }, 0, 2,
		},
		"another user scales": {
			"The user agreed to another plan.", []string{"--workers", "2", "--yes"},
			func(c *clusterv1.Cluster) { c.Spec.Topology.Workers.MachineDeployments[0].Replicas = ptr.To[int32](5) }, 1, 5,
		},
		"another user deletes more": {
			"The user agreed to a deletion, and now it is a creation.", []string{"--workers", "2", "--yes"},
			func(c *clusterv1.Cluster) { c.Spec.Topology.Workers.MachineDeployments[0].Replicas = ptr.To[int32](1) }, 1, 1,
		},
		"another user scales, and nothing ends": {
			"It is computed again.", []string{"--workers", "6"},
			func(c *clusterv1.Cluster) { c.Spec.Topology.Workers.MachineDeployments[0].Replicas = ptr.To[int32](5) }, 0, 6,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.WithVolume(t)
			meanwhile(w, tc.act)
			code, out, errs := w.RunUntilItWaits(append([]string{"up", "demo"}, tc.args...)...)
			if got := *w.Cluster().Spec.Topology.Workers.MachineDeployments[0].Replicas; code != tc.code || got != tc.want {
				t.Errorf("%s Ended with %d and %d workers, want %d and %d:\n%s%s", tc.reason, code, got, tc.code, tc.want, out, errs)
			}
			var deleted []string
			if tc.want == 2 {
				deleted = []string{"demo-worker-1"}
			}
			if diff := cmp.Diff(deleted, annotated(w)); diff != "" {
				t.Errorf("%s Machines to be deleted (-want +got):\n%s", tc.reason, diff)
			}
			if tc.code == 1 {
				commandtest.Contains(t, errs, "changed meanwhile", "run the command again")
			}
		})
	}
}

// annotated are the Machines that Cluster API deletes first.
func annotated(w *commandtest.World) []string {
	machines := &clusterv1.MachineList{}
	must.Succeed(w.T, w.Client.List(w.T.Context(), machines))
	var names []string
	for _, machine := range machines.Items {
		if _, found := machine.Annotations[clusterv1.DeleteMachineAnnotation]; found {
			names = append(names, machine.Name)
		}
	}
	return names
}

// A scale-down deletes Machines that no data is lost with, as long as there are such.
func TestUpDeletesTheMachinesOfItsPlan(t *testing.T) {
	t.Parallel()
	const lost = "lose    PersistentVolume pv (claim default/data) on Machine demo-worker-0"
	cases := map[string]struct {
		reason, workers string
		act             func(w *commandtest.World)
		want            []string
		lost            bool
	}{
		"one": {"It is one without a volume.", "2", nil, []string{"demo-worker-1"}, false},
		"two": {"They are those without volumes.", "1", nil, []string{"demo-worker-1", "demo-worker-2"}, false},
		"all": {"The volume is lost.", "0", nil, []string{"demo-worker-0", "demo-worker-1", "demo-worker-2"}, true},
		"user": {"The user chose it.", "2", func(w *commandtest.World) {
			commandtest.Update(w, "demo-worker-0", &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
				metav1.SetMetaDataAnnotation(&machine.ObjectMeta, clusterv1.DeleteMachineAnnotation, "")
			})
		}, []string{"demo-worker-0"}, true},
		"not ready": {"It is of no use.", "2", func(w *commandtest.World) {
			commandtest.Update(w, "demo-worker-2", &clusterv1.Machine{}, func(machine *clusterv1.Machine) { machine.Status.Conditions = nil })
		}, []string{"demo-worker-2"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.WithVolume(t)
			if tc.act != nil {
				tc.act(w)
			}
			_, out, _ := w.RunUntilItWaits("up", "demo", "--workers", tc.workers, "--yes")
			if diff := cmp.Diff(tc.want, annotated(w)); diff != "" || strings.Contains(out, lost) != tc.lost || strings.Count(out, "delete ") != len(tc.want) {
				t.Errorf("%s Machines to be deleted (-want +got):\n%s\n%s", tc.reason, diff, out)
			}
			for _, machine := range tc.want {
				commandtest.Contains(t, out, "delete  Machine "+machine+" of MachineDeployment worker")
			}
		})
	}
}

// A cluster that was made with kubectl is waited for, by its own names, and left as it is.
func TestUpLeavesAClusterOfKubectlAsItIs(t *testing.T) {
	t.Parallel()
	w := commandtest.WithVolume(t)
	cluster := w.Cluster()
	cluster.Spec.Topology.Variables = []clusterv1.ClusterVariable{variableOf("nodeImages", `{"v1.36.3":""}`), variableOf("loadBalancer", `{"additionalPorts":[8443]}`)}
	cluster.Spec.Topology.Workers.MachineDeployments[0].Name = "pool"
	cluster.Spec.ControlPlaneRef.Name = "demo-abcde"
	must.Succeed(t, w.Client.Update(t.Context(), cluster))
	rename(w, "demo-worker", "demo-pool-xyz")
	rename(w, "demo-control-plane", "demo-abcde")
	for i := range 3 {
		label(w, "demo-worker-"+string(rune('0'+i)), clusterv1.MachineDeploymentNameLabel, "demo-pool-xyz")
	}
	before := w.Cluster()
	w.Controllers = func() {}
	if code, out, errs := w.Run("up", "demo"); code != 0 || w.Writes != 0 {
		t.Errorf("up ended with %d after %d writes:\n%s%s", code, w.Writes, out, errs)
	}
	if diff := cmp.Diff(before, w.Cluster()); diff != "" {
		t.Errorf("The Cluster changed (-before +after):\n%s", diff)
	}
}

func variableOf(name, value string) clusterv1.ClusterVariable {
	made := clusterv1.ClusterVariable{Name: name}
	made.Value.Raw = []byte(value)
	return made
}

// rename the control plane or the MachineDeployment of the cluster.
func rename(w *commandtest.World, from, to string) {
	w.T.Helper()
	for _, object := range []client.Object{&controlplanev1.KubeadmControlPlane{}, &clusterv1.MachineDeployment{}} {
		key := client.ObjectKey{Namespace: "default", Name: from}
		if w.Client.Get(w.T.Context(), key, object) != nil {
			continue
		}
		must.Succeed(w.T, w.Client.Delete(w.T.Context(), object))
		object.SetName(to)
		object.SetResourceVersion("")
		w.Create(object)
	}
}

func TestUpDryRun(t *testing.T) {
	t.Parallel()
	t.Run("of a new cluster", func(t *testing.T) {
		t.Parallel()
		w := commandtest.New(t)
		code, out, errs := w.Run("up", "demo", "--dry-run", "--workers", "2")
		if code != 0 || len(w.Plane.Ensured) > 0 || len(w.Clusters()) > 0 {
			t.Errorf("up ended with %d, planes %v:\n%s%s", code, w.Plane.Ensured, out, errs)
		}
		commandtest.Contains(t, out, "create  Cluster demo, spec.topology.version", "machineDeployments[worker].replicas: 2")
		for _, call := range w.Engine.Journal() {
			if call.Mutating {
				t.Errorf("the engine was asked to %s %s", call.Method, call.Name)
			}
		}
	})
	t.Run("as JSON", func(t *testing.T) {
		t.Parallel()
		w := commandtest.WithVolume(t)
		w.Plane.Ensured = nil
		w.Engine.AddImage(engine.Image{Tags: []string{otherImage}}, nil)
		code, out, errs := w.Run("up", "demo", "--dry-run", "-o", "json", "--image", otherImage)
		var plan update.Plan
		must.Succeed(t, json.Unmarshal([]byte(out), &plan))
		if code != 0 || w.Writes > 0 || len(w.Plane.Ensured) > 0 || len(plan.Changes) != 1 || len(plan.Volumes) != 1 || !plan.NeedsConsent {
			t.Errorf("up ended with %d after %d writes: %+v\n%s", code, w.Writes, plan, errs)
		}
	})
	t.Run("with a plane that is down", func(t *testing.T) {
		t.Parallel()
		w := commandtest.WithVolume(t)
		w.Plane.Current.Answers = false
		if code, _, errs := w.Run("up", "demo", "--dry-run"); code != 1 || errs == "" {
			t.Errorf("up ended with %d: %s", code, errs)
		}
	})
}
