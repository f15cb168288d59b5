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

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	interruptCluster = "interrupt-test"
	// standstill is how long the engine is down.
	standstill = time.Minute
)

// operation is a bootstrap to interrupt: the command that begins it, and the
// one that goes back to where it can be started again.
type operation struct {
	begin, back []string
	// nodes there are before, and when it has ended.
	before, after int
}

func operations() map[string]operation {
	up := func(arguments ...string) []string { return append([]string{"up", interruptCluster}, arguments...) }
	return map[string]operation{
		"init": {
			begin: up("--control-planes", "1", "--workers", "0"), after: 1,
			back: []string{"down", interruptCluster, "--keep-plane"},
		},
		"join-worker": {
			begin: up("--workers", "1"), before: 1, after: 2,
			back: up("--control-planes", "1", "--workers", "0", "--yes"),
		},
		"join-control-plane": {
			begin: up("--control-planes", "3", "--yes"), before: 1, after: 3,
			back: up("--control-planes", "1", "--workers", "0", "--yes"),
		},
	}
}

// TestEngineStopsDuringBootstrap interrupts the engine for a minute at points of a
// bootstrap: Docker is stopped, and Podman's host boots, as its containers outlive
// its service. The cluster becomes ready all the same, with the help of nothing but
// the command that was interrupted.
//
// Environment:
//
//	OPERATIONS    init, join-worker, join-control-plane; default all
//	POINTS        seconds after the machine's container appeared; default 3. "configmap" of init:
//	              as soon as kubeadm has written its ConfigMap, and the container must be kept
//	INTERRUPTION  one of interruptions; default engine-SIGTERM, on Podman host-reboot
func TestEngineStopsDuringBootstrap(t *testing.T) {
	eng := integration.Engine(t)
	info := must.Get(eng.Info(t.Context()))(t)
	if reason := inUse(t, eng, info.Name, interruptCluster); reason != "" {
		if os.Getenv("POINTS") != "" || os.Getenv("CI") != "" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	program := capcontest.Build(t, interruptCluster)
	program.DownBeforeAndAfter()
	known := interruptions(eng, program, info.Name)
	chosen := words("INTERRUPTION", map[string]string{"docker": engineStopped, "podman": hostReboot}[info.Name])[0]
	interruption, ok := known[chosen]
	if !ok {
		t.Fatalf("INTERRUPTION: %q is not one of %q", chosen, slices.Sorted(maps.Keys(known)))
	}
	for _, name := range words("OPERATIONS", "init join-worker join-control-plane") {
		what, known := operations()[name]
		if !known {
			t.Fatalf("OPERATIONS: %q is not known", name)
		}
		for _, point := range words("POINTS", "3") {
			await := afterConfigMap
			if point != "configmap" {
				seconds, err := strconv.ParseFloat(point, 64)
				if err != nil {
					t.Fatalf("POINTS: %v", err)
				}
				await = after(time.Duration(seconds * float64(time.Second)))
			} else if name != "init" {
				continue
			}
			t.Run(name+" at "+point, func(t *testing.T) { what.interrupt(t, eng, program.At(t), interruption, await) })
		}
	}
}

func words(variable, otherwise string) []string {
	if text := os.Getenv(variable); text != "" {
		otherwise = text
	}
	return strings.Fields(otherwise)
}

// pointOf a bootstrap. It returns the IDs of containers that must be kept.
type pointOf func(t *testing.T, eng engine.Engine) []string

func after(point time.Duration) pointOf {
	return func(t *testing.T, _ engine.Engine) []string {
		t.Helper()
		select {
		case <-time.After(point):
		case <-t.Context().Done():
		}
		return nil
	}
}

// afterConfigMap stops kubeadm as soon as it has written its ConfigMap: the cluster is
// initialized, and kubeadm init has not ended.
func afterConfigMap(t *testing.T, eng engine.Engine) []string {
	t.Helper()
	const script = `until kubectl --kubeconfig=/etc/kubernetes/super-admin.conf --namespace=kube-system get configmap kubeadm-config
		do sleep 0.05; done >/dev/null 2>&1
		kill -STOP $(pidof kubeadm)`
	var containers []engine.Container
	// What cannot be placed at first is created again.
	must.Eventually(t, capcontest.Patience, "a container runs", func(ctx context.Context) (err error) {
		containers, err = capcontest.ListNodeContainers(ctx, eng, interruptCluster)
		if err == nil && (len(containers) == 0 || containers[0].Status != engine.StatusRunning) {
			err = fmt.Errorf("containers %v", containers)
		}
		return err
	})
	must.Get(eng.Exec(t.Context(), containers[0].Name, engine.Command{Args: []string{"bash", "-c", script}}))(t)
	return capcontest.IDs(containers)
}

// interrupt begins the operation, interrupts the engine at the point for a
// standstill, and waits until the cluster is ready.
func (o operation) interrupt(t *testing.T, eng engine.Engine, program *capcontest.Program, interruption interruption, await pointOf) {
	t.Helper()
	program.MustRun(o.back...)
	ended := make(chan struct{})
	start := time.Now()
	go func() {
		defer close(ended)
		// It may give up while the engine is down; the next one continues.
		_, _ = program.Run(t.Context(), o.begin...)
	}()
	awaitContainers(t, eng, o.before+1)
	kept := await(t, eng)
	interruption.stop(t)
	stopped := time.Now()
	select {
	case <-time.After(standstill):
	case <-t.Context().Done():
	}
	interruption.start(t)
	<-ended
	program.MustRun(o.begin...)
	capcontest.NodesReady(t, program.ConnectCluster(), o.after)
	if found := capcontest.NodeContainers(t, eng, interruptCluster); len(found) != o.after {
		t.Errorf("%d containers of machines, want %d", len(found), o.after)
	} else if kept != nil && !slices.Equal(kept, capcontest.IDs(found)) {
		t.Errorf("containers %v, want %v: what kubeadm had created was removed", capcontest.IDs(found), kept)
	}
	t.Logf("ready %.0fs after its start, %.0fs after the engine stopped", time.Since(start).Seconds(), time.Since(stopped).Seconds())
}

// awaitContainers waits until the cluster has so many machines on the engine.
func awaitContainers(t *testing.T, eng engine.Engine, count int) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(capcontest.Patience)
	for {
		containers, err := capcontest.ListNodeContainers(t.Context(), eng, interruptCluster)
		if err == nil && len(containers) >= count {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("no container of machine %d appeared within %s: there are %d, %v", count, capcontest.Patience, len(containers), err)
		}
	}
}
