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
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	faultsCluster = "faults-test"
	// Three control planes: one of them can be lost.
	faultsControlPlanes, faultsWorkers = 3, 2
	// faultsHealing is how soon the manager is killed after another fault, at most.
	faultsHealing = 10 * time.Second
)

// TestFaults disturbs a cluster that has data on a PersistentVolume with a random sample of
// faults, one after the other: the manager or the plane ends, a node, etcd or the load balancer
// is killed, a node is removed, all containers or the engine restart. In every other round the
// manager is killed a second time while it heals that. Each time all Machines become ready, each
// with one container, nothing is left behind, and the data is there.
//
// Environment:
//
//	COUNT  how many faults; default 8
//	SEED   repeats a sample
func TestFaults(t *testing.T) {
	eng := integration.Engine(t)
	seed := uint64(capcontest.Number(t, "SEED", int(time.Now().UnixNano()>>10)))
	count := capcontest.Number(t, "COUNT", 8)
	t.Logf("SEED=%d COUNT=%d", seed, count)
	program := capcontest.Build(t, faultsCluster)
	program.DownBeforeAndAfter()
	unused := capcontest.UnusedVolumes(t, eng)
	program.MustRun("up", faultsCluster, "--control-planes", strconv.Itoa(faultsControlPlanes), "--workers", strconv.Itoa(faultsWorkers))
	storeRecord(t, program)
	s := &sample{
		drift:  &drift{t: t, engine: eng, program: program, api: capcontest.Management(t, program), command: must.Get(eng.Info(t.Context()))(t).Name},
		random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // It is to be repeated.
		unused: unused,
	}
	known := s.faults()
	names := slices.Sorted(maps.Keys(known))
	for round := range count {
		name := names[s.random.IntN(len(names))]
		if !t.Run(fmt.Sprintf("%02d %s", round+1, name), func(t *testing.T) {
			at := s.begin(t)
			known[name](at)
			if round%2 == 1 && os.Getuid() == 0 {
				at.killManagerLater()
			}
			at.isHealthy()
		}) {
			t.Fatalf("SEED=%d COUNT=%d repeats it", seed, round+1)
		}
	}
	program.MustRun("down", faultsCluster)
	if left := s.containers(); len(left) > 0 {
		t.Errorf("left on the engine: %v", left)
	}
	s.noVolumeIsLeft()
}

// sample of faults.
type sample struct {
	*drift
	random *rand.Rand
	// unused volumes before the cluster was created.
	unused []string
}

// faults by their names. Those that this process or this engine does not allow are left out.
func (s *sample) faults() map[string]func(*sample) {
	known := map[string]func(*sample){
		"plane restarted":       (*sample).restartPlane,
		"container killed":      (*sample).killContainer,
		"etcd killed":           (*sample).killEtcd,
		"load balancer removed": func(s *sample) { s.run("rm", "--force", s.loadBalancer().Name) },
		"worker removed":        func(s *sample) { s.remove(s.choose(identity.RoleWorker)) },
		"control plane removed": func(s *sample) { s.remove(s.choose(identity.RoleControlPlane)) },
		"containers restarted":  func(s *sample) { restartContainers(s.t, s.engine, s.program) },
	}
	if os.Getuid() == 0 {
		known["manager killed"] = (*sample).killManager
	} else {
		s.t.Log("left out: the manager is not killed, which takes root")
	}
	if reason := inUse(s.t, s.engine, s.command, faultsCluster); reason != "" {
		s.t.Logf("left out: the engine is not restarted: %s", reason)
	} else {
		known["engine restarted"] = func(s *sample) {
			interruption := interruptions(s.engine, s.program, s.command)[engineStopped]
			interruption.stop(s.t)
			interruption.start(s.t)
		}
	}
	return known
}

// begin a round, as a test of its own.
func (s *sample) begin(t *testing.T) *sample {
	t.Helper()
	at := *s
	at.drift = s.at(t)
	at.connect()
	return &at
}

// killManagerLater disturbs what heals.
func (s *sample) killManagerLater() {
	s.t.Helper()
	pause := time.Duration(s.random.Int64N(int64(faultsHealing)))
	s.t.Logf("the manager is killed %s later", pause.Round(time.Millisecond))
	after(pause)(s.t, s.engine)
	s.killManager()
}

// connect to the plane, which may have been restarted.
func (s *sample) connect() {
	s.t.Helper()
	capcontest.Eventually(s.t, "the management plane answers", func(ctx context.Context) (_ string, err error) {
		s.api, err = capcontest.ConnectManagement(ctx, s.t.Output(), s.program)
		return "", err
	})
}

func (s *sample) killManager() {
	s.t.Helper()
	capcontest.Eventually(s.t, "the manager is killed", func(context.Context) (string, error) {
		killed, err := capcontest.KillManager(plane.DefaultName)
		if err != nil || killed {
			return "", err
		}
		return "it does not run", nil
	})
}

func (s *sample) restartPlane() {
	must.Succeed(s.t, s.engine.StopContainer(s.t.Context(), plane.DefaultName, 0))
	must.Succeed(s.t, s.engine.StartContainer(s.t.Context(), plane.DefaultName))
}

func (s *sample) killContainer() {
	all := s.containers()
	one := all[s.random.IntN(len(all))]
	s.t.Logf("killing %s", one.Name)
	s.run("kill", one.Name)
	thaw(s.t, one)
}

// killEtcd of a control plane, which its kubelet starts again.
func (s *sample) killEtcd() {
	must.Get(s.engine.Exec(s.t.Context(), s.choose(identity.RoleControlPlane).Name, engine.Command{Args: []string{"pkill", "-KILL", "-x", "etcd"}}))(s.t)
}

// choose a node of the role, and not the one that has the volume.
func (s *sample) choose(role identity.Role) engine.Container {
	s.t.Helper()
	volumes := must.Get(s.program.ConnectCluster().CoreV1().PersistentVolumes().List(s.t.Context(), metav1.ListOptions{}))(s.t)
	kept := map[string]bool{}
	for _, volume := range volumes.Items {
		name := must.Get(identity.ParseProviderID(volume.Annotations["container.infrastructure.cluster.x-k8s.io/provider-id"]))(s.t)
		kept[name] = true
	}
	nodes := slices.DeleteFunc(s.containers(), func(c engine.Container) bool {
		return c.Labels[identity.LabelRole] != string(role) || kept[c.Name]
	})
	if len(nodes) == 0 {
		s.t.Fatalf("no node of role %s without a volume", role)
	}
	one := nodes[s.random.IntN(len(nodes))]
	s.t.Logf("chosen: %s", one.Name)
	return one
}

// isHealthy: all that there was is there, once.
func (s *sample) isHealthy() {
	s.t.Helper()
	start, nodes := time.Now(), faultsControlPlanes+faultsWorkers
	capcontest.Eventually(s.t, "each Machine has one container", func(ctx context.Context) (string, error) {
		api, err := capcontest.ConnectManagement(ctx, s.t.Output(), s.program)
		if err != nil {
			return "", err
		}
		machines, err := capcontest.ListMachines(ctx, api, faultsCluster)
		if err != nil {
			return "", err
		}
		containers, err := capcontest.ListNodeContainers(ctx, s.engine, faultsCluster)
		if err != nil {
			return "", err
		}
		var wanted, found []string
		for _, machine := range machines {
			wanted = append(wanted, machine.Name)
		}
		for _, container := range containers {
			found = append(found, container.Labels[identity.LabelMachine])
		}
		slices.Sort(wanted)
		slices.Sort(found)
		if len(wanted) != nodes || !slices.Equal(wanted, found) {
			return fmt.Sprintf("Machines %v, containers of %v, want %d", wanted, found, nodes), nil
		}
		return "", nil
	})
	capcontest.MachinesReady(s.t, s.program)
	nodesLive(s.t, s.program.Kubeconfig(faultsCluster), nodes, start)
	recordIsKept(s.t, s.program)
	balancers := slices.DeleteFunc(s.containers(), func(c engine.Container) bool { return !capcontest.IsLoadBalancer(c) })
	if len(balancers) != 1 {
		s.t.Errorf("load balancers: %v", balancers)
	}
	s.noVolumeIsLeft()
	s.t.Logf("healthy after %s", time.Since(start).Round(time.Second))
}

// noVolumeIsLeft without a container.
func (s *sample) noVolumeIsLeft() {
	s.t.Helper()
	left := slices.DeleteFunc(capcontest.UnusedVolumes(s.t, s.engine), func(name string) bool { return slices.Contains(s.unused, name) })
	if len(left) > 0 {
		s.t.Errorf("volumes without a container: %v", left)
	}
}
