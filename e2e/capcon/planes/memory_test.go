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

package planes_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const memoryCluster = "memory"

// TestMemoryPlane: a management plane whose clusters are in memory, in a container. A cluster is created, reached through
// "capcon tunnel", upgraded, stopped and started, without a container of its own; the plane stays one of them when it loses its container, and the
// cluster, whose containers are lost by that, is deleted.
func TestMemoryPlane(t *testing.T) {
	eng := integration.Engine(t)
	program := capcontest.Build(t, memoryCluster)
	program.MustRun("plane", "down")
	before := capcontest.Ours(t, eng)
	program.MustRun("plane", "up", "--memory")
	t.Cleanup(func() {
		_, _ = program.Run(context.WithoutCancel(t.Context()), "down", memoryCluster)
		_, _ = program.Run(context.WithoutCancel(t.Context()), "plane", "down")
	})
	refused(t, program, "cannot be containers", "plane", "up", "--memory=false")
	refused(t, program, "nodes in memory use no resources", "up", memoryCluster, "--cpus", "2")

	program.MustRun("up", memoryCluster, "--control-planes", "3", "--workers", "2", "--kubernetes-version", "v1.35.4")
	if nodes := capcontest.NodeContainers(t, eng, memoryCluster); len(nodes) > 0 {
		t.Errorf("the engine has containers of the cluster: %v", capcontest.IDs(nodes))
	}
	cluster := program.ConnectCluster()
	if _, err := cluster.Discovery().ServerVersion(); err == nil {
		t.Error("the API server is reached without a tunnel")
	}
	closeTunnel := openTunnel(t, program)
	capcontest.NodesReady(t, cluster, 5)
	program.MustRun("up", memoryCluster, "--kubernetes-version", "v1.36.3", "--yes")
	capcontest.NodesReady(t, cluster, 5)
	program.MustRun("get", "nodes")
	closeTunnel()
	program.MustRun("stop", memoryCluster)
	program.MustRun("start", memoryCluster)
	program.MustRun("status", memoryCluster)
	refused(t, program, "are in memory", "logs", memoryCluster)

	must.Succeed(t, eng.RemoveContainer(t.Context(), plane.DefaultName))
	program.MustRun("plane", "up")
	if status := program.MustRun("plane", "status"); !strings.Contains(status, "in memory") {
		t.Errorf("the plane that lost its container is another one:\n%s", status)
	}
	program.MustRun("down", memoryCluster)
	program.MustRun("plane", "down")
	capcontest.NothingLeftSince(t, eng, before)
}

// refused requires that a command fails, with a cause.
func refused(t *testing.T, program *capcontest.Program, cause string, args ...string) {
	t.Helper()
	output, err := program.Command(t.Context(), args...).CombinedOutput()
	if err == nil || !strings.Contains(string(output), cause) {
		t.Errorf("capcon %s ended with %v, want %q in:\n%s", strings.Join(args, " "), err, cause, output)
	}
}

// openTunnel to the clusters, until the returned function is called.
func openTunnel(t *testing.T, program *capcontest.Program) (interrupt func()) {
	t.Helper()
	tunnel := program.Command(t.Context(), "tunnel")
	var said bytes.Buffer
	tunnel.Stdout, tunnel.Stderr = &said, &said
	must.Succeed(t, tunnel.Start())
	return func() {
		t.Helper()
		must.Succeed(t, tunnel.Process.Signal(os.Interrupt))
		if err := tunnel.Wait(); err != nil {
			t.Errorf("capcon tunnel, interrupted: %v", err)
		}
		t.Logf("capcon tunnel\n%s", said.String())
	}
}
