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

package quickstart_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// disturb runs a command of the engine and waits until the container's object says
// why it is not ready.
func (d *drift) disturb(container engine.Container, reason, message string, command ...string) {
	d.t.Helper()
	start := time.Now()
	report := d.expectReport(container, message, reason)
	d.run(command...)
	d.t.Logf("%s: reported after %s", strings.Join(command, " "), milliseconds(report.await().at.Sub(start)))
}

// loadBalancer is the container as it is now.
func (d *drift) loadBalancer() engine.Container {
	d.t.Helper()
	return capcontest.LoadBalancerOf(d.t, d.engine, d.program.Cluster)
}

// worker is one of the nodes that run no API server.
func (d *drift) worker() engine.Container {
	d.t.Helper()
	return capcontest.AnyWorker(d.t, d.engine, d.program.Cluster)
}

// answers: all Nodes are Ready, by the kubeconfig that users have.
func (d *drift) answers() {
	d.t.Helper()
	capcontest.NodesReady(d.t, d.program.ConnectCluster(), len(capcontest.NodeContainers(d.t, d.engine, d.program.Cluster)))
}

func (d *drift) pause() {
	for _, container := range d.containers() {
		d.rest(container)
		// runc cannot freeze a cgroup of version 1 while many processes begin in it,
		// as in a node that was killed a moment ago.
		capcontest.Eventually(d.t, "pause "+container.Name, func(context.Context) (string, error) { return "", d.try("pause", container.Name) })
		reason := infrav1.ContainerPausedReason
		if capcontest.IsLoadBalancer(container) {
			reason = infrav1.LoadBalancerPausedReason
		}
		d.expectReport(container, "paused", reason).await()
		d.run("unpause", container.Name)
		d.well(container)
	}
}

// exhaust the memory that a node is given, with its first process as the one that
// the kernel ends. Docker 20.10 gets the exit and the OOM event from two
// sources, in either order, and drops the later one: one of several exits has to be
// reported as OOMKilled.
func (d *drift) exhaust() {
	const times, limit = 5, 1 << 30
	if d.command == "podman" {
		d.t.Skip("Podman has no OOM event, and reports exit code 137 only: docs/how-to/engine.md")
	}
	info, err := d.engine.Info(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	node := d.worker()
	bound := func(bytes int64) {
		d.t.Helper()
		d.run("update", "--memory", strconv.FormatInt(bytes, 10), "--memory-swap", strconv.FormatInt(bytes, 10), node.Name)
	}
	// It cannot be unbound again.
	defer bound(info.MemoryBytes)
	for range times {
		bound(limit)
		report := d.expectReport(node, "exited with code 137", restarted(node)...)
		// The text that bash holds doubles until it may have no more.
		_ = d.try("exec", node.Name, "bash", "-c", "echo 1000 >/proc/1/oom_score_adj; a=0123456789abcdef; while true; do a=$a$a; done")
		message := report.await().message
		d.well(node)
		d.t.Log(message)
		if strings.Contains(message, "(OOMKilled)") {
			return
		}
	}
	d.t.Errorf("none of %d exits is reported as OOMKilled", times)
}

func (d *drift) disconnectNode() {
	containers := slices.DeleteFunc(d.containers(), capcontest.IsLoadBalancer)
	node := containers[0]
	d.disturb(node, infrav1.ContainerDisconnectedReason, "is not connected to network", "network", "disconnect", node.Labels[identity.LabelNetwork], node.Name)
	d.run(capcontest.ConnectArguments(node)...)
	d.well(node)
}

// disconnectLoadBalancer: it is recreated in place, since it has no state.
func (d *drift) disconnectLoadBalancer() {
	balancer := d.loadBalancer()
	d.disturb(balancer, infrav1.LoadBalancerNotRunningReason, "lost its network", "network", "disconnect", balancer.Labels[identity.LabelNetwork], balancer.Name)
	d.well(balancer)
	d.answers()
}

func (d *drift) removeLoadBalancer() {
	balancer := d.loadBalancer()
	d.disturb(balancer, infrav1.LoadBalancerNotRunningReason, "has been recreated", "rm", "--force", balancer.Name)
	d.well(balancer)
	d.answers()
}

// editLoadBalancer by hand, and load that: no event reports it, and the next reconcile
// reverts it.
func (d *drift) editLoadBalancer() {
	balancer := d.loadBalancer()
	file := filepath.Join(d.t.TempDir(), "haproxy.cfg")
	stored := func() ([]byte, error) {
		if err := d.try("cp", balancer.Name+":"+haproxy.ConfigPath, file); err != nil {
			return nil, err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		return text, nil
	}
	text, err := stored()
	if err != nil {
		d.t.Fatal(err)
	}
	before, err := d.backends(d.t.Context(), balancer)
	if err != nil {
		d.t.Fatal(err)
	}
	edited := bytes.ReplaceAll(text, []byte(":6443 "), []byte(":6444 "))
	if bytes.Equal(edited, text) {
		d.t.Fatalf("no API server's port in %s", text)
	}
	if err := os.WriteFile(file, edited, 0o644); err != nil { //nolint:gosec // Another user reads it in the container.
		d.t.Fatal(err)
	}
	d.run("cp", file, balancer.Name+":"+haproxy.ConfigPath)
	d.run("exec", balancer.Name, "bash", "-c", "kill -USR2 1")
	capcontest.Eventually(d.t, "the edit is loaded", func(ctx context.Context) (string, error) {
		now, err := d.backends(ctx, balancer)
		if err != nil {
			return "", err
		}
		// A reconcile with another cause may have reverted it already.
		if present, err := stored(); err != nil || cmp.Equal(before, now) && bytes.Equal(present, edited) {
			return "it has the old ones", err
		}
		return "", nil
	})
	// The next reconcile: the object is changed.
	object, key := objectOf(balancer)
	if err := d.api.Get(d.t.Context(), key, object); err != nil {
		d.t.Fatal(err)
	}
	unchanged, _ := object.DeepCopyObject().(client.Object)
	annotations := object.GetAnnotations()
	annotations["example.test/look"] = "again"
	object.SetAnnotations(annotations)
	if err := d.api.Patch(d.t.Context(), object, client.MergeFrom(unchanged)); err != nil {
		d.t.Fatal(err)
	}
	capcontest.Eventually(d.t, "the edit is reverted", func(ctx context.Context) (string, error) {
		present, err := stored()
		if err != nil {
			return "", err
		}
		now, err := d.backends(ctx, balancer)
		if err != nil {
			return "", err
		}
		return cmp.Diff(string(text), string(present)) + cmp.Diff(before, now), nil
	})
	d.well(balancer)
	d.answers()
}

// backends that the running process says it has.
func (d *drift) backends(ctx context.Context, balancer engine.Container) ([]string, error) {
	state, err := loadbalancer.Observe(ctx, d.engine, balancer.Name)
	if err != nil {
		return nil, fmt.Errorf("get status of load balancer: %w", err)
	}
	var found []string
	for _, server := range state.Backends {
		found = append(found, fmt.Sprintf("%s %s %d", server.Name, server.Address, server.Weight))
	}
	return found, nil
}

// removeNode: what made it a node went with its container, so it says what to do,
// and that helps.
func (d *drift) removeNode() {
	nodes := len(capcontest.NodeContainers(d.t, d.engine, d.program.Cluster))
	d.remove(d.worker())
	capcontest.NodesReady(d.t, d.program.ConnectCluster(), nodes)
	capcontest.MachinesReady(d.t, d.program)
}

// remove a node's container, and then its Machine.
func (d *drift) remove(node engine.Container) {
	d.t.Helper()
	d.disturb(node, infrav1.ContainerNotFoundReason, "delete the Machine", "rm", "--force", "--volumes", node.Name)
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: node.Labels[identity.LabelNamespace], Name: node.Labels[identity.LabelMachine],
	}}
	if err := d.api.Delete(d.t.Context(), machine); err != nil {
		d.t.Fatal(err)
	}
	capcontest.Eventually(d.t, "the Machine is gone", func(ctx context.Context) (string, error) {
		err := d.api.Get(ctx, client.ObjectKeyFromObject(machine), machine)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it is there", err
	})
}
