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
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const soakCluster = "soak-test"

// TestSoak keeps clients at clusters for hours.
//
// Environment:
//
//	CHANGES   how many control planes come and go in all; default 200, in
//	          rounds of ten
//	CLUSTERS  how many clusters share the changes, all at the same time, each
//	          below clients of its own; default 1
//
//nolint:tparallel // It has the engine to itself; only its clusters run side by side.
func TestSoak(t *testing.T) {
	changes, clusters := capcontest.Number(t, "CHANGES", 200), capcontest.Number(t, "CLUSTERS", 1)
	if clusters < 1 {
		t.Fatalf("CLUSTERS is %d, want at least one", clusters)
	}
	eng := integration.Engine(t)
	program := capcontest.Build(t, soakCluster)
	var soaked []*membership
	for i := range clusters {
		soaked = append(soaked, soak(t, eng, program.About(fmt.Sprintf("%s-%d", soakCluster, i))))
	}
	rounds := (changes + changesPerRound - 1) / changesPerRound
	for i, m := range soaked {
		// The first ones make what cannot be shared evenly.
		share := (rounds + clusters - 1 - i) / clusters
		t.Run(m.program.Cluster, func(t *testing.T) {
			t.Parallel()
			m.at(t).change(share)
		})
	}
}

// soak makes a cluster of one control plane, with a server in it.
func soak(t *testing.T, eng engine.Engine, program *capcontest.Program) *membership {
	t.Helper()
	program.DownBeforeAndAfter()
	program.MustRun("up", program.Cluster, "--control-planes", "1", "--workers", "0")
	capcontest.PodsTalk(t, eng, program)
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(program.Kubeconfig(program.Cluster)))(t)
	return &membership{t: t, engine: eng, program: program, config: config}
}

// membership of a control plane, below clients.
type membership struct {
	t       *testing.T
	engine  engine.Engine
	program *capcontest.Program
	// config by which users reach the cluster.
	config *rest.Config
}

// at is the same in a sub-test.
func (m *membership) at(t *testing.T) *membership {
	return &membership{t: t, engine: m.engine, program: m.program.At(t), config: m.config}
}

// 1 → 3 are two changes, three machines replaced are six, 3 → 1 are two.
const changesPerRound = 10

// change scales the control plane up, replaces all of it, and scales it down,
// again and again, below clients that never pause.
func (m *membership) change(rounds int) {
	t := m.t
	traffic := capcontest.StartTraffic(t, m.config)
	start := time.Now()
	for round := 0; round < rounds && !t.Failed(); round++ {
		m.scale(3)
		m.replace(3)
		m.scale(1)
		t.Logf("%d changes in %s: %s", (round+1)*changesPerRound, time.Since(start).Round(time.Second), traffic)
	}
	traffic.Stop()
	t.Logf("in all: %s", traffic)
}

func (m *membership) scale(count int) {
	m.t.Helper()
	m.program.MustRun("up", m.program.Cluster, "--control-planes", strconv.Itoa(count), "--yes")
	m.await(count, nil)
}

// replace has all machines replaced one after the other.
func (m *membership) replace(count int) {
	t := m.t
	t.Helper()
	before := capcontest.IDs(capcontest.NodeContainers(t, m.engine, m.program.Cluster))
	api := capcontest.Management(t, m.program)
	controlPlanes := &controlplanev1.KubeadmControlPlaneList{}
	if err := api.List(t.Context(), controlPlanes, client.MatchingLabels{clusterv1.ClusterNameLabel: m.program.Cluster}); err != nil || len(controlPlanes.Items) != 1 {
		t.Fatalf("find the KubeadmControlPlane: %d, %v", len(controlPlanes.Items), err)
	}
	controlPlane := &controlPlanes.Items[0]
	unchanged := client.MergeFrom(controlPlane.DeepCopy())
	controlPlane.Spec.Rollout.After = metav1.Now()
	if err := api.Patch(t.Context(), controlPlane, unchanged); err != nil {
		t.Fatalf("have the control plane replaced: %v", err)
	}
	m.await(count, before)
}

// await waits until there are so many control planes, none of them one of
// those that were to go, and the load balancer leads to each of them and to
// nothing else.
func (m *membership) await(count int, gone []string) {
	m.t.Helper()
	// Each machine takes some forty seconds, one after the other.
	capcontest.EventuallyWithin(m.t, 4*capcontest.Patience, fmt.Sprintf("%d control planes served", count), func(ctx context.Context) (string, error) {
		containers, err := capcontest.ListNodeContainers(ctx, m.engine, m.program.Cluster)
		if err != nil {
			return "", err
		}
		if remain := slices.DeleteFunc(capcontest.IDs(containers), func(id string) bool { return !slices.Contains(gone, id) }); len(remain) > 0 {
			return fmt.Sprintf("%d of those to be replaced are still there", len(remain)), nil
		}
		if len(containers) != count {
			return fmt.Sprintf("there are %d", len(containers)), nil
		}
		want, err := addresses(ctx, m.engine, containers)
		if err != nil {
			return "", err
		}
		got, err := answering(ctx, m.config, count)
		if err != nil {
			return "", err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return "who answers (-containers, +answering):\n" + diff, nil
		}
		return "", nil
	})
}

// addresses of containers on their network, sorted.
func addresses(ctx context.Context, eng engine.Engine, containers []engine.Container) ([]string, error) {
	var found []string
	for _, container := range containers {
		if container.Labels[identity.LabelRole] != string(identity.RoleControlPlane) {
			continue
		}
		inspected, err := eng.InspectContainer(ctx, container.Name)
		if err != nil {
			return nil, fmt.Errorf("read address of %s: %w", container.Name, err)
		}
		for _, endpoint := range inspected.Networks {
			for _, address := range endpoint.Addresses {
				found = append(found, address.String())
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// answering are the API servers that answer on new connections, by address,
// sorted. Each of a number of servers is asked some times.
func answering(ctx context.Context, config *rest.Config, servers int) ([]string, error) {
	const timesEach = 8
	var found []string
	for range servers * timesEach {
		http, err := capcontest.NewConnections(config)
		if err != nil {
			return nil, err
		}
		body, err := capcontest.Get(ctx, http, config.Host+"/api")
		if err != nil {
			return nil, err
		}
		versions := metav1.APIVersions{}
		if err := json.Unmarshal(body, &versions); err != nil {
			return nil, fmt.Errorf("read who answered: %w", err)
		}
		for _, server := range versions.ServerAddressByClientCIDRs {
			address, _, err := net.SplitHostPort(server.ServerAddress)
			if err != nil {
				return nil, fmt.Errorf("read who answered: %w", err)
			}
			if !slices.Contains(found, address) {
				found = append(found, address)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
