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
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// created is a world with a ready cluster of one control plane and three workers, whose API
// server has a volume on the first worker.
func created(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo", "--workers", "3"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
		ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data"},
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"demo-worker-0"}}},
		}}}},
	}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "demo-worker-0", Labels: map[string]string{corev1.LabelHostname: "demo-worker-0"}}}
	w.workload = fake.NewClientBuilder().WithScheme(must.Get(management.Scheme())(t)).WithObjects(volume, node).Build()
	w.countWrites()
	return w
}

// countWrites to the management plane from now on.
func (w *world) countWrites() {
	count := func(err error) error { w.writes++; return err }
	w.client = interceptor.NewClient(w.client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return count(c.Create(ctx, o, options...))
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			return count(c.Update(ctx, o, options...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			return count(c.Patch(ctx, o, patch, options...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return count(c.Delete(ctx, o, options...))
		},
	})
}

func TestUpWithoutADifferenceWritesNothing(t *testing.T) {
	t.Parallel()
	w := created(t)
	w.controllers = func() {}
	for _, args := range [][]string{nil, {"--workers", "3", "--control-planes", "1", "--kubernetes-version", "v1.36.3"}, {"--image", "localhost/capcon/node:v1.36.3", "--cni", "auto"}} {
		if code, out, errs := w.run(append([]string{"up", "demo"}, args...)...); code != 0 || strings.Contains(out, "Plan") {
			t.Errorf("up %v ended with %d:\n%s%s", args, code, out, errs)
		}
	}
	if w.writes != 0 {
		t.Errorf("%d writes", w.writes)
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
		"volume":        {"Its data is lost.", "demo-worker-0", false, nil, exitError, 0, []string{"lose    PersistentVolume pv (claim default/data) on Machine demo-worker-0", "capcon up demo --yes"}},
		"not known":     {"There may be volumes.", "demo-worker-1", true, nil, exitError, 0, []string{"lose    PersistentVolumes on these Machines, if there are any"}},
		"--yes":         {"The user agrees.", "demo-worker-0", false, []string{"--yes"}, exitOK, 1, nil},
		"loses nothing": {"Another one does the same.", "demo-worker-1", false, nil, exitOK, 1, []string{"replacing Machine: BootstrapInterrupted"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := created(t)
			w.interrupt(tc.machine)
			if tc.unreachable {
				w.workload = nil
			}
			w.writes = 0
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.controllers = func() {
				if w.writes > 0 {
					cancel() // no controller makes another Machine
				}
			}
			code, out, errs := w.runIn(ctx, append([]string{"up", "demo"}, tc.args...)...)
			if ctx.Err() != nil {
				code = exitOK
			}
			if code != tc.code || w.writes != tc.writes {
				t.Errorf("%s Ended with %d after %d writes, want %d after %d:\n%s%s", tc.reason, code, w.writes, tc.code, tc.writes, out, errs)
			}
			mustContain(t, out+errs, tc.words...)
		})
	}
}

// interrupt the bootstrap of a Machine that is a Node.
func (w *world) interrupt(name string) {
	w.t.Helper()
	key := client.ObjectKey{Namespace: "default", Name: name}
	machine := &clusterv1.Machine{}
	must.Succeed(w.t, w.client.Get(w.t.Context(), key, machine))
	conditions.Set(machine, metav1.Condition{Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionFalse, Reason: "NotReady"})
	machine.Spec.InfrastructureRef.Name = name
	must.Succeed(w.t, w.client.Update(w.t.Context(), machine))
	must.Succeed(w.t, w.client.Create(w.t.Context(), &infrav1.ContainerMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}},
		Status: infrav1.ContainerMachineStatus{Conditions: []metav1.Condition{{
			Type: infrav1.BootstrapCompletedCondition, Status: metav1.ConditionFalse, Reason: infrav1.BootstrapInterruptedReason, Message: "interrupted",
		}}},
	}))
}

// label a Machine.
func (w *world) label(name, key, value string) {
	w.t.Helper()
	machine := &clusterv1.Machine{}
	must.Succeed(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, machine))
	machine.Labels[key] = value
	must.Succeed(w.t, w.client.Update(w.t.Context(), machine))
}

// meanwhile lets another user act before the patch of up is written, once.
func (w *world) meanwhile(act func(cluster *clusterv1.Cluster)) {
	done := false
	w.client = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if cluster := w.cluster(); !done {
				done = true
				act(cluster)
				must.Succeed(w.t, c.Update(ctx, cluster))
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
			func(c *clusterv1.Cluster) { c.Status.Phase = "Provisioned" }, exitOK, 2,
		},
		"another user scales": {
			"The user agreed to another plan.", []string{"--workers", "2", "--yes"},
			func(c *clusterv1.Cluster) { c.Spec.Topology.Workers.MachineDeployments[0].Replicas = ptr.To[int32](5) }, exitError, 5,
		},
		"another user deletes more": {
			"The user agreed to a deletion, and now it is a creation.", []string{"--workers", "2", "--yes"},
			func(c *clusterv1.Cluster) { c.Spec.Topology.Workers.MachineDeployments[0].Replicas = ptr.To[int32](1) }, exitError, 1,
		},
		"another user scales, and nothing ends": {
			"It is computed again.", []string{"--workers", "6"},
			func(c *clusterv1.Cluster) { c.Spec.Topology.Workers.MachineDeployments[0].Replicas = ptr.To[int32](5) }, exitOK, 6,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := created(t)
			for i := range 3 {
				w.label("demo-worker-"+string(rune('0'+i)), clusterv1.ClusterTopologyMachineDeploymentNameLabel, "worker")
			}
			w.meanwhile(tc.act)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.controllers = cancel
			code, out, errs := w.runIn(ctx, append([]string{"up", "demo"}, tc.args...)...)
			if got := *w.cluster().Spec.Topology.Workers.MachineDeployments[0].Replicas; code != tc.code || got != tc.want {
				t.Errorf("%s Ended with %d and %d workers, want %d and %d:\n%s%s", tc.reason, code, got, tc.code, tc.want, out, errs)
			}
			if tc.code == exitError {
				mustContain(t, errs, "changed meanwhile", "run the command again")
			}
		})
	}
}

// A cluster that was made with kubectl is waited for, by its own names, and left as it is.
func TestUpLeavesAClusterOfKubectlAsItIs(t *testing.T) {
	t.Parallel()
	w := created(t)
	cluster := w.cluster()
	cluster.Spec.Topology.Variables = []clusterv1.ClusterVariable{variableOf("nodeImages", `{"v1.36.3":""}`), variableOf("loadBalancer", `{"additionalPorts":[8443]}`)}
	cluster.Spec.Topology.Workers.MachineDeployments[0].Name = "pool"
	cluster.Spec.ControlPlaneRef.Name = "demo-abcde"
	must.Succeed(t, w.client.Update(t.Context(), cluster))
	w.rename(t, "demo-worker", "demo-pool-xyz")
	w.rename(t, "demo-control-plane", "demo-abcde")
	for i := range 3 {
		w.label("demo-worker-"+string(rune('0'+i)), clusterv1.MachineDeploymentNameLabel, "demo-pool-xyz")
	}
	before := w.cluster()
	w.writes, w.controllers = 0, func() {}
	if code, out, errs := w.run("up", "demo"); code != 0 || w.writes != 0 {
		t.Errorf("up ended with %d after %d writes:\n%s%s", code, w.writes, out, errs)
	}
	if diff := cmp.Diff(before, w.cluster()); diff != "" {
		t.Errorf("The Cluster changed (-before +after):\n%s", diff)
	}
}

func variableOf(name, value string) clusterv1.ClusterVariable {
	made := clusterv1.ClusterVariable{Name: name}
	made.Value.Raw = []byte(value)
	return made
}

// rename the control plane or the MachineDeployment of the cluster.
func (w *world) rename(t *testing.T, from, to string) {
	t.Helper()
	for _, object := range []client.Object{&controlplanev1.KubeadmControlPlane{}, &clusterv1.MachineDeployment{}} {
		key := client.ObjectKey{Namespace: "default", Name: from}
		if w.client.Get(t.Context(), key, object) != nil {
			continue
		}
		must.Succeed(t, w.client.Delete(t.Context(), object))
		object.SetName(to)
		object.SetResourceVersion("")
		must.Succeed(t, w.client.Create(t.Context(), object))
	}
}

func TestUpStartsAStoppedClusterByItsPlan(t *testing.T) {
	t.Parallel()
	w := created(t)
	cluster := w.cluster()
	cluster.Annotations = map[string]string{infrav1.StoppedAnnotation: "", "other": "stays"}
	must.Succeed(t, w.client.Update(t.Context(), cluster))
	if code, out, errs := w.run("up", "demo"); code != 0 || !strings.Contains(out, infrav1.StoppedAnnotation) {
		t.Errorf("up ended with %d:\n%s%s", code, out, errs)
	}
	if diff := cmp.Diff(map[string]string{"other": "stays"}, w.cluster().Annotations); diff != "" {
		t.Errorf("Annotations (-want +got):\n%s", diff)
	}
}

func TestUpDryRun(t *testing.T) {
	t.Parallel()
	t.Run("of a new cluster", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		code, out, errs := w.run("up", "demo", "--dry-run", "--workers", "2")
		if code != 0 || len(w.plane.ensured) > 0 || len(w.clusters()) > 0 {
			t.Errorf("up ended with %d, planes %v:\n%s%s", code, w.plane.ensured, out, errs)
		}
		mustContain(t, out, "create  Cluster demo, spec.topology.version", "machineDeployments[worker].replicas: 2")
		for _, call := range w.engine.Journal() {
			if call.Mutating {
				t.Errorf("the engine was asked to %s %s", call.Method, call.Name)
			}
		}
	})
	t.Run("as JSON", func(t *testing.T) {
		t.Parallel()
		w := created(t)
		w.plane.ensured = nil
		code, out, errs := w.run("up", "demo", "--dry-run", "-o", "json", "--memory", "3Gi")
		var plan update.Plan
		must.Succeed(t, json.Unmarshal([]byte(out), &plan))
		if code != 0 || w.writes > 0 || len(w.plane.ensured) > 0 || len(plan.Changes) != 1 || len(plan.Volumes) != 0 || !plan.NeedsConsent == (len(plan.Volumes) > 0) {
			t.Errorf("up ended with %d after %d writes: %+v\n%s", code, w.writes, plan, errs)
		}
	})
	t.Run("with a plane that is down", func(t *testing.T) {
		t.Parallel()
		w := created(t)
		w.plane.state.Answers = false
		if code, _, errs := w.run("up", "demo", "--dry-run"); code != exitError || errs == "" {
			t.Errorf("up ended with %d: %s", code, errs)
		}
	})
}

// A creation that ends between the objects is continued by the next up.
func TestUpContinuesAnInterruptedCreation(t *testing.T) {
	t.Parallel()
	for failing := range 12 {
		w := newWorld(t)
		w.controllers = w.become
		calls, broken := 0, errors.New("killed")
		stop := func() error {
			calls++
			if calls > failing {
				return broken
			}
			return nil
		}
		inner := w.client
		w.client = interceptor.NewClient(inner, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
				return errors.Join(stop(), until(failing, calls, func() error { return c.Create(ctx, o, options...) }))
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
				return errors.Join(stop(), until(failing, calls, func() error { return c.Patch(ctx, o, patch, options...) }))
			},
		})
		w.plane.clusters = func() []string { return []string{"default/kept"} } // it was killed: nothing is cleaned up
		w.runUntilItWaits("up", "demo")
		w.client = inner
		if code, out, errs := w.run("up", "demo"); code != 0 {
			t.Fatalf("after %d calls, up ended with %d:\n%s%s", failing, code, out, errs)
		}
		present := must.Get(management.Read(t.Context(), w.client, "default", "demo"))(t)
		if len(present.Unowned) > 0 || present.PodNetwork == "" {
			t.Errorf("after %d calls, %v has no owner", failing, present.Unowned)
		}
	}
}

// until makes a call unless those before it have been as many as the last one's number.
func until(last, number int, call func() error) error {
	if number > last {
		return nil
	}
	return call()
}

func TestUpEndsWhenItsClusterIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	polls := 0
	w.controllers = func() {
		if polls++; polls > 1 {
			cluster := w.cluster()
			cluster.Finalizers = nil
			must.Succeed(t, w.client.Update(t.Context(), cluster))
			must.Succeed(t, w.client.Delete(t.Context(), cluster))
		}
	}
	code, _, errs := w.run("up", "demo")
	if code != exitError || polls > 2 {
		t.Errorf("up ended with %d after %d polls", code, polls)
	}
	mustContain(t, errs, `cluster "demo" was deleted meanwhile`)
}
