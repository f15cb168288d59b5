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
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Control planes take Pods where a new cluster has no workers, also once it has some: with a
// taint, all of them would be replaced.
func TestUpWithoutWorkers(t *testing.T) {
	t.Parallel()
	for workers, want := range map[string]bool{"0": true, "1": false} {
		w := commandtest.New(t)
		w.Controllers = w.Become
		w.RunUntilItWaits("up", "demo", "--workers", workers)
		for _, later := range []string{"1", "0"} {
			w.RunUntilItWaits("up", "demo", "--workers", later, "--yes")
			if got := string(variable(w, "allowSchedulingOnControlPlanes")) == "true"; got != want {
				t.Errorf("created with %s workers, now %s: Pods on control planes: %t, want %t", workers, later, got, want)
			}
		}
	}
}

func TestUpRefusesBeforeAnythingIsTouched(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	commandtest.Contains(t, w.MustFail("up", "Demo", "--control-planes", "2", "--kubernetes-version", "v1.20.0"), "NAME", "--control-planes", "--kubernetes-version")
	if calls := w.Engine.Journal(); len(calls) > 0 || len(w.Plane.Ensured) > 0 {
		t.Errorf("Nothing may be touched, got %v, %v", calls, w.Plane.Ensured)
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
			w := commandtest.New(t)
			existing := must.Get(w.Engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "capcon"}))(t)
			for i := range tc.args {
				tc.args[i] = strings.ReplaceAll(tc.args[i], "172.18.0.0/16", existing.Subnets[0].Prefix.String())
			}
			commandtest.Contains(t, w.MustFail(append([]string{"up", "demo"}, tc.args...)...), tc.words...)
			if created := append(w.Clusters(), w.Containers()...); len(created) > 0 {
				t.Errorf("%s Nothing may be created, got %v", tc.reason, created)
			}
			if w.Plane.Created > 0 || w.Plane.Current.Exists {
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

// variable of the cluster demo; nil where it is not set.
func variable(w *commandtest.World, name string) []byte {
	w.T.Helper()
	for _, variable := range w.Cluster().Spec.Topology.Variables {
		if variable.Name == name {
			return variable.Value.Raw
		}
	}
	return nil
}

func TestUpReplacesAMachineThatLostItsContainer(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
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
		w.Create(object)
	}
	w.Controllers = func() {
		if w.Client.Get(t.Context(), client.ObjectKeyFromObject(lost), lost) == nil {
			return
		}
		// Its owner makes another, and Cluster API removes what was its.
		must.Succeed(t, client.IgnoreNotFound(w.Client.Delete(t.Context(), container)))
	}
	commandtest.Contains(t, w.MustRun("up", "demo"), "machine demo-b", "replacing Machine: ContainerNotFound")
}

func TestUpInterruptedSaysHowToResume(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	code, _, errs := w.RunUntilItWaits("up", "demo")
	if code != 130 {
		t.Errorf("Want exit code %d, got %d", 130, code)
	}
	commandtest.Contains(t, errs, "Interrupted", "capcon up demo", "capcon down demo")
}

// A creation that ends between the objects is continued by the next up.
func TestUpContinuesAnInterruptedCreation(t *testing.T) {
	t.Parallel()
	for failing := range 12 {
		w := commandtest.New(t)
		w.Controllers = w.Become
		calls, broken := 0, errors.New("killed")
		stop := func() error {
			calls++
			if calls > failing {
				return broken
			}
			return nil
		}
		inner := w.Client
		w.Client = interceptor.NewClient(inner, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
				return errors.Join(stop(), until(failing, calls, func() error { return c.Create(ctx, o, options...) }))
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
				return errors.Join(stop(), until(failing, calls, func() error { return c.Patch(ctx, o, patch, options...) }))
			},
		})
		w.Plane.Clusters = func() []string { return []string{"default/kept"} } // it was killed: nothing is cleaned up
		w.RunUntilItWaits("up", "demo")
		w.Client = inner
		w.MustRun("up", "demo")
		present := must.Get(management.Read(t.Context(), w.Client, "default", "demo"))(t)
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
	w := commandtest.New(t)
	polls := 0
	w.Controllers = func() {
		if polls++; polls > 1 {
			cluster := w.Cluster()
			cluster.Finalizers = nil
			must.Succeed(t, w.Client.Update(t.Context(), cluster))
			must.Succeed(t, w.Client.Delete(t.Context(), cluster))
		}
	}
	code, _, errs := w.Run("up", "demo")
	if code != 1 || polls > 2 {
		t.Errorf("up ended with %d after %d polls", code, polls)
	}
	commandtest.Contains(t, errs, `cluster "demo" was deleted meanwhile`)
}
