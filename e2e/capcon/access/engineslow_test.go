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
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
)

const (
	// otherCluster is on the first engine.
	otherCluster = "engines-other"
	// slowness is more than a response may take.
	slowness = 40 * time.Second
)

// slow: the engine responds after 40 seconds. A machine that is to be created there waits, and another cluster does not. Nothing is
// taken for gone.
func (s *enginesTest) slow(t *testing.T) {
	program := s.program.At(t)
	other := program.About(otherCluster)
	other.DownBeforeAndAfter()
	machines, containers := capcontest.Machines(t, program), capcontest.IDs(capcontest.NodeContainers(t, s.host.Connect(t), enginesCluster))
	s.link.Delay(slowness)
	resume := sync.OnceFunc(func() { s.link.Delay(0) })
	t.Cleanup(resume)
	s.scaleWorkers(t, 2)

	// All workers that may be at the slow engine are, until that is found to be slow.
	started := time.Now()
	other.MustRun("up", otherCluster, "--workers", "0")
	t.Logf("a cluster on the first engine: %s", time.Since(started).Round(time.Second))
	capcontest.NodesReady(t, other.ConnectCluster(), 1)
	s.reachable(t, metav1.ConditionFalse, "no response")
	s.machineWaits(t)
	capcontest.NodesReady(t, program.ConnectCluster(), 2)
	if nodes := capcontest.NodeContainers(t, integration.Engine(t), enginesCluster); len(nodes) > 0 {
		t.Errorf("containers on the first engine: %q", capcontest.IDs(nodes))
	}
	other.MustRun("down", otherCluster)

	resume()
	s.reachable(t, metav1.ConditionTrue, "")
	capcontest.NodesReady(t, program.ConnectCluster(), 3)
	capcontest.MachinesReady(t, program)
	s.kept(t, machines, containers)
}

// scaleWorkers of the cluster, without a connection to its engine.
func (s *enginesTest) scaleWorkers(t *testing.T, workers int32) {
	t.Helper()
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: enginesCluster}
	capcontest.Edit(t, s.api, key, &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) {
		cluster.Spec.Topology.Workers.MachineDeployments[0].Replicas = ptr.To(workers)
	})
}

// machineWaits for the engine, and says so.
func (s *enginesTest) machineWaits(t *testing.T) {
	t.Helper()
	capcontest.Eventually(t, "a machine without a container waits for the engine", func(ctx context.Context) (string, error) {
		machines := &infrav1.ContainerMachineList{}
		if err := s.api.List(ctx, machines, client.MatchingLabels{clusterv1.ClusterNameLabel: enginesCluster}); err != nil {
			return "", err
		}
		missing := fmt.Sprintf("%d machines, all with containers", len(machines.Items))
		for i := range machines.Items {
			ready := conditions.Get(&machines.Items[i], infrav1.ContainerReadyCondition)
			switch {
			case machines.Items[i].Spec.ProviderID != "":
			case ready != nil && ready.Reason == infrav1.EngineUnavailableReason:
				return "", nil
			default:
				missing = ready.String()
			}
		}
		return missing, nil
	})
}

// kept are these Machines and containers; there may be others. Each Machine has one container, and no container is without one.
func (s *enginesTest) kept(t *testing.T, machines []clusterv1.Machine, containers []string) {
	t.Helper()
	all := capcontest.Machines(t, s.program.At(t))
	now, after := uids(all), capcontest.IDs(capcontest.NodeContainers(t, s.host.Connect(t), enginesCluster))
	for name, uid := range uids(machines) {
		if now[name] != uid {
			t.Errorf("Machine %s was replaced: now %v", name, now)
		}
	}
	for _, id := range containers {
		if !slices.Contains(after, id) {
			t.Errorf("container %s was replaced: now %q", id, after)
		}
	}
	if len(after) != len(all) {
		t.Errorf("%d containers of %d Machines: %q", len(after), len(all), after)
	}
}
