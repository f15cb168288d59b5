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
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const restartCluster = "restart-test"

// TestRestart disturbs a cluster as the quick start's test does, of any size.
//
// Environment, besides that of withstandsRestarts:
//
//	CONTROL_PLANES  default 1
//	WORKERS         default 1
//	KILLS           how many containers are killed at the end; default fewKills
func TestRestart(t *testing.T) {
	eng := integration.Engine(t)
	program := capcontest.Build(t, restartCluster)
	controlPlanes, workers := capcontest.Number(t, "CONTROL_PLANES", 1), capcontest.Number(t, "WORKERS", 1)
	program.DownBeforeAndAfter()
	program.MustRun("up", restartCluster, "--control-planes", strconv.Itoa(controlPlanes), "--workers", strconv.Itoa(workers))
	capcontest.PodsTalk(t, eng, program)
	withstandsRestarts(t, eng, program)
	t.Run("drift", func(t *testing.T) { driftIsReported(t, eng, program.At(t), capcontest.Number(t, "KILLS", fewKills)) })
}

// withstandsRestarts: a cluster whose load balancer was reloaded before, and
// that runs the workload of podsTalk, is still there after its engine, or all
// containers, stopped and started: same addresses, host port, kubeconfig and
// Machines, workload running.
//
// Environment:
//
//	RESTARTS  which of the interruptions, separated by blanks, or "all";
//	          default the one that is most like a reboot. What must not be
//	          done to this engine is skipped, each by its name, and fails
//	          where it was requested by name or CI is set
func withstandsRestarts(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	t.Helper()
	storeRecord(t, program)
	for range 2 {
		reloadLoadBalancer(t, eng, program.Cluster)
	}
	before := observe(t, eng, program)
	info := must.Get(eng.Info(t.Context()))(t)
	known := interruptions(eng, program, info.Name)
	wanted, byName := wantedRestarts(info.Name, slices.Sorted(maps.Keys(known)))
	for _, name := range wanted {
		passed := t.Run(name, func(t *testing.T) {
			interruption, isKnown := known[name]
			if !isKnown {
				t.Fatalf("this engine cannot be interrupted that way: it can by %q", slices.Sorted(maps.Keys(known)))
			}
			if reason := inUse(t, eng, info.Name, program.Cluster); interruption.stopsAll && reason != "" {
				if byName || os.Getenv("CI") != "" {
					t.Fatal(reason)
				}
				t.Skip(reason)
			}
			interrupt(t, eng, program.At(t), interruption, before)
		})
		if !passed {
			return
		}
	}
	t.Run("volume", func(t *testing.T) { volumeIsRemoved(t, eng, program.At(t)) })
	t.Run("status", func(t *testing.T) { stoppedIsNotAvailable(t, eng, program.At(t)) })
}

// interrupt the engine or its containers, and compare with what was before.
func interrupt(t *testing.T, eng engine.Engine, program *capcontest.Program, interruption interruption, before standing) {
	t.Helper()
	watch := watchStatus(t, eng, program)
	cluster := program.ConnectCluster()
	start := time.Now()
	// Its load balancer is not there yet when the engine or the containers stop.
	capcontest.ExposeServers(t, cluster, "late")
	interruption.stop(t)
	interruption.start(t)
	t.Logf("interrupted for %.1fs", time.Since(start).Seconds())
	back := time.Now()
	nodesLive(t, before.kubeconfig, len(capcontest.NodeContainers(t, eng, program.Cluster)), back)
	t.Logf("all Nodes Ready %.1fs later", time.Since(back).Seconds())
	workloadRuns(t, eng, program)
	recordIsKept(t, program)
	t.Logf("the workload answers %.1fs later", time.Since(back).Seconds())
	capcontest.ServiceAnswers(t, cluster, "late")
	deleteService(t, cluster, "late")
	capcontest.MachinesReady(t, program)
	statusIsGood(t, program)
	watch.end()
	if diff := cmp.Diff(before.facts, observe(t, eng, program).facts); diff != "" {
		t.Errorf("what must not change (-before, +after):\n%s", diff)
	}
}

// wantedRestarts are names of interruptions, and whether the user gave them.
func wantedRestarts(kind string, known []string) (names []string, byName bool) {
	switch asked := strings.Fields(os.Getenv("RESTARTS")); {
	case slices.Equal(asked, []string{"all"}):
		return known, false
	case len(asked) > 0:
		return asked, true
	case kind == "podman":
		return []string{hostReboot}, false
	}
	return []string{engineStopped}, false
}

// reloadLoadBalancer as the controller does it, and wait until another process does
// the work: an engine that was asked to send the signal would not start the
// container again.
func reloadLoadBalancer(t *testing.T, eng engine.Engine, cluster string) {
	t.Helper()
	name := capcontest.LoadBalancerOf(t, eng, cluster).Name
	before := must.Get(newestWorker(t.Context(), eng, name))(t)
	must.Get(eng.Exec(t.Context(), name, engine.Command{Args: []string{"bash", "-c", "kill -USR2 1"}}))(t)
	capcontest.Eventually(t, "another process of haproxy", func(ctx context.Context) (string, error) {
		now, err := newestWorker(ctx, eng, name)
		if err != nil || now != before {
			t.Logf("haproxy's process %d became %d", before, now)
			return "", err
		}
		return fmt.Sprintf("it is still %d", now), nil
	})
}

// newestWorker is the process that haproxy's first one, the master, started last;
// older ones live on with their connections. The image has bash, and no ps.
func newestWorker(ctx context.Context, eng engine.Engine, balancer string) (int, error) {
	const script = `newest=0
for stat in /proc/[0-9]*/stat; do
  read -r pid name _ parent _ 2>/dev/null <"${stat}" || continue
  if [[ "${name}" == "(haproxy)" ]] && ((parent == 1 && pid > newest)); then newest="${pid}"; fi
done
echo "${newest}"`
	output, err := eng.Exec(ctx, balancer, engine.Command{Args: []string{"bash", "-c", script}})
	if err != nil {
		return 0, fmt.Errorf("look for haproxy's processes: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(output.Stdout)))
	if err != nil || pid == 0 {
		return 0, fmt.Errorf("look for haproxy's processes in %q: %w", output.Stdout, err)
	}
	return pid, nil
}

// standing is what a restart must not change.
type standing struct {
	kubeconfig []byte
	// facts by what they are about: IDs and addresses of containers, UIDs of
	// Machines, kubeconfig.
	facts map[string]string
}

func observe(t *testing.T, eng engine.Engine, program *capcontest.Program) standing {
	t.Helper()
	kubeconfig := program.Kubeconfig(program.Cluster)
	facts := map[string]string{"kubeconfig": string(kubeconfig)}
	containers := must.Get(eng.ListContainers(t.Context(), map[string]string{identity.LabelCluster: program.Cluster}))(t)
	for _, container := range containers {
		found := must.Get(eng.InspectContainer(t.Context(), container.Name))(t)
		facts["container "+found.Name] = fmt.Sprintf("%s %v %v", found.ID, found.Networks, found.Ports)
	}
	for _, machine := range capcontest.Machines(t, program) {
		facts["Machine "+machine.Name] = string(machine.UID)
	}
	return standing{kubeconfig: kubeconfig, facts: facts}
}

// nodesLive waits until the kubelets of so many Nodes have reported since a
// time, through an earlier kubeconfig.
func nodesLive(t *testing.T, kubeconfig []byte, want int, since time.Time) {
	t.Helper()
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(kubeconfig))(t)
	config.Timeout = 5 * time.Second
	cluster := must.Get(kubernetes.NewForConfig(config))(t)
	capcontest.Eventually(t, "kubelets report again", func(ctx context.Context) (string, error) {
		leases, err := cluster.CoordinationV1().Leases("kube-node-lease").List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		live := 0
		for _, lease := range leases.Items {
			if lease.Spec.RenewTime != nil && lease.Spec.RenewTime.After(since) {
				live++
			}
		}
		if live == want {
			return "", nil
		}
		return fmt.Sprintf("%d of %d do", live, want), nil
	})
	capcontest.NodesReady(t, cluster, want)
}

// workloadRuns: what ran before answers again, from each node.
func workloadRuns(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	t.Helper()
	cluster := program.ConnectCluster()
	servers := currentWebPods(t, eng, program, cluster)
	for node := range servers {
		capcontest.AskFrom(t, cluster, node, servers)
	}
	capcontest.ServiceAnswers(t, cluster, "servers")
}

// currentWebPods waits until each node has reported a server that runs since the
// node does, and returns their addresses by node. What a node reported before it was
// stopped stays in the API until its kubelet has synchronized its Pods again.
func currentWebPods(t *testing.T, eng engine.Engine, program *capcontest.Program, cluster kubernetes.Interface) map[string]string {
	t.Helper()
	booted := map[string]time.Time{}
	nodes := capcontest.NodeContainers(t, eng, program.Cluster)
	for _, container := range nodes {
		found := must.Get(eng.InspectContainer(t.Context(), container.Name))(t)
		// The API has whole seconds.
		booted[container.Labels[identity.LabelMachine]] = found.StartedAt.Truncate(time.Second)
	}
	return capcontest.WebPodsThat(t, cluster, len(nodes), func(pod *corev1.Pod) bool {
		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Running == nil || status.State.Running.StartedAt.Time.Before(booted[pod.Spec.NodeName]) {
				return false
			}
		}
		return true
	})
}
