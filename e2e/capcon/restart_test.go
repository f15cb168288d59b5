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

package capcon_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
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
	program := build(t, restartCluster)
	controlPlanes, workers := number(t, "CONTROL_PLANES", 1), number(t, "WORKERS", 1)
	program.downBeforeAndAfter()
	program.mustRun("up", restartCluster, "--control-planes", strconv.Itoa(controlPlanes), "--workers", strconv.Itoa(workers))
	podsTalk(t, eng, program)
	withstandsRestarts(t, eng, program)
	t.Run("drift", func(t *testing.T) { driftIsReported(t, eng, program.at(t), number(t, "KILLS", fewKills)) })
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
//	          where it was asked for by name or CI is set
func withstandsRestarts(t *testing.T, eng engine.Engine, program *capcon) {
	t.Helper()
	storeRecord(t, program)
	for range 2 {
		reloadLoadBalancer(t, eng, program.cluster)
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
			if reason := inUse(t, eng, info.Name, program.cluster); interruption.stopsAll && reason != "" {
				if byName || os.Getenv("CI") != "" {
					t.Fatal(reason)
				}
				t.Skip(reason)
			}
			interrupt(t, eng, program.at(t), interruption, before)
		})
		if !passed {
			return
		}
	}
	t.Run("volume", func(t *testing.T) { volumeIsRemoved(t, eng, program.at(t)) })
	t.Run("status", func(t *testing.T) { stoppedIsNotAvailable(t, eng, program.at(t)) })
}

// interrupt the engine or its containers, and compare with what was before.
func interrupt(t *testing.T, eng engine.Engine, program *capcon, interruption interruption, before standing) {
	t.Helper()
	watch := watchStatus(t, eng, program)
	cluster := program.connectCluster()
	began := time.Now()
	// Its load balancer is not there yet when the engine or the containers stop.
	exposeServers(t, cluster, "late")
	interruption.stop(t)
	interruption.start(t)
	t.Logf("interrupted for %.1fs", time.Since(began).Seconds())
	back := time.Now()
	nodesLive(t, before.kubeconfig, len(nodeContainers(t, eng, program.cluster)), back)
	t.Logf("all Nodes Ready %.1fs later", time.Since(back).Seconds())
	workloadRuns(t, eng, program)
	recordIsKept(t, program)
	t.Logf("the workload answers %.1fs later", time.Since(back).Seconds())
	serviceAnswers(t, cluster, "late")
	deleteService(t, cluster, "late")
	machinesReady(t, program)
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

// number in an environment variable.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	return parsed(t, strconv.Atoi, variable, otherwise)
}

// parsed value of an environment variable.
func parsed[T any](t *testing.T, parse func(string) (T, error), variable string, otherwise T) T {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	value, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return value
}

// reloadLoadBalancer as the controller does it, and wait until another process does
// the work: an engine that was asked to send the signal would not start the
// container again.
func reloadLoadBalancer(t *testing.T, eng engine.Engine, cluster string) {
	t.Helper()
	name := loadBalancerOf(t, eng, cluster).Name
	before := must.Get(newestWorker(t.Context(), eng, name))(t)
	must.Get(eng.Exec(t.Context(), name, engine.Command{Args: []string{"bash", "-c", "kill -USR2 1"}}))(t)
	eventually(t, "another process of haproxy", func(ctx context.Context) (string, error) {
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

func observe(t *testing.T, eng engine.Engine, program *capcon) standing {
	t.Helper()
	kubeconfig := program.kubeconfig(program.cluster)
	facts := map[string]string{"kubeconfig": string(kubeconfig)}
	containers := must.Get(eng.ListContainers(t.Context(), map[string]string{identity.LabelCluster: program.cluster}))(t)
	for _, container := range containers {
		found := must.Get(eng.InspectContainer(t.Context(), container.Name))(t)
		facts["container "+found.Name] = fmt.Sprintf("%s %v %v", found.ID, found.Networks, found.Ports)
	}
	for _, machine := range machines(t, program) {
		facts["Machine "+machine.Name] = string(machine.UID)
	}
	return standing{kubeconfig: kubeconfig, facts: facts}
}

// management connects to the management plane.
func management(t *testing.T, program *capcon) client.Client {
	t.Helper()
	api := must.Get(connectManagement(t.Context(), t.Output(), program))(t)
	return api
}

// connectManagement is management for who tries again.
func connectManagement(ctx context.Context, warnings io.Writer, program *capcon) (client.Client, error) {
	kubeconfig, err := program.getKubeconfig(ctx, "--management")
	if err != nil {
		return nil, err
	}
	return connectPlane(warnings, kubeconfig)
}

// connectPlane connects to the management plane of a kubeconfig.
func connectPlane(warnings io.Writer, kubeconfig []byte) (client.Client, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the management plane: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, addonsv1.AddToScheme,
		bootstrapv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	// Tests that measure do not wait for their own client.
	config.QPS = -1
	config.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{})
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the management plane: %w", err)
	}
	return api, nil
}

// machines of the cluster, from the management plane.
func machines(t *testing.T, program *capcon) []clusterv1.Machine {
	t.Helper()
	found := must.Get(listMachines(t.Context(), management(t, program), program.cluster))(t)
	return found
}

func listMachines(ctx context.Context, api client.Reader, cluster string) ([]clusterv1.Machine, error) {
	found := &clusterv1.MachineList{}
	if err := api.List(ctx, found, client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}); err != nil {
		return nil, fmt.Errorf("list Machines: %w", err)
	}
	return found.Items, nil
}

// nodesLive waits until the kubelets of so many Nodes have reported since a
// time, through a kubeconfig of before.
func nodesLive(t *testing.T, kubeconfig []byte, want int, since time.Time) {
	t.Helper()
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(kubeconfig))(t)
	config.Timeout = 5 * time.Second
	cluster := must.Get(kubernetes.NewForConfig(config))(t)
	eventually(t, "kubelets report again", func(ctx context.Context) (string, error) {
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
	nodesReady(t, cluster, want)
}

// workloadRuns: what ran before answers again, from each node.
func workloadRuns(t *testing.T, eng engine.Engine, program *capcon) {
	t.Helper()
	cluster := program.connectCluster()
	servers := currentWebPods(t, eng, program, cluster)
	for node := range servers {
		askFrom(t, cluster, node, servers)
	}
	serviceAnswers(t, cluster, "servers")
}

// currentWebPods waits until each node has reported a server that runs since the
// node does, and returns their addresses by node. What a node reported before it was
// stopped stays in the API until its kubelet has synchronized its Pods again.
func currentWebPods(t *testing.T, eng engine.Engine, program *capcon, cluster kubernetes.Interface) map[string]string {
	t.Helper()
	booted := map[string]time.Time{}
	nodes := nodeContainers(t, eng, program.cluster)
	for _, container := range nodes {
		found := must.Get(eng.InspectContainer(t.Context(), container.Name))(t)
		// The API has whole seconds.
		booted[container.Labels[identity.LabelMachine]] = found.StartedAt.Truncate(time.Second)
	}
	return webPodsThat(t, cluster, len(nodes), func(pod *corev1.Pod) bool {
		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Running == nil || status.State.Running.StartedAt.Time.Before(booted[pod.Spec.NodeName]) {
				return false
			}
		}
		return true
	})
}

// machinesReady waits until the management plane finds every Machine's
// infrastructure ready: it has seen what happened, and that it is over.
func machinesReady(t *testing.T, program *capcon) {
	t.Helper()
	eventually(t, "infrastructure of all Machines ready", func(ctx context.Context) (string, error) {
		api, err := connectManagement(ctx, t.Output(), program)
		if err != nil {
			return "", err
		}
		found, err := listMachines(ctx, api, program.cluster)
		if err != nil || len(found) == 0 {
			return "there are none", err
		}
		for _, machine := range found {
			if ready := conditions.Get(&machine, clusterv1.MachineInfrastructureReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
				return fmt.Sprintf("%s: %s", machine.Name, ready), nil
			}
		}
		return "", nil
	})
}
