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

// Package quickstart tests what a person gets: a cluster by one command on a real engine, and
// what becomes of it when its containers, the engine or the host are disturbed.
package quickstart_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const clusterName = "quickstart-test"

// TestQuickstart goes through the life of a cluster in the order in which a
// person would, with a reboot and other disturbances before it grows. Each step
// needs those before it. Steps that do not depend on the engine run on the one that they are
// named after, unless ALL is set in the environment.
func TestQuickstart(t *testing.T) {
	eng := integration.Engine(t)
	program := capcontest.Build(t, clusterName)
	before := capcontest.Ours(t, eng)
	program.DownBeforeAndAfter()
	name := must.Get(eng.Info(t.Context()))(t).Name
	// With Podman, cluster and workload have both IP families.
	ipFamily, families := "ipv4", network.Families{network.IPv4}
	if name == "podman" {
		ipFamily, families = "dual", network.Families{network.IPv4, network.IPv6}
	}

	steps := []capcontest.Step{
		{Name: "up 1+1 from a configuration of kind", Run: func(t *testing.T) { upTraced(t, program.At(t), "-f", kindConfiguration(t, ipFamily)) }},
		{Name: "nodes ready", Run: func(t *testing.T) { capcontest.NodesReady(t, program.At(t).ConnectCluster(), 2) }},
		{Name: "nodes are as the configuration says", Run: func(t *testing.T) { nodesAreConfigured(t, program.At(t)) }},
		{Name: "kubectl has its context", Run: kubectlReachesCluster},
		{Name: "nodes have the requested memory", Run: func(t *testing.T) { nodesAreLimited(t, eng, program.At(t), "3Gi") }},
		{Name: "running nodes get more memory", Run: func(t *testing.T) { nodesGrow(t, eng, program.At(t)) }},
		{Name: "docker: metrics-server is installed", Run: func(t *testing.T) { installMetricsServer(t, eng, program.At(t)) }},
		{Name: "pods talk across nodes", Run: func(t *testing.T) { capcontest.PodsTalk(t, eng, program.At(t)) }},
		{Name: "IP families of Pods and Services", Run: func(t *testing.T) {
			cluster := program.At(t).ConnectCluster()
			capcontest.PodsHaveFamilies(t, cluster, families)
			capcontest.LocalhostHasFamilies(t, eng, clusterName, families)
			capcontest.ServiceAnswersOn(t, cluster, "of-families", families)
			deleteService(t, cluster, "of-families")
		}},
		{Name: "images of registries", Run: func(t *testing.T) { pullsFromRegistries(t, eng, program.At(t)) }},
		{Name: "up again changes nothing", Run: func(t *testing.T) { upAgain(t, eng, program.At(t)) }},
		{Name: "docker: kubectl top", Run: func(t *testing.T) { topAnswers(t, eng, program.At(t)) }},
		{Name: "restarts", Run: func(t *testing.T) { withstandsRestarts(t, eng, program.At(t)) }},
		{Name: "docker: drift", Run: func(t *testing.T) { driftIsReported(t, eng, program.At(t), capcontest.Number(t, "KILLS", fewKills)) }},
		{Name: "podman: workers 1 to 2 to 1 under load", Run: func(t *testing.T) { scaleUnderLoad(t, program.At(t)) }},
		{Name: "docker: stop and start", Run: func(t *testing.T) { stopsAndStarts(t, eng, program.At(t)) }},
		{Name: "podman: control planes 1 to 3", Run: func(t *testing.T) {
			program.At(t).MustRun("up", clusterName, "--control-planes", "3")
			capcontest.NodesReady(t, program.At(t).ConnectCluster(), 4)
		}},
		{Name: "status", Run: func(t *testing.T) { program.At(t).MustRun("status", clusterName) }},
		{Name: "commands for scripts", Run: func(t *testing.T) { answersScripts(t, program.At(t)) }},
		{Name: "permissions and secrets", Run: func(t *testing.T) {
			nothingLeaks(t, eng, program.At(t), comparePermissions(t, eng, clusterName))
		}},
		{Name: "the plane as a node sees it", Run: func(t *testing.T) { planeFromNode(t, eng, program.At(t)) }},
		{Name: "down", Run: func(t *testing.T) { program.At(t).MustRun("down", clusterName) }},
		{Name: "kubectl has no context", Run: kubectlHasNoContext},
		{Name: "nothing left", Run: func(t *testing.T) { capcontest.NothingLeftSince(t, eng, before) }},
	}
	capcontest.RunSteps(t, slices.DeleteFunc(steps, func(s capcontest.Step) bool {
		only, _, isOnly := strings.Cut(s.Name, ": ")
		return isOnly && only != name && os.Getenv("ALL") == ""
	}))
}

// kubectlReachesCluster by its current context, which is that of the cluster.
func kubectlReachesCluster(t *testing.T) {
	path, name := capcontest.UserKubeconfig(t), "capcon-"+clusterName
	if current := must.Get(clientcmd.LoadFromFile(path))(t).CurrentContext; current != name {
		t.Fatalf("the current context in %s is %q, want %q", path, current, name)
	}
	client := must.Get(kubernetes.NewForConfig(must.Get(clientcmd.BuildConfigFromFlags("", path))(t)))(t)
	must.Get(client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t)
}

// kubectlHasNoContext of the cluster, which is deleted.
func kubectlHasNoContext(t *testing.T) {
	path, name := capcontest.UserKubeconfig(t), "capcon-"+clusterName
	config := must.Get(clientcmd.LoadFromFile(path))(t)
	if config.CurrentContext == name || config.Contexts[name] != nil {
		t.Fatalf("%s has the current context %q and contexts %v, want none of %s", path, config.CurrentContext, config.Contexts, name)
	}
}

// kindConfiguration of the cluster, in a file.
func kindConfiguration(t *testing.T, ipFamily string) string {
	path := filepath.Join(t.TempDir(), "kind.yaml")
	must.Succeed(t, os.WriteFile(path, []byte(`kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
name: `+clusterName+`
networking: {ipFamily: `+ipFamily+`, dnsSearch: [corp.example.com]}
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  maxPods: 77
nodes:
- role: control-plane
- role: worker
  labels: {tier: frontend}
`), 0o600))
	return path
}

// nodesAreConfigured as kindConfiguration says.
func nodesAreConfigured(t *testing.T, program *capcontest.Program) {
	nodes := must.Get(program.ConnectCluster().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t)
	var got []string
	for _, node := range nodes.Items {
		_, isControlPlane := node.Labels["node-role.kubernetes.io/control-plane"]
		search := program.MustOutput("exec", node.Name, "--", "grep", "^search", "/etc/resolv.conf")
		got = append(got, fmt.Sprintf("control plane %t, tier %q, %s Pods, %s", isControlPlane, node.Labels["tier"], node.Status.Allocatable.Pods(), strings.TrimSpace(search)))
	}
	slices.Sort(got)
	want := []string{
		`control plane false, tier "frontend", 77 Pods, search corp.example.com`,
		`control plane true, tier "", 77 Pods, search corp.example.com`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want, +got):\n%s", diff)
	}
}

// nodesAreLimited to an amount of memory: the kernel enforces it, and the scheduler counts with it.
func nodesAreLimited(t *testing.T, eng engine.Engine, program *capcontest.Program, memory string) {
	want := resource.MustParse(memory)
	workload := program.ConnectCluster()
	must.Eventually(t, 2*time.Minute, "the Nodes offer the memory to Pods", func(ctx context.Context) error {
		nodes, err := workload.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list Nodes: %w", err)
		}
		for _, node := range nodes.Items {
			if allocatable := node.Status.Allocatable.Memory(); allocatable.Value() != want.Value() {
				return fmt.Errorf("node %s offers %s, want %s", node.Name, allocatable, memory)
			}
		}
		return nil
	})
	// Cgroup v2, or else v1.
	const limit = "cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes"
	for _, container := range capcontest.NodeContainers(t, eng, program.Cluster) {
		output := must.Get(eng.Exec(t.Context(), container.Name, engine.Command{Args: []string{"sh", "-c", limit}}))(t)
		if got := strings.TrimSpace(string(output.Stdout)); got != strconv.FormatInt(want.Value(), 10) {
			t.Errorf("the limit of container %s is %s bytes, want %d", container.Name, got, want.Value())
		}
	}
}

// nodesGrow while they run: no container is replaced.
func nodesGrow(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	const memory = "3584Mi"
	before := capcontest.NodeContainers(t, eng, program.Cluster)
	program.MustRun("up", clusterName, "--memory", memory)
	nodesAreLimited(t, eng, program, memory)
	if diff := cmp.Diff(capcontest.IDs(before), capcontest.IDs(capcontest.NodeContainers(t, eng, program.Cluster))); diff != "" {
		t.Errorf("containers of the cluster (-before, +after):\n%s", diff)
	}
}

// stopsAndStarts: a stopped cluster uses nothing, and is the same once it is started.
func stopsAndStarts(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	before := observe(t, eng, program)
	program.MustRun("stop", clusterName)
	containers := must.Get(eng.ListContainers(t.Context(), map[string]string{identity.LabelCluster: clusterName}))(t)
	for _, container := range containers {
		if container.Status == engine.StatusRunning {
			t.Errorf("container %s runs", container.Name)
		}
	}
	status, err := program.Run(t.Context(), "status", clusterName)
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 4 || !strings.Contains(status, "The cluster is stopped.") {
		t.Errorf("status ended with %v, want exit code 4, and that the cluster is stopped:\n%s", err, status)
	}
	program.MustRun("start", clusterName)
	if diff := cmp.Diff(before.facts, observe(t, eng, program).facts); diff != "" {
		t.Errorf("what must not change (-before, +after):\n%s", diff)
	}
	capcontest.NodesReady(t, program.ConnectCluster(), 2)
	capcontest.ServiceAnswers(t, program.ConnectCluster(), "servers")
}

// answersScripts with names, objects and exit codes.
func answersScripts(t *testing.T, program *capcontest.Program) {
	program.MustRun("wait", clusterName, "--timeout", "1m")
	program.MustRun("plane", "status")
	if log := program.MustRun("plane", "logs", "--tail", "1"); log == "" {
		t.Error("the management cluster has no log")
	}
	nodes := strings.Fields(program.MustRun("get", "nodes", clusterName, "-o", "name"))
	if machines := strings.Fields(program.MustRun("get", "machines", clusterName, "-o", "name")); len(nodes) == 0 || len(machines) != len(nodes) {
		t.Fatalf("nodes %v of machines %v", nodes, machines)
	}
	if name := strings.TrimSpace(program.MustRun("exec", nodes[0], "--", "hostname")); name != nodes[0] {
		t.Errorf("node %s says that it is %q", nodes[0], name)
	}
	for code, command := range map[int][]string{42: {"sh", "-c", "exit 42"}, 127: {"absent"}, 126: {"/etc/hosts"}} {
		output, err := program.Run(t.Context(), slices.Concat([]string{"exec", nodes[0], "--"}, command)...)
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != code || output != "" {
			t.Errorf("exec of %q ended with %v and standard output %q, want exit code %d", command, err, output, code)
		}
	}
	if out := program.MustRun("down", "absent", "--keep-plane"); !strings.Contains(out, "Images were kept") {
		t.Errorf("down of an absent cluster printed %q", out)
	}
}

// upAgain: a second run finds everything there.
func upAgain(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	before := capcontest.NodeContainers(t, eng, program.Cluster)
	program.MustRun("up", clusterName)
	if diff := cmp.Diff(capcontest.IDs(before), capcontest.IDs(capcontest.NodeContainers(t, eng, program.Cluster))); diff != "" {
		t.Errorf("containers of the cluster (-before, +after):\n%s", diff)
	}
}
