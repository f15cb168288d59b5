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

// Package access tests how users reach an engine and its clusters: from other hosts, without a
// route to the network of the nodes, and below changes of control planes.
package access_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestRemoteEngine: capcon makes, changes and deletes a cluster on an engine that it
// reaches through SSH alone, and kubeconfigs work while "capcon tunnel" runs. The host of
// the engine is this one; capcon has a network of its own, from which it reaches nothing
// but an SSH server.
func TestRemoteEngine(t *testing.T) {
	eng := integration.Engine(t)
	before := capcontest.Ours(t, eng)
	program := onAnotherHost(t, throughSSH(t))
	if output := program.MustRun("up", remoteCluster, "--workers", "0"); !strings.Contains(output, "capcon tunnel") {
		t.Error("up does not say that kubectl needs a tunnel")
	}
	client := remoteClientOf(t, program)
	if _, err := client.Discovery().ServerVersion(); err == nil {
		t.Fatal("the kubeconfig works without a tunnel, so this test would prove nothing")
	}
	closeTunnels := openTunnels(t, program)
	capcontest.NodesReady(t, client, 1)
	program.MustRun("up", remoteCluster, "--workers", "1")
	capcontest.NodesReady(t, client, 2)
	program.MustRun("status", remoteCluster)
	if log := program.MustRun("logs", remoteCluster, "--tail", "1"); log == "" {
		t.Error("logs prints nothing")
	}
	program.MustRun("up", remoteCluster, "--plane-image", anotherPlaneImage(t))
	capcontest.NodesReady(t, client, 2)
	// The next management plane has another port; the same tunnel finds it.
	program.MustRun("down", remoteCluster)
	program.MustRun("up", remoteCluster, "--workers", "0")
	capcontest.NodesReady(t, remoteClientOf(t, program), 1)
	closeTunnels()
	program.MustRun("down", remoteCluster)
	capcontest.NothingLeftSince(t, eng, before)
}

// TestRemoteEngineTLS: the same through TLS, where server and client have to have a
// certificate.
func TestRemoteEngineTLS(t *testing.T) {
	if integration.EngineName() != "docker" {
		t.Skip("Podman serves its API without TLS")
	}
	program := onAnotherHost(t, throughTLS(t, integration.Engine(t)))
	program.MustRun("up", remoteCluster, "--workers", "0")
	closeTunnels := openTunnels(t, program)
	capcontest.NodesReady(t, remoteClientOf(t, program), 1)
	if output := program.MustShow("load", remoteCluster, capcontest.LoadBalancerImage); !strings.Contains(output, "copied to 1 of 1 nodes") {
		t.Errorf("load prints:\n%s", output)
	}
	if log := program.MustRun("logs", remoteCluster, "--tail", "1"); log == "" {
		t.Error("logs prints nothing")
	}
	closeTunnels()
	program.MustRun("down", remoteCluster)
}

// openTunnels of all kubeconfigs, until the returned function is called.
func openTunnels(t *testing.T, program *capcontest.Program) (interrupt func()) {
	t.Helper()
	tunnel := program.Command(t.Context(), "tunnel")
	var said bytes.Buffer
	tunnel.Stdout, tunnel.Stderr = &said, &said
	must.Succeed(t, tunnel.Start())
	t.Cleanup(func() {
		_ = tunnel.Process.Kill()
		t.Logf("capcon tunnel\n%s", said.String())
	})
	return func() {
		t.Helper()
		must.Succeed(t, tunnel.Process.Signal(os.Interrupt))
		if err := tunnel.Wait(); err != nil {
			t.Errorf("capcon tunnel, interrupted: %v", err)
		}
	}
}

// anotherPlaneImage is that of the management plane that runs, with another ID, as an
// upgrade has it.
func anotherPlaneImage(t *testing.T) string {
	t.Helper()
	const image = "localhost/capcon/plane:remote-test"
	engineCommand := func(args ...string) error {
		output, err := exec.CommandContext(context.WithoutCancel(t.Context()), integration.EngineName(), args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", args[0], err, output)
		}
		return nil
	}
	must.Succeed(t, engineCommand("commit", plane.DefaultName, image))
	t.Cleanup(func() {
		if err := engineCommand("rmi", image); err != nil {
			t.Error(err)
		}
	})
	return image
}
