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

package command_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/engineobjects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// memoryWorld has a management cluster whose clusters are in memory, and no image of nodes.
func memoryWorld(t *testing.T) *commandtest.World {
	t.Helper()
	w := commandtest.New(t)
	w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	w.Engine.AddImage(engine.Image{Tags: []string{commandtest.MemoryPlaneImage}}, nil)
	w.Engine.RemoveImage(commandtest.NodeImage)
	w.Engine.RemoveImage(commandtest.HAProxyImage)
	commandtest.Contains(t, w.MustRun("plane", "up", "--memory"), "capcon up NAME", "capcon tunnel")
	w.Writes = 0
	w.Engine.ResetJournal()
	return w
}

// The mode is chosen once, with the image that has it.
func TestPlaneInMemory(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	commandtest.Contains(t, w.MustFail("plane", "up", "--memory"), commandtest.MemoryPlaneImage, "make images-load IMAGES=plane-memory")
	w.MustRun("plane", "up")
	commandtest.Contains(t, w.MustFail("plane", "up", "--memory"), "are containers, and cannot be in memory", "capcon plane down")
	w.MustRun("plane", "down")

	w.Engine.AddImage(engine.Image{Tags: []string{commandtest.MemoryPlaneImage}}, nil)
	w.MustRun("plane", "up", "--memory")
	for _, again := range [][]string{{"plane", "up"}, {"plane", "up", "--memory"}, {"plane", "up", "--memory=true"}} {
		w.MustRun(again...)
	}
	commandtest.Contains(t, w.MustFail("plane", "up", "--memory=false"), "are in memory, and cannot be containers", "capcon plane down")
	commandtest.Contains(t, w.MustRun("plane", "status"), "clusters are in memory")
	w.MustRun("plane", "down")
	w.MustRun("plane", "up")
	want := []string{
		commandtest.PlaneImage, commandtest.MemoryPlaneImage, commandtest.MemoryPlaneImage, commandtest.MemoryPlaneImage,
		commandtest.MemoryPlaneImage, commandtest.PlaneImage,
	}
	if diff := cmp.Diff(want, w.Plane.Ensured); diff != "" {
		t.Errorf("images of management clusters (-want +got):\n%s", diff)
	}
	if w.Plane.Current.InMemory {
		t.Error("the management cluster after one in memory is in memory too")
	}
}

// A cluster in memory takes nothing of the engine, and has what the webhooks there admit.
func TestClusterInMemory(t *testing.T) {
	t.Parallel()
	w := memoryWorld(t)
	w.RunUntilItWaits("up", "demo", "--kubernetes-version", "v1.36.99")
	if calls := w.Engine.MutatingCalls(); len(calls) > 0 {
		t.Errorf("up changes the engine: %v", calls)
	}
	got := map[string]string{}
	for _, variable := range w.Cluster().Spec.Topology.Variables {
		var value struct{ Type string }
		if json.Unmarshal(variable.Value.Raw, &value) == nil {
			got[variable.Name] = value.Type
		}
	}
	want := map[string]string{"nodeImages": "", "loadBalancer": "HAProxy", "network": "", "storage": "None", "serviceLoadBalancer": "None"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types of the variables (-want +got):\n%s", diff)
	}

	w.Controllers = w.Become
	commandtest.Contains(t, w.MustRun("up", "demo"), "Cluster demo is ready", "capcon tunnel", "capcon down demo")
	w.MustRun("up", "demo", "--control-planes", "3", "--kubernetes-version", "v1.36.100", "--dry-run")
	for _, reads := range [][]string{{"status", "demo"}, {"get", "clusters"}, {"get", "machines"}, {"list"}, {"get", "config", "demo"}} {
		w.MustRun(reads...)
	}
	code, out, errs := w.Run("kubeconfig", "demo")
	if code != 0 {
		t.Errorf("kubeconfig ended with %d", code)
	}
	commandtest.Contains(t, out, "127.0.0.1:40123")
	commandtest.Contains(t, errs, "capcon tunnel")
	w.Controllers = w.VanishObjects
	commandtest.Contains(t, w.MustRun("down", "demo"), "cluster demo: deleted", "kept, because it was started")
}

// What needs containers or engines is refused, with the cause and what to do.
func TestRefusedInMemory(t *testing.T) {
	t.Parallel()
	w := memoryWorld(t)
	for flag, value := range map[string]string{
		"--image": "node:1", "--load-balancer-image": "haproxy:1", "--registry": "127.0.0.1:5000", "--cni": "flannel", "--engine-name": "other",
		"--cpus": "2", "--memory": "4Gi",
	} {
		for _, mode := range [][]string{nil, {"--dry-run"}} {
			commandtest.Contains(t, w.MustFail(append([]string{"up", "demo", flag, value}, mode...)...), flag, value, "memory", "capcon plane down")
		}
	}
	if w.Writes > 0 {
		t.Errorf("%d objects were written for requests that are refused", w.Writes)
	}
	w.Controllers = w.Become
	w.MustRun("up", "demo", "--cni", "none")
	key, known := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "known")
	private, hosts := engineobjects.Key(t)
	must.Succeed(t, errors.Join(os.WriteFile(key, private, 0o600), os.WriteFile(known, hosts, 0o600)))
	for _, args := range [][]string{
		{"logs", "demo"}, {"load", "demo", commandtest.PlaneImage}, {"certs", "demo"}, {"certs", "renew", "demo"},
		{"exec", "demo-control-plane-abcde", "--", "true"},
		{"engine", "add", "other", "ssh://me@build.example.org", "--ssh-key", key, "--known-hosts", known},
	} {
		commandtest.Contains(t, w.MustFail(args...), "are in memory, and have neither containers nor engines", "capcon plane logs", "capcon plane down")
	}
}
