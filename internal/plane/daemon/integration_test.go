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

package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationPlane takes one plane through its life: its parts build on each other,
// since each start costs seconds.
func TestIntegrationPlane(t *testing.T) {
	t.Parallel()
	p := newTestPlane(t)
	// The engine is down all the time.
	p.args[len(p.args)-1] = "--engine=docker"
	p.environment = []string{"DOCKER_HOST=unix://" + filepath.Join(p.dir, "docker.sock")}
	began := time.Now()
	p.start(t)
	p.connect(t)
	p.awaitReady(t)
	t.Logf("ready %s after the start", time.Since(began).Round(time.Millisecond))
	var err error
	if p.client, err = client.New(p.config, client.Options{}); err != nil {
		t.Fatal(err)
	}

	breaks := p.watchForBreaks(t)
	p.testAPI(t)
	p.testOwnWebhooks(t)
	p.testClusterctl(t)
	p.testLock(t)
	p.testRenewal(t)
	if got := breaks(); len(got) > 0 {
		t.Errorf("the API broke off while certificates were renewed: %v", got)
	}
	p.testKilledChildren(t)
	p.testHungChildren(t)
	p.testKilledDaemon(t)
	p.testStop(t)
}

// testAPI proves that webhooks default, validate and convert, and that what
// is owned goes with its owner.
func (p *testPlane) testAPI(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	made := cluster("v1beta2", "made")
	if err := unstructured.SetNestedMap(made.Object, map[string]any{
		"paused":            true,
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "ContainerCluster", "name": "made"},
	}, "spec"); err != nil {
		t.Fatal(err)
	}
	if err := p.client.Create(ctx, made); err != nil {
		t.Fatalf("create Cluster: %v", err)
	}
	old := cluster("v1beta1", "made")
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(old), old); err != nil {
		t.Fatalf("get Cluster as v1beta1: %v", err)
	}
	version, _, err := unstructured.NestedString(old.Object, "spec", "infrastructureRef", "apiVersion")
	must.Succeed(t, err)
	if diff := cmp.Diff("infrastructure.cluster.x-k8s.io/v1beta2", version); diff != "" {
		t.Errorf("version of the reference after conversion: -want, +got:\n%s", diff)
	}
	if err := p.client.Create(ctx, cluster("v1beta2", "empty")); !apierrors.IsInvalid(err) {
		t.Errorf("create an empty Cluster: want it refused as invalid, got %v", err)
	}
	eventually(t, "the controllers have seen the Cluster", func() error {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(made), made); err != nil {
			return err
		}
		if conditions, _, _ := unstructured.NestedSlice(made.Object, "status", "conditions"); len(conditions) == 0 {
			return errors.New("no conditions")
		}
		return nil
	})

	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "owner"}}
	must.Succeed(t, p.client.Create(ctx, owner))
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
	must.Succeed(t, p.client.Create(ctx, owned))
	must.Succeed(t, p.client.Delete(ctx, owner))
	eventually(t, "what is owned is gone", func() error {
		err := p.client.Get(ctx, client.ObjectKeyFromObject(owned), owned)
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}

// testClusterctl proves that clusterctl finds the providers and their versions,
// as in a management cluster that it initialized.
func (p *testPlane) testClusterctl(t *testing.T) {
	t.Helper()
	program := clusterctl.New(t, "../../..")
	repository := program.NewRepository("../../..", "v0.1.99")
	kubeconfig := program.Kubeconfig(p.config)
	generated := must.Get(program.Run(t.Context(), "generate", "cluster", "demo", "--kubeconfig", kubeconfig,
		"--infrastructure", "container", "--kubernetes-version", "v1.36.3", "--control-plane-machine-count", "1"))(t)
	if objects := clusterctl.Decode(t, generated); len(objects) == 0 {
		t.Error("clusterctl generated nothing")
	}
	plan := must.Get(program.Run(t.Context(), "upgrade", "plan", "--kubeconfig", kubeconfig))(t)
	for _, row := range [][2]string{
		{"cluster-api", repository.Core}, {"bootstrap-kubeadm", repository.Core}, {"control-plane-kubeadm", repository.Core},
		{"infrastructure-container", repository.Version},
	} {
		if !regexp.MustCompile(row[0] + ` .*` + regexp.QuoteMeta(row[1]) + ` .*Already up to date`).Match(plan) {
			t.Errorf("The plan does not say that %s %s is up to date:\n%s", row[0], row[1], plan)
		}
	}
}

// testOwnWebhooks proves that the plane serves this provider's webhooks too,
// whether the engine answers or not.
func (p *testPlane) testOwnWebhooks(t *testing.T) {
	t.Helper()
	on := func(network string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"network": map[string]any{"name": network}}}}
		object.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
		object.SetKind("ContainerCluster")
		object.SetNamespace(metav1.NamespaceDefault)
		object.SetName("own")
		return object
	}
	if err := p.client.Create(t.Context(), on("host")); !apierrors.IsInvalid(err) {
		t.Errorf("create a ContainerCluster on the host's network: want it refused as invalid, got %v", err)
	}
	made := on("other")
	if err := p.client.Create(t.Context(), made); err != nil {
		t.Fatalf("create ContainerCluster: %v", err)
	}
	balancer, _, err := unstructured.NestedString(made.Object, "spec", "loadBalancer", "type")
	if err != nil || balancer != "HAProxy" {
		t.Errorf("type of the load balancer: want HAProxy filled in, got %q, %v", balancer, err)
	}
	if err := p.client.Delete(t.Context(), made); err != nil {
		t.Error(err)
	}
}

// testLock proves that no second daemon uses the same state.
func (p *testPlane) testLock(t *testing.T) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), p.program, p.args...).CombinedOutput()
	if err == nil || !strings.Contains(string(output), "in use by another process") {
		t.Errorf("second daemon on the same state: want it refused, got %v\n%s", err, output)
	}
}

// testKilledChildren proves that each process comes back, with the same
// kubeconfig and the same objects.
func (p *testPlane) testKilledChildren(t *testing.T) {
	t.Helper()
	before := p.children(t)
	if len(before) != 4 {
		t.Fatalf("processes of the plane: want 4, got %v", before)
	}
	for name, pid := range before {
		killed := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill %s: %v", name, err)
		}
		eventually(t, name+" is back", func() error {
			if now := p.children(t)[name]; now == 0 || now == pid {
				return errors.New("it is not")
			}
			return nil
		})
		p.awaitReady(t)
		p.mustKeepState(t)
		t.Logf("ready %s after %s was killed", time.Since(killed).Round(time.Millisecond), name)
	}
}

// testHungChildren proves that processes that do not answer are killed and come
// back. All hang concurrently, since each takes the whole failure threshold.
func (p *testPlane) testHungChildren(t *testing.T) {
	t.Helper()
	before := p.children(t)
	hung := time.Now()
	for name, pid := range before {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatalf("stop %s: %v", name, err)
		}
	}
	eventually(t, "all processes are others", func() error {
		now := p.children(t)
		for name, pid := range before {
			if now[name] == 0 || now[name] == pid {
				return fmt.Errorf("%s is not", name)
			}
		}
		return nil
	})
	p.awaitReady(t)
	p.mustKeepState(t)
	t.Logf("ready %s after all processes hung", time.Since(hung).Round(time.Millisecond))
}

// runs reports whether there is a process of that ID that has not ended.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// testKilledDaemon proves that no process outlives a killed daemon, and that
// a new one continues where it was.
func (p *testPlane) testKilledDaemon(t *testing.T) {
	t.Helper()
	before := p.children(t)
	must.Succeed(t, p.cmd.Process.Kill())
	_ = p.cmd.Wait()
	for name, pid := range before {
		eventually(t, name+" is gone with the daemon", func() error {
			if runs(pid) {
				return errors.New("it runs")
			}
			return nil
		})
	}
	began := time.Now()
	p.start(t)
	p.awaitReady(t)
	p.mustKeepState(t)
	t.Logf("ready again %s after the start", time.Since(began).Round(time.Millisecond))
}

func (p *testPlane) mustKeepState(t *testing.T) {
	t.Helper()
	made := cluster("v1beta2", "made")
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(made), made); err != nil {
		t.Errorf("get Cluster with the first kubeconfig: %v", err)
	}
	kubeconfig := must.Get(os.ReadFile(filepath.Join(p.dir, plane.AdminKubeconfig)))(t)
	if !bytes.Equal(p.kubeconfig, kubeconfig) {
		t.Error("the kubeconfig changed")
	}
}

// testStop proves that a daemon that is terminated ends well, and leaves no process.
func (p *testPlane) testStop(t *testing.T) {
	t.Helper()
	before := p.children(t)
	began := time.Now()
	must.Succeed(t, p.cmd.Process.Signal(syscall.SIGTERM))
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("stop: %v", err)
	}
	t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
	for name, pid := range before {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s after the stop: want it gone, got %v", name, err)
		}
	}
}
