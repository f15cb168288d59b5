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

package access_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	// unhealthyNode is how long a Node may not respond before its Machine is replaced: longer than what etcd and the load balancer
	// take to continue without a host.
	unhealthyNode = 40 * time.Second
	// replaced is the patience with a Machine that is replaced: kubeadm joins a control plane in a minute on an idle host.
	replaced = 10 * time.Minute
	// calm is for how long an API server responds that is back.
	calm = 5 * time.Second
)

// notConnected: the engine of a host responds, and its containers are not on the LAN. Nothing is created until they are.
func (s *spanTest) notConnected(t *testing.T) {
	program, host := s.program.At(t), s.host("c")
	host.LeaveLAN(t)
	host.JoinUnplugged(t)
	arguments := []string{"up", spanCluster, "--engines", "a,b,c", "--network", capcontest.LANNetwork, "--control-planes", "1", "--workers", "0"}
	const want = `does not connect ContainerEngine "a" with "c"`
	output, err := program.Command(t.Context(), arguments...).CombinedOutput()
	if words := strings.Join(strings.Fields(string(output)), " "); err == nil || !strings.Contains(words, want) {
		t.Errorf("%v, and not %q:\n%s", err, want, output)
	}
	for _, host := range s.hosts {
		capcontest.Eventually(t, "no container is on host "+host.Name, func(context.Context) (string, error) {
			return strings.Join(capcontest.Ours(t, host.Connect(t)), ", "), nil
		})
	}
	host.PlugOther(t)
	capcontest.Eventually(t, "the network is ready", func(ctx context.Context) (string, error) {
		list := &infrav1.ContainerClusterList{}
		if err := s.api.List(ctx, list, client.MatchingLabels{clusterv1.ClusterNameLabel: spanCluster}); err != nil || len(list.Items) != 1 {
			return fmt.Sprintf("%d ContainerClusters", len(list.Items)), err
		}
		ready := conditions.Get(&list.Items[0], infrav1.NetworkReadyCondition)
		if ready == nil || ready.Status != metav1.ConditionTrue {
			return ready.String(), nil
		}
		return "", nil
	})
	program.MustRun("down", spanCluster)
	host.LeaveLAN(t)
	host.JoinLAN(t)
}

// created: a control plane on each host.
func (s *spanTest) created(t *testing.T) {
	program := s.program.At(t)
	for _, host := range s.hosts {
		key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: host.Name}
		// The control planes of two hosts have to fit on one: each counts 2 CPUs, and this machine may have no more.
		capcontest.Edit(t, s.api, key, &infrav1.ContainerEngine{}, func(e *infrav1.ContainerEngine) {
			e.Spec.Capacity.CPU, e.Spec.Capacity.Memory = ptr.To(resource.MustParse("8")), ptr.To(resource.MustParse("16Gi"))
		})
	}
	program.MustRun("up", spanCluster, "--engines", "a,b,c", "--network", capcontest.LANNetwork, "--control-planes", "3", "--workers", "0")
	capcontest.NodesReady(t, program.ConnectCluster(), 3)
	for _, host := range s.hosts {
		if nodes := capcontest.NodeContainers(t, host.Connect(t), spanCluster); len(nodes) != 1 {
			t.Errorf("host %s has %d nodes: %v", host.Name, len(nodes), capcontest.IDs(nodes))
		}
	}
	check := &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: spanCluster},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: spanCluster,
			Selector:    metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.ClusterNameLabel: spanCluster}},
			Checks: clusterv1.MachineHealthCheckChecks{UnhealthyNodeConditions: []clusterv1.UnhealthyNodeCondition{{
				Type: "Ready", Status: "Unknown", TimeoutSeconds: ptr.To(int32(unhealthyNode.Seconds())),
			}}},
		},
	}
	must.Succeed(t, s.api.Create(t.Context(), check))
	s.etcdIsHealthy(t)
}

// grown: workers, and the instances of a machine pool, are on several hosts.
func (s *spanTest) grown(t *testing.T) {
	program := s.program.At(t)
	program.MustRun("up", spanCluster, "--engines", "a,b,c", "--network", capcontest.LANNetwork, "--workers", "2")
	s.setPools(t, clusterv1.MachinePoolTopology{Class: "worker", Name: "pool", Replicas: ptr.To[int32](2)})
	capcontest.NodesReady(t, program.ConnectCluster(), 7)
	hosts := map[string][]string{}
	for role, machines := range s.machines(t) {
		for _, machine := range machines {
			if on := machine.Annotations[infrav1.EngineNameAnnotation]; !slices.Contains(hosts[role], on) {
				hosts[role] = append(hosts[role], on)
			}
		}
	}
	if len(hosts["control plane"]) != 3 || len(hosts["worker"]) != 2 || len(hosts["pool"]) != 2 {
		t.Errorf("hosts of the machines: %v", hosts)
	}
}

// machines of the cluster, by what they are of.
func (s *spanTest) machines(t *testing.T) map[string][]infrav1.ContainerMachine {
	t.Helper()
	list := &infrav1.ContainerMachineList{}
	must.Succeed(t, s.api.List(t.Context(), list, client.MatchingLabels{clusterv1.ClusterNameLabel: spanCluster}))
	found := map[string][]infrav1.ContainerMachine{}
	for i := range list.Items {
		role, labels := "worker", list.Items[i].Labels
		if _, is := labels[clusterv1.MachineControlPlaneLabel]; is {
			role = "control plane"
		} else if labels[clusterv1.MachinePoolNameLabel] != "" {
			role = "pool"
		}
		found[role] = append(found[role], list.Items[i])
	}
	return found
}

func (s *spanTest) setPools(t *testing.T, pools ...clusterv1.MachinePoolTopology) {
	t.Helper()
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: spanCluster}
	capcontest.Edit(t, s.api, key, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Spec.Topology.Workers.MachinePools = pools })
}

// stopped: no container of the cluster runs on any host, and the same ones start again.
func (s *spanTest) stopped(t *testing.T) {
	program := s.program.At(t)
	before := s.containers(t, "running")
	program.MustRun("stop", spanCluster)
	if running := s.containers(t, "running"); len(running) > 0 {
		t.Errorf("containers run: %v", running)
	}
	program.MustRun("start", spanCluster)
	if after := s.containers(t, "running"); !slices.Equal(before, after) {
		t.Errorf("containers %v, before %v", after, before)
	}
	capcontest.NodesReady(t, program.ConnectCluster(), 7)
}

// containers of the cluster in a state, on all hosts.
func (s *spanTest) containers(t *testing.T, state string) []string {
	t.Helper()
	var all []string
	for _, host := range s.hosts {
		ids := host.Docker(t, "ps", "--quiet", "--no-trunc", "--filter", "status="+state)
		all = append(all, strings.Fields(ids)...)
	}
	slices.Sort(all)
	return all
}

// shrunk: of the workers and the pool, no container is left.
func (s *spanTest) shrunk(t *testing.T) {
	s.setPools(t)
	s.program.At(t).MustRun("up", spanCluster, "--engines", "a,b,c", "--network", capcontest.LANNetwork, "--workers", "0", "--yes")
	capcontest.NodesReady(t, s.program.At(t).ConnectCluster(), 3)
	capcontest.Eventually(t, "machines of control planes only", func(context.Context) (string, error) {
		if left := s.containers(t, "running"); len(left) != 4 { // with the load balancer
			return fmt.Sprintf("containers %v", left), nil
		}
		return "", nil
	})
}

// balancerHostLost: the API server is back on another host, at its address, once the administrator says that the host is lost, and its
// control plane is replaced.
func (s *spanTest) balancerHostLost(t *testing.T) { s.loseHost(t, s.home(t)) }

// otherHostLost: the API server responds all the time, but for requests to the control plane that is gone.
func (s *spanTest) otherHostLost(t *testing.T) {
	home := s.home(t)
	for _, host := range s.hosts {
		if host.Name != home && len(capcontest.NodeContainers(t, host.Connect(t), spanCluster)) == 1 {
			s.loseHost(t, host.Name)
			return
		}
	}
	t.Error("no other host has one control plane")
}

func (s *spanTest) loseHost(t *testing.T, name string) {
	home := s.home(t)
	lost := s.host(name)
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(s.program.At(t).Kubeconfig(spanCluster)))(t)
	nodes := capcontest.IDs(capcontest.NodeContainers(t, lost.Connect(t), spanCluster))
	availability := capcontest.MeasureAvailability(t, config)
	availability.AwaitAnswers(t, calm)
	killed := time.Now()
	lost.Kill(t)
	engineReachable(t, s.api, name, metav1.ConditionFalse, "")
	if got := s.home(t); got != home {
		t.Errorf("the load balancer is moved to %s although no host is lost", got)
	}
	declared := time.Now()
	declareLost(t, s.api, name, true)
	availability.AwaitAnswers(t, calm)
	if got := s.home(t); (got == home) != (name != home) {
		t.Errorf("host %s is lost, and the load balancer is on %s, before on %s", name, got, home)
	}
	t.Logf("host %s with the load balancer %t: lost %s after its end; %s", name, name == home, declared.Sub(killed).Round(time.Second), availability)
	if outage := availability.LongestOutage(); name == home {
		t.Logf("the API server responds %s after that", outage.Start.Add(outage.Duration).Sub(declared).Round(100*time.Millisecond))
	}
	capcontest.EventuallyWithin(t, replaced, "the control plane is replaced on another host", func(ctx context.Context) (string, error) {
		machines := &infrav1.ContainerMachineList{}
		if err := s.api.List(ctx, machines, client.MatchingLabels{clusterv1.ClusterNameLabel: spanCluster}); err != nil {
			return "", err
		}
		var on []string
		for i := range machines.Items {
			on = append(on, machines.Items[i].Annotations[infrav1.EngineNameAnnotation])
		}
		if len(on) != 3 || slices.Contains(on, name) {
			return "machines on " + strings.Join(on, ", "), nil
		}
		return "", nil
	})
	capcontest.MachinesReady(t, s.program.At(t))
	capcontest.NodesReady(t, s.program.At(t).ConnectCluster(), 3)
	s.etcdIsHealthy(t)
	t.Logf("three control planes %s after host %s ended; %s", time.Since(killed).Round(time.Second), name, availability)

	lost.Start(t)
	if again := capcontest.IDs(capcontest.NodeContainers(t, lost.Connect(t), spanCluster)); !slices.Equal(again, nodes) {
		t.Errorf("the host has nodes %v, before %v", again, nodes)
	}
	declareLost(t, s.api, name, false)
	capcontest.Eventually(t, "the host is clean", func(ctx context.Context) (string, error) {
		found := &infrav1.ContainerEngine{}
		if err := s.api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, found); err != nil {
			return "", err
		}
		if len(found.Spec.Debts) > 0 {
			return fmt.Sprintf("debts %+v", found.Spec.Debts), nil
		}
		return "", nil
	})
	capcontest.NothingLeftSince(t, lost.Connect(t), nil)
	engineReachable(t, s.api, name, metav1.ConditionTrue, "")
	availability.AwaitAnswers(t, calm)
	t.Logf("with the return of the host: %s", availability)
}

// deleted: nothing is left on any host.
func (s *spanTest) deleted(t *testing.T) { s.program.At(t).MustRun("down", spanCluster) }

func (s *spanTest) host(name string) spanHost {
	return s.hosts[slices.IndexFunc(s.hosts, func(host spanHost) bool { return host.Name == name })]
}

// home is the engine of the load balancer.
func (s *spanTest) home(t *testing.T) string {
	t.Helper()
	clusters := &infrav1.ContainerClusterList{}
	must.Succeed(t, s.api.List(t.Context(), clusters, client.MatchingLabels{clusterv1.ClusterNameLabel: spanCluster}))
	if len(clusters.Items) != 1 {
		t.Fatalf("%d ContainerClusters", len(clusters.Items))
	}
	return clusters.Items[0].Spec.EngineName
}

// etcdIsHealthy: it has the members of three control planes, and no other.
func (s *spanTest) etcdIsHealthy(t *testing.T) {
	t.Helper()
	capcontest.Eventually(t, "etcd is healthy", func(ctx context.Context) (string, error) {
		controlPlanes := &controlplanev1.KubeadmControlPlaneList{}
		if err := s.api.List(ctx, controlPlanes, client.MatchingLabels{clusterv1.ClusterNameLabel: spanCluster}); err != nil || len(controlPlanes.Items) != 1 {
			return fmt.Sprintf("%d KubeadmControlPlanes", len(controlPlanes.Items)), err
		}
		healthy := conditions.Get(&controlPlanes.Items[0], controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition)
		if healthy == nil || healthy.Status != metav1.ConditionTrue {
			return healthy.String(), nil
		}
		return "", nil
	})
}
