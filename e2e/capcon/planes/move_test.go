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

// Package planes tests management planes on a real engine: several of them, lost, restored and
// upgraded.
package planes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	moveCluster = "move-test"
	// otherPlane is alongside capcon's.
	otherPlane = "capcon-test-move"
	// machinesOfMove are a control plane, a worker, and an instance of a pool.
	machinesOfMove = 3
)

// TestMove moves a cluster, with a machine pool alongside its worker, from capcon's
// management plane to another one alongside it and back, by clusterctl and below clients that never pause. Nothing is made
// recreated, the engine gets no call that changes something, and nothing is
// left behind; in between the other plane scales the cluster.
func TestMove(t *testing.T) {
	eng := integration.Engine(t)
	program := capcontest.Build(t, moveCluster)
	before := capcontest.Ours(t, eng)
	program.MustRun("down", moveCluster)
	other := plane.New(eng, plane.Options{Name: otherPlane})
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("KEEP") != "" {
			return
		}
		ctx := context.WithoutCancel(t.Context())
		// The other one first: it would recreate what "down" removes.
		if err := capcontest.DiscardPlane(ctx, eng, otherPlane); err != nil {
			t.Error(err)
		}
		_, _ = program.Run(ctx, "down", moveCluster)
	})
	program.MustRun("up", moveCluster, "--control-planes", "1", "--workers", "1")

	m := &move{program: program, engine: eng, clusterctl: clusterctl.New(t, capcontest.Root), cluster: program.ConnectCluster()}
	m.home = m.connect(t, plane.DefaultName, plane.New(eng, plane.Options{}))
	m.away = m.connect(t, otherPlane, other)
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(program.Kubeconfig(moveCluster)))(t)
	m.addPool(t)
	m.deploy(t)
	m.healthy(t, m.home, machinesOfMove)
	asking := capcontest.StartTraffic(t, config)
	capcontest.RunSteps(t, []capcontest.Step{
		{Name: "there", Run: func(t *testing.T) { m.moves(t, m.home, m.away) }},
		{Name: "nothing to collect", Run: m.nothingToCollect},
		{Name: "1 to 2 there", Run: func(t *testing.T) { m.scale(t, m.away, 2) }},
		{Name: "2 to 1 there", Run: func(t *testing.T) { m.scale(t, m.away, 1) }},
		{Name: "pool 1 to 2 there", Run: func(t *testing.T) { m.scalePool(t, m.away, 2) }},
		{Name: "pool 2 to 1 there", Run: func(t *testing.T) { m.scalePool(t, m.away, 1) }},
		{Name: "back", Run: func(t *testing.T) { m.moves(t, m.away, m.home) }},
		{Name: "other plane goes", Run: func(t *testing.T) { m.planeGoes(t, other) }},
		{Name: "no client was disturbed", Run: func(t *testing.T) {
			asking.Stop()
			t.Log(asking)
			if asking.FailedTwice > 0 {
				t.Errorf("%d requests failed twice", asking.FailedTwice)
			}
		}},
		{Name: "down", Run: func(t *testing.T) { program.At(t).MustRun("down", moveCluster) }},
		{Name: "nothing left", Run: func(t *testing.T) { capcontest.NothingLeftSince(t, eng, before) }},
	})
}

// move is the cluster of the test and the two planes that it moves between.
type move struct {
	program    *capcontest.Program
	engine     engine.Engine
	clusterctl *clusterctl.Clusterctl
	cluster    kubernetes.Interface
	home, away *side
}

// addPool of one machine to the cluster.
func (m *move) addPool(t *testing.T) {
	t.Helper()
	m.change(t, m.home, func(topology *clusterv1.Topology) {
		topology.Workers.MachinePools = []clusterv1.MachinePoolTopology{{Class: "worker", Name: "pool", Replicas: ptr.To[int32](1)}}
	}, machinesOfMove)
}

// deploy a workload whose Pods are to stay the same.
func (m *move) deploy(t *testing.T) {
	t.Helper()
	capcontest.LoadWebtool(t, m.program)
	capcontest.DeployServers(t, m.cluster)
	capcontest.WebPods(t, m.cluster, len(capcontest.NodeContainers(t, m.engine, moveCluster)))
}

// side is one management plane, which logs what it changes on the engine.
type side struct {
	name, kubeconfig string
	api              client.Client
}

// connect makes sure of a plane with the image that capcon's has.
func (m *move) connect(t *testing.T, name string, p *plane.Plane) *side {
	t.Helper()
	return m.connectImage(t, name, p, m.planeImage(t))
}

func (m *move) planeImage(t *testing.T) string {
	t.Helper()
	running := must.Get(m.engine.InspectContainer(t.Context(), plane.DefaultName))(t)
	return running.Image
}

func (m *move) connectImage(t *testing.T, name string, p *plane.Plane, image string) *side {
	t.Helper()
	ready := must.Get(p.Ensure(t.Context(), image, nil))(t)
	path := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.WriteFile(path, ready.Kubeconfig, 0o600))
	api := must.Get(capcontest.ConnectPlane(t.Output(), ready.Kubeconfig))(t)
	return &side{name: name, kubeconfig: path, api: api}
}

// moves the cluster and looks at what it is and at what was done.
func (m *move) moves(t *testing.T, from, to *side) {
	machines := len(capcontest.NodeContainers(t, m.engine, moveCluster))
	before, changes := m.observe(t, from), m.changes(t)
	start := time.Now()
	must.Get(m.clusterctl.Run(t.Context(), "move", "--namespace", metav1.NamespaceDefault,
		"--kubeconfig", from.kubeconfig, "--to-kubeconfig", to.kubeconfig))(t)
	t.Logf("moved after %s", time.Since(start).Round(time.Millisecond))
	m.healthy(t, to, machines)
	t.Logf("whole again after %s", time.Since(start).Round(time.Millisecond))
	if diff := cmp.Diff(before, m.observe(t, to)); diff != "" {
		t.Errorf("the cluster is not what it was (-before, +after):\n%s", diff)
	}
	m.nothingChanged(t, changes)
	nothingLeft(t, from)
}

// nothingChanged on the engine since planes had made these changes.
func (m *move) nothingChanged(t *testing.T, since map[string][]string) {
	t.Helper()
	for name, lines := range m.changes(t) {
		for _, line := range lines[min(len(since[name]), len(lines)):] {
			t.Errorf("%s changed the engine: %s", name, line)
		}
	}
}

// nothingToCollect: capcon's own plane does not know the cluster any more, and
// still nothing of it is taken for garbage.
func (m *move) nothingToCollect(t *testing.T) {
	var decisions []struct{ Action, Name, Cluster string }
	must.Succeed(t, json.Unmarshal([]byte(m.program.At(t).MustRun("gc", "-o", "json")), &decisions))
	for _, decision := range decisions {
		if decision.Action != "keep" {
			t.Errorf("gc would %s %s", decision.Action, decision.Name)
		}
	}
}

// scale the workers, which takes all that a management cluster does.
func (m *move) scale(t *testing.T, at *side, workers int) {
	m.change(t, at, func(topology *clusterv1.Topology) {
		topology.Workers.MachineDeployments[0].Replicas = ptr.To(int32(workers)) //nolint:gosec // two
	}, machinesOfMove-1+workers)
}

func (m *move) scalePool(t *testing.T, at *side, instances int) {
	m.change(t, at, func(topology *clusterv1.Topology) {
		topology.Workers.MachinePools[0].Replicas = ptr.To(int32(instances)) //nolint:gosec // two
	}, machinesOfMove-1+instances)
}

// change the topology and wait for what it asks for.
func (m *move) change(t *testing.T, at *side, change func(*clusterv1.Topology), machines int) {
	t.Helper()
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: moveCluster}
	capcontest.Edit(t, at.api, key, &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) { change(&cluster.Spec.Topology) })
	capcontest.NodesReady(t, m.cluster, machines)
	m.healthy(t, at, machines)
	// Kubernetes removes Pods of a Node that is gone some time later, and what it
	// did meanwhile would look as if the next move had done it.
	capcontest.Eventually(t, "no Pods of Nodes that are gone", func(ctx context.Context) (string, error) {
		pods, err := m.cluster.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", fmt.Errorf("list Pods: %w", err)
		}
		nodes, err := m.cluster.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", fmt.Errorf("list Nodes: %w", err)
		}
		for _, pod := range pods.Items {
			has := func(node corev1.Node) bool { return node.Name == pod.Spec.NodeName }
			if pod.Spec.NodeName != "" && !slices.ContainsFunc(nodes.Items, has) {
				return fmt.Sprintf("%s is on %s", pod.Name, pod.Spec.NodeName), nil
			}
		}
		return "", nil
	})
}

// planeGoes with all that it had, and leaves what others use.
func (m *move) planeGoes(t *testing.T, p *plane.Plane) {
	if clusters, err := p.Remove(t.Context()); err != nil || len(clusters) > 0 {
		t.Fatalf("it stays for %v, %v", clusters, err)
	}
	if state, err := p.State(t.Context()); err != nil || state.Exists {
		t.Errorf("the other plane is left: %+v, %v", state, err)
	}
	m.healthy(t, m.home, machinesOfMove)
}
