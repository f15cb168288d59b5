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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/readiness"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestUpAndDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	code, out, errs := w.run("up", "demo")
	if code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	mustContain(t, out+errs, "engine: simulated", "management plane: ready", "images: localhost/capcon/node:v1.36.3",
		"nodes: 2 of 2 ready", "Cluster demo is ready after", "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes",
		"KUBECONFIG="+state.For(filepath.Join(w.state, "capcon"), "simulated", "simulated").KubeconfigPath("demo"), "capcon down demo")

	// Manifests of the documentation name it.
	must.Succeed(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "container"}, &clusterv1.ClusterClass{}))
	if code, out, _ := w.run("kubeconfig", "demo"); code != 0 || !strings.Contains(out, "server: https://127.0.0.1:40123\n") {
		t.Errorf("kubeconfig ended with %d and printed %q", code, out)
	}
	code, out, _ = w.run("status")
	// No controller of Cluster API sets it to available here.
	mustContain(t, out, "Management plane  ready", "demo", "v1.36.3", "1/1", "starting")
	if code != 0 {
		t.Errorf("status ended with %d", code)
	}

	w.controllers = w.vanish
	code, out, errs = w.run("down", "demo")
	if code != 0 {
		t.Fatalf("down ended with %d:\n%s%s", code, out, errs)
	}
	mustContain(t, out+errs, "cluster demo: deleted", "management plane: removed", "Images were kept")
	if w.plane.removed != 1 {
		t.Errorf("The plane goes with the last cluster, once; got %d", w.plane.removed)
	}
	if left, err := filepath.Glob(filepath.Join(w.state, "*")); err != nil || len(left) > 0 {
		t.Errorf("No state stays, got %v, %v", left, err)
	}
	if code, out, errs := w.run("down", "demo"); code != 0 {
		t.Errorf("A second down is harmless, got %d:\n%s%s", code, out, errs)
	}
}

func TestUpAgainChangesOnlyWhatIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo", "--workers", "3"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	cases := []struct {
		reason string
		args   []string
		want   [2]int32
	}{
		{"Flags that are not given change nothing.", nil, [2]int32{1, 3}},
		{"A flag changes what it names.", []string{"--control-planes", "3"}, [2]int32{3, 3}},
	}
	for _, tc := range cases {
		// No controller updates the counts: it would wait forever.
		w.runUntilItWaits(append([]string{"up", "demo"}, tc.args...)...)
		topology := w.cluster().Spec.Topology
		if got := [2]int32{*topology.ControlPlane.Replicas, *topology.Workers.MachineDeployments[0].Replicas}; got != tc.want {
			t.Errorf("%s Got %d", tc.reason, got)
		}
	}
}

// Control planes take Pods where a new cluster has no workers, also once it has some: with a
// taint, all of them would be replaced.
func TestUpWithoutWorkers(t *testing.T) {
	t.Parallel()
	for workers, want := range map[string]bool{"0": true, "1": false} {
		w := newWorld(t)
		w.controllers = w.become
		w.runUntilItWaits("up", "demo", "--workers", workers)
		for _, later := range []string{"1", "0"} {
			w.runUntilItWaits("up", "demo", "--workers", later, "--yes")
			if got := string(w.variable("allowSchedulingOnControlPlanes")) == "true"; got != want {
				t.Errorf("created with %s workers, now %s: Pods on control planes: %t, want %t", workers, later, got, want)
			}
		}
	}
}

func TestUpRefusesBeforeAnythingIsTouched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code, _, errs := w.run("up", "Demo", "--control-planes", "2", "--kubernetes-version", "v1.20.0")
	if code != 1 {
		t.Errorf("Want exit code 1, got %d", code)
	}
	mustContain(t, errs, "NAME", "--control-planes", "--kubernetes-version")
	if calls := w.engine.Journal(); len(calls) > 0 || len(w.plane.ensured) > 0 {
		t.Errorf("Nothing may be touched, got %v, %v", calls, w.plane.ensured)
	}
}

func TestUpRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		words  []string
	}{
		"image of another version": {
			"The cluster would not be what was asked for.",
			[]string{"--kubernetes-version", "v1.35.4", "--image", "localhost/capcon/node:v1.36.3"},
			[]string{"has Kubernetes v1.36.3 instead of v1.35.4", "--kubernetes-version v1.36.3"},
		},
		"image that does not exist": {
			"The cluster could not be made.",
			[]string{"--image", "127.0.0.1:1/absent:1"},
			[]string{"127.0.0.1:1/absent:1", "make images", "--image"},
		},
		"pods on the engine's subnet": {
			"Nodes could not distinguish Pods from Nodes.",
			[]string{"--pod-cidr", "172.18.0.0/16"},
			[]string{"--pod-cidr", "overlaps", "capcon"},
		},
		"Pod range without room for a rollout": {
			"The Machine that replaces another would wait for its part of the range without a limit.",
			[]string{"--pod-cidr", "10.201.0.0/23", "--workers", "1"},
			[]string{"--pod-cidr", "10.201.0.0/23", "each node needs a /24", "3 in all"},
		},
		"Service range without an address for DNS": {
			"kubeadm's init would fail in the node.",
			[]string{"--service-cidr", "10.97.0.0/29"},
			[]string{"--service-cidr", "10.97.0.0/29", "tenth address", "/28", "such as 10.128.0.0/12"},
		},
		"Pod network that no ConfigMap carries": {
			"The cluster would stay without a Pod network.",
			[]string{"--cni", manifest(t, 1<<20+1)},
			[]string{"--cni", "1048577 bytes", "--cni none"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			network := must.Get(w.engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "capcon"}))(t)
			for i := range tc.args {
				tc.args[i] = strings.ReplaceAll(tc.args[i], "172.18.0.0/16", network.Subnets[0].Prefix.String())
			}
			code, _, errs := w.run(append([]string{"up", "demo"}, tc.args...)...)
			if code != 1 {
				t.Errorf("%s Want exit code 1, got %d", tc.reason, code)
			}
			mustContain(t, errs, tc.words...)
			if clusters, err := management.Clusters(t.Context(), w.client); err != nil || len(clusters) > 0 {
				t.Errorf("Nothing may be applied, got %v, %v", clusters, err)
			}
			if made, err := w.engine.ListContainers(t.Context(), nil); err != nil || len(made) > 0 {
				t.Errorf("Nothing may be created, got %v, %v", made, err)
			}
			if w.plane.created > 0 || w.plane.state.Exists {
				t.Error("No management plane may stay that was not there before")
			}
		})
	}
}

// manifest is a file of that size with an object.
func manifest(t *testing.T, size int) string {
	t.Helper()
	const object = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: net\n#"
	path := filepath.Join(t.TempDir(), "cni.yaml")
	must.Succeed(t, os.WriteFile(path, []byte(object+strings.Repeat("-", size-len(object))), 0o600))
	return path
}

func TestUpGivesUpOnWhatWaitingDoesNotHeal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = func() {
		cluster, infrastructure := &clusterv1.Cluster{}, &infrav1.ContainerCluster{}
		if w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo"}, cluster) == nil {
			w.follow(cluster)
		}
		if w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo"}, infrastructure) != nil {
			return
		}
		infrastructure.Status.Conditions = []metav1.Condition{{
			Type: infrav1.LoadBalancerReadyCondition, Status: metav1.ConditionFalse,
			Reason: infrav1.HostPortInUseReason, Message: "127.0.0.1:40001 is in use",
		}}
		if err := w.client.Update(t.Context(), infrastructure); err != nil {
			t.Error(err)
		}
	}
	code, out, errs := w.run("up", "demo")
	if code != 1 {
		t.Errorf("Want exit code 1, got %d", code)
	}
	mustContain(t, out+errs, "failed  cluster demo HostPortInUse")
	mustContain(t, errs, "HostPortInUse", "127.0.0.1:40001 is in use", "remedy: stop the process or container")
	if waited := w.time().Sub(time.Unix(0, 0)); waited < readiness.TroubleGrace || waited > 2*readiness.TroubleGrace {
		t.Errorf("It gives up after the grace period, got %s", waited)
	}
}

func TestUpReplacesAMachineThatLostItsContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	lost := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-b", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}},
		Spec: clusterv1.MachineSpec{
			ClusterName:       "demo",
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{Kind: "ContainerMachine", Name: "demo-b"},
		},
	}
	container := &infrav1.ContainerMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-b", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}},
		Status: infrav1.ContainerMachineStatus{Conditions: []metav1.Condition{{
			Type: infrav1.ContainerReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.ContainerNotFoundReason, Message: "gone",
		}}},
	}
	for _, object := range []client.Object{lost, container} {
		must.Succeed(t, w.client.Create(t.Context(), object))
	}
	w.controllers = func() {
		if w.client.Get(t.Context(), client.ObjectKeyFromObject(lost), lost) == nil {
			return
		}
		// Its owner makes another, and Cluster API removes what was its.
		if err := w.client.Delete(t.Context(), container); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
	code, out, errs := w.run("up", "demo")
	if code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	mustContain(t, out+errs, "machine demo-b", "replacing Machine: ContainerNotFound")
}

func TestUpInterruptedSaysHowToResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, interrupt := context.WithCancel(t.Context())
	w.controllers = interrupt
	var out, errs strings.Builder
	code := Run(ctx, []string{"up", "demo"}, session.Streams{Out: &out, Err: &errs}, w.deps())
	if code != exitInterrupted {
		t.Errorf("Want exit code %d, got %d", exitInterrupted, code)
	}
	mustContain(t, errs.String(), "Interrupted", "capcon up demo", "capcon down demo")
}

func TestDownStartsAPlaneThatIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	w.plane.state.Answers = false
	w.plane.ensured = nil
	w.controllers = w.vanish
	if code, out, errs := w.run("down", "demo"); code != 0 {
		t.Fatalf("down ended with %d:\n%s%s", code, out, errs)
	}
	if len(w.plane.ensured) != 1 || w.plane.removed != 1 {
		t.Errorf("The plane is started to finish the job and then removed, got %v, %d", w.plane.ensured, w.plane.removed)
	}
}

func TestDownRemovesWhatALostPlaneLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{
		Name: "other", Image: "localhost/capcon/node:v1.36.3",
		Labels: identity.Owner{Namespace: "default", Cluster: "demo", ID: "another-owner"}.Labels(),
	}))(t)
	w.plane.state = plane.State{} // container and volume were removed
	code, out, errs := w.run("status")
	if code != 1 {
		t.Errorf("status has to say that something is wrong, got %d:\n%s%s", code, out, errs)
	}
	mustContain(t, errs, "no management cluster", "demo", "capcon down")
	mustContain(t, out, "demo-a-1234 of cluster demo is running")
	code, out, errs = w.run("down", "--all")
	if code != 1 || len(containerNames(t, w)) != 2 {
		t.Errorf("Another management cluster may have it; down ended with %d:\n%s%s", code, out, errs)
	}
	mustContain(t, errs, `cluster "demo" was not deleted`, "kubectl --kubeconfig FILE delete cluster demo", "capcon down demo --force")
	if code, out, errs := w.run("down", "--all", "--force"); code != 0 {
		t.Fatalf("down ended with %d:\n%s%s", code, out, errs)
	}
	left, err := w.engine.ListContainers(t.Context(), nil)
	if err != nil || len(left) != 1 || left[0].Name != "other" {
		t.Errorf("Only containers that are known to be ours go, got %v, %v", left, err)
	}
}

func TestStatusWithoutEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.engine.Down()
	for _, format := range []string{"text", "json"} {
		code, out, errs := w.run("status", "-o", format)
		if code != 1 {
			t.Errorf("Want exit code 1, got %d", code)
		}
		mustContain(t, out, "unavailable")
		mustContain(t, errs, "get engine info")
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		code   int
		words  []string
	}{
		"help":            {"Help is no error.", []string{"--help"}, 0, []string{"up", "down", "status", "kubeconfig", "images", "completion"}},
		"version":         {"It names what it knows.", []string{"version"}, 0, []string{"v1.36.3"}},
		"down nothing":    {"It has to know what.", []string{"down"}, 1, []string{"--all"}},
		"down two ways":   {"It has to know what.", []string{"down", "demo", "--all"}, 1, []string{"one of them"}},
		"trace of all":    {"A trace has one cluster.", []string{"down", "--all", "--trace", "a.json"}, 1, []string{"one cluster", "--all"}},
		"trace nowhere":   {"Nothing is created.", []string{"up", "demo", "--trace", "/proc/none/a.json"}, 1, []string{"create trace", "/proc/none/a.json"}},
		"no kubeconfig":   {"It has to know whose.", []string{"kubeconfig"}, 1, []string{"--management"}},
		"unknown output":  {"It names the formats.", []string{"status", "-o", "yaml"}, 1, []string{"text or json"}},
		"unknown cluster": {"It says how to make it.", []string{"status", "demo"}, 1, []string{"capcon up demo"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := newWorld(t).run(tc.args...)
			if code != tc.code {
				t.Errorf("%s Want exit code %d, got %d: %s", tc.reason, tc.code, code, errs)
			}
			mustContain(t, out+errs, tc.words...)
		})
	}
}
