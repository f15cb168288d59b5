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

// Package quickstart tests what a person gets: a cluster by one command, on a
// real engine, through the program they run.
package capcon_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const clusterName = "quickstart-test"

// capcon is the program under test.
type capcon struct {
	t    *testing.T
	path string
	// cluster that the test is about.
	cluster string
	// attributes of its processes, nil for those of the test's.
	attributes *syscall.SysProcAttr
}

// build makes the program as the Makefile does.
func build(t *testing.T, cluster string) *capcon {
	t.Helper()
	path := filepath.Join(t.TempDir(), "capcon")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/capcon")
	command.Dir = "../.." // the module of capcon, whose dependencies it is built with
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build capcon: %v\n%s", err, output)
	}
	return &capcon{t: t, path: path, cluster: cluster}
}

// downBeforeAndAfter deletes the cluster that an earlier test left, and again when this
// test ends; not where it failed and KEEP is set.
func (c *capcon) downBeforeAndAfter() {
	c.t.Helper()
	c.mustRun("down", c.cluster)
	c.t.Cleanup(func() {
		if !c.t.Failed() || os.Getenv("KEEP") == "" {
			_, _ = c.run(context.WithoutCancel(c.t.Context()), "down", c.cluster)
		}
	})
}

// run runs a command and returns what it prints to standard output; its
// progress goes to the test's log.
func (c *capcon) run(ctx context.Context, args ...string) (string, error) {
	c.t.Helper()
	command := c.command(ctx, append(args, "--engine", integration.EngineName())...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	began := time.Now()
	err := command.Run()
	c.t.Logf("capcon %s (%.1fs)\n%s%s", strings.Join(args, " "), time.Since(began).Seconds(), stderr.String(), stdout.String())
	if err != nil {
		return stdout.String(), fmt.Errorf("capcon %s: %w", strings.Join(args, " "), err)
	}
	return stdout.String(), nil
}

// mustShow runs a command and returns its progress too.
func (c *capcon) mustShow(args ...string) string {
	c.t.Helper()
	output, err := c.command(c.t.Context(), append(args, "--engine", integration.EngineName())...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("capcon %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// command has a state of its own for each engine: the tests of two engines run at the same
// time with clusters of the same names, and one that is recorded on another engine is unknown.
func (c *capcon) command(ctx context.Context, args ...string) *exec.Cmd {
	c.t.Helper()
	command := exec.CommandContext(ctx, c.path, args...)
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(must.Get(os.UserHomeDir())(c.t), ".local", "state", "capcon-test", integration.EngineName()))
	command.SysProcAttr = c.attributes
	return command
}

func (c *capcon) mustRun(args ...string) string {
	c.t.Helper()
	output, err := c.run(c.t.Context(), args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return output
}

// kubeconfig is what the program prints for these arguments.
func (c *capcon) kubeconfig(args ...string) []byte {
	c.t.Helper()
	kubeconfig, err := c.getKubeconfig(c.t.Context(), args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return kubeconfig
}

// getKubeconfig is kubeconfig for who tries again.
func (c *capcon) getKubeconfig(ctx context.Context, args ...string) ([]byte, error) {
	args = append([]string{"kubeconfig", "--engine", integration.EngineName()}, args...)
	kubeconfig, err := c.command(ctx, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("get kubeconfig: %w", err)
	}
	return kubeconfig, nil
}

// connectCluster returns a client made of the kubeconfig that the program
// prints for users.
func (c *capcon) connectCluster() kubernetes.Interface {
	c.t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(c.kubeconfig(c.cluster))
	if err != nil {
		c.t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// TestQuickstart goes through the life of a cluster in the order in which a
// person would, with a reboot and other disturbances before it grows. Each step
// needs those before it. Steps that do not depend on the engine run on the one that they are
// named after, unless ALL is set in the environment.
func TestQuickstart(t *testing.T) {
	eng := integration.Engine(t)
	program := build(t, clusterName)
	before := ours(t, eng)
	program.downBeforeAndAfter()

	steps := []step{
		{"up 1+1", func(t *testing.T) { upTraced(t, program.at(t)) }},
		{"nodes ready", func(t *testing.T) { nodesReady(t, program.at(t).connectCluster(), 2) }},
		{"nodes have the memory asked for", func(t *testing.T) { nodesAreLimited(t, eng, program.at(t)) }},
		{"docker: metrics-server is installed", func(t *testing.T) { installMetricsServer(t, eng, program.at(t)) }},
		{"pods talk across nodes", func(t *testing.T) { podsTalk(t, eng, program.at(t)) }},
		{"images of registries", func(t *testing.T) { pullsFromRegistries(t, eng, program.at(t)) }},
		{"up again changes nothing", func(t *testing.T) { upAgain(t, eng, program.at(t)) }},
		{"docker: kubectl top", func(t *testing.T) { topAnswers(t, eng, program.at(t)) }},
		{"restarts", func(t *testing.T) { withstandsRestarts(t, eng, program.at(t)) }},
		{"docker: drift", func(t *testing.T) { driftIsReported(t, eng, program.at(t), number(t, "KILLS", fewKills)) }},
		{"podman: workers 1 to 2 to 1 under load", func(t *testing.T) { scaleUnderLoad(t, program.at(t)) }},
		{"docker: stop and start", func(t *testing.T) { stopsAndStarts(t, eng, program.at(t)) }},
		{"podman: control planes 1 to 3", func(t *testing.T) {
			program.at(t).mustRun("up", clusterName, "--control-planes", "3")
			nodesReady(t, program.at(t).connectCluster(), 4)
		}},
		{"status", func(t *testing.T) { program.at(t).mustRun("status", clusterName) }},
		{"permissions and secrets", func(t *testing.T) {
			nothingLeaks(t, eng, program.at(t), comparePermissions(t, eng, clusterName))
		}},
		{"the plane as a node sees it", func(t *testing.T) { planeFromNode(t, eng, program.at(t)) }},
		{"down", func(t *testing.T) { program.at(t).mustRun("down", clusterName) }},
		{"nothing left", func(t *testing.T) { nothingLeftSince(t, eng, before) }},
	}
	name := must.Get(eng.Info(t.Context()))(t).Name
	runSteps(t, slices.DeleteFunc(steps, func(s step) bool {
		only, _, isOnly := strings.Cut(s.name, ": ")
		return isOnly && only != name && os.Getenv("ALL") == ""
	}))
}

// at returns the program logging to a sub-test.
func (c *capcon) at(t *testing.T) *capcon {
	other := *c
	other.t = t
	return &other
}

// about returns the program for another cluster.
func (c *capcon) about(cluster string) *capcon {
	other := *c
	other.cluster = cluster
	return &other
}

// nodesReady waits for exactly so many Nodes, all Ready, each with the
// provider ID of a machine.
func nodesReady(t *testing.T, cluster kubernetes.Interface, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d Nodes Ready", want), func(ctx context.Context) (string, error) {
		nodes, err := cluster.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		ready := 0
		for _, node := range nodes.Items {
			if _, err := identity.ParseProviderID(node.Spec.ProviderID); err != nil {
				return "", fmt.Errorf("Node %s: %w", node.Name, err)
			}
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if ready == want && len(nodes.Items) == want {
			return "", nil
		}
		return fmt.Sprintf("%d of %d Nodes are Ready", ready, len(nodes.Items)), nil
	})
}

// podsTalk runs a server on each node and asks all of them from each node, by
// address and by the name of their Service.
func podsTalk(t *testing.T, eng engine.Engine, program *capcon) {
	cluster := program.connectCluster()
	nodes := nodeContainers(t, eng, program.cluster)
	// An archive, and an image of the engine.
	output := loadWebtool(t, program, loadBalancerImage)
	if all := fmt.Sprintf("copied to %d of %[1]d nodes", len(nodes)); strings.Count(output, all) != 2 {
		t.Errorf("Want %q of two images in:\n%s", all, output)
	}
	deployServers(t, cluster)
	servers := webPods(t, cluster, len(nodes))
	for node := range servers {
		askFrom(t, cluster, node, servers)
	}
	serviceAnswers(t, cluster, "servers")
}

// loadWebtool copies the workload's image, and others, to all nodes.
func loadWebtool(t *testing.T, program *capcon, others ...string) string {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "webtool.tar")
	must.Succeed(t, os.WriteFile(archive, webtoolArchive(t), 0o600))
	return program.mustShow(append([]string{"load", program.cluster, archive}, others...)...)
}

// nodesAreLimited to the memory that the cluster was created with: the kernel enforces it,
// and the scheduler counts with it.
func nodesAreLimited(t *testing.T, eng engine.Engine, program *capcon) {
	const want = 3 << 30
	nodes := must.Get(program.connectCluster().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t)
	for _, node := range nodes.Items {
		if allocatable := node.Status.Allocatable.Memory(); allocatable.Value() != want {
			t.Errorf("node %s offers %s of memory to Pods, want 3Gi", node.Name, allocatable)
		}
	}
	// Cgroup v2, or else v1.
	const limit = "cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes"
	for _, container := range nodeContainers(t, eng, program.cluster) {
		output := must.Get(eng.Exec(t.Context(), container.Name, engine.Command{Args: []string{"sh", "-c", limit}}))(t)
		if got := strings.TrimSpace(string(output.Stdout)); got != strconv.Itoa(want) {
			t.Errorf("the limit of container %s is %s bytes, want %d", container.Name, got, want)
		}
	}
}

// stopsAndStarts: a stopped cluster uses nothing, and is the same once it is started.
func stopsAndStarts(t *testing.T, eng engine.Engine, program *capcon) {
	before := observe(t, eng, program)
	program.mustRun("stop", clusterName)
	containers := must.Get(eng.ListContainers(t.Context(), map[string]string{identity.LabelCluster: clusterName}))(t)
	for _, container := range containers {
		if container.Status == engine.StatusRunning {
			t.Errorf("container %s runs", container.Name)
		}
	}
	if status := program.mustRun("status", clusterName); !strings.Contains(status, "The cluster is stopped.") {
		t.Error("status does not say that the cluster is stopped")
	}
	program.mustRun("start", clusterName)
	if diff := cmp.Diff(before.facts, observe(t, eng, program).facts); diff != "" {
		t.Errorf("what must not change (-before, +after):\n%s", diff)
	}
	nodesReady(t, program.connectCluster(), 2)
	serviceAnswers(t, program.connectCluster(), "servers")
}

// upAgain: a second run finds everything there.
func upAgain(t *testing.T, eng engine.Engine, program *capcon) {
	before := nodeContainers(t, eng, program.cluster)
	program.mustRun("up", clusterName)
	if diff := cmp.Diff(ids(before), ids(nodeContainers(t, eng, program.cluster))); diff != "" {
		t.Errorf("containers of the cluster (-before, +after):\n%s", diff)
	}
}

func nodeContainers(t *testing.T, eng engine.ContainerReader, cluster string) []engine.Container {
	t.Helper()
	containers := must.Get(listNodeContainers(t.Context(), eng, cluster))(t)
	return containers
}

// listNodeContainers is nodeContainers for who tries again.
func listNodeContainers(ctx context.Context, eng engine.ContainerReader, cluster string) ([]engine.Container, error) {
	containers, err := eng.ListContainers(ctx, map[string]string{identity.LabelCluster: cluster, identity.LabelMachine: ""})
	if err != nil {
		return nil, fmt.Errorf("list containers of nodes: %w", err)
	}
	return containers, nil
}

// loadBalancerOf a cluster.
func loadBalancerOf(t *testing.T, eng engine.ContainerReader, cluster string) engine.Container {
	t.Helper()
	found := must.Get(eng.ListContainers(t.Context(), map[string]string{
		identity.LabelCluster: cluster, identity.LabelRole: string(identity.RoleLoadBalancer),
	}))(t)
	if len(found) != 1 {
		t.Fatalf("%d load balancers of cluster %s", len(found), cluster)
	}
	return found[0]
}

// anyWorker of a cluster.
func anyWorker(t *testing.T, eng engine.ContainerReader, cluster string) engine.Container {
	t.Helper()
	containers := nodeContainers(t, eng, cluster)
	i := slices.IndexFunc(containers, func(c engine.Container) bool { return c.Labels[identity.LabelRole] == string(identity.RoleWorker) })
	if i < 0 {
		t.Skip("the cluster has no worker")
	}
	return containers[i]
}

func ids(containers []engine.Container) []string {
	all := make([]string, 0, len(containers))
	for _, container := range containers {
		all = append(all, container.ID)
	}
	return all
}

// nothingLeftSince the engine had these things. They may have gone since, for reasons of
// their owner.
func nothingLeftSince(t *testing.T, eng engine.Engine, before []string) {
	t.Helper()
	left := slices.DeleteFunc(ours(t, eng), func(thing string) bool { return slices.Contains(before, thing) })
	if len(left) > 0 {
		t.Errorf("left on the engine: %q", left)
	}
}

// ours names everything on the engine that this project made.
func ours(t *testing.T, eng engine.Engine) []string {
	t.Helper()
	all := []string{}
	containers := must.Get(eng.ListContainers(t.Context(), map[string]string{identity.LabelRole: ""}))(t)
	for _, container := range containers {
		all = append(all, "container "+container.Name)
	}
	if _, err := eng.InspectNetwork(t.Context(), "capcon"); err == nil {
		all = append(all, "network capcon")
	} else if engine.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	volumes := must.Get(eng.ListVolumes(t.Context(), map[string]string{identity.LabelPlane: ""}))(t)
	for _, volume := range volumes {
		all = append(all, "volume "+volume.Name)
	}
	return all
}
