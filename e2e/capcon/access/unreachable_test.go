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
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const unreachableCluster = "unreachable-test"

// TestUnreachableNetwork: capcon makes, scales and deletes a cluster on a host
// that does not reach the network of the containers, as with a rootless engine
// or one in a virtual machine. All it may use is 127.0.0.1. Only its own
// packets are rejected, so that nothing else on the host is disturbed.
func TestUnreachableNetwork(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("rejecting packets takes root")
	}
	eng := integration.Engine(t)
	before := capcontest.Ours(t, eng)
	program := capcontest.Build(t, unreachableCluster)
	program.Attributes = confined(t)
	program.DownBeforeAndAfter()
	program.MustRun("up", unreachableCluster, "--control-planes", "1", "--workers", "1")
	isConfined(t, eng, program)
	capcontest.NodesReady(t, program.ConnectCluster(), 2)
	capcontest.PodsTalk(t, eng, program)
	program.MustRun("up", unreachableCluster, "--workers", "2")
	capcontest.NodesReady(t, program.ConnectCluster(), 3)
	allCommands(t, program)
	capcontest.NodesReady(t, program.ConnectCluster(), 3)
	program.MustRun("down", unreachableCluster)
	capcontest.NothingLeftSince(t, eng, before)
}

// allCommands that are about a cluster succeed. It runs afterwards.
func allCommands(t *testing.T, program *capcontest.Program) {
	t.Helper()
	program.MustRun("doctor")
	program.MustRun("list")
	program.MustRun("images", "list")
	program.MustRun("registry", "up")
	program.MustRun("load", program.Cluster, capcontest.LoadBalancerImage)
	program.MustRun("logs", program.Cluster, "--tail", "1")
	program.MustRun("support-bundle", program.Cluster, "--file", filepath.Join(t.TempDir(), "bundle.tar.gz"))
	program.MustRun("stop", program.Cluster)
	program.MustRun("start", program.Cluster)
	program.MustRun("registry", "down")
	program.MustRun("gc")
	program.MustRun("status", program.Cluster)
}

// confinedGroup is a group without members: all its packets are capcon's.
const confinedGroup = 64999

// confined are attributes of processes whose packets go nowhere but to this
// host itself, until the test ends.
func confined(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	rule := []string{
		"OUTPUT", "!", "--out-interface", "lo", "--match", "owner", "--gid-owner", strconv.Itoa(confinedGroup),
		// Podman leads connections to a published port of 127.0.0.1 to the
		// container by rewriting them; no process of its own passes them on.
		"--match", "conntrack", "!", "--ctstate", "DNAT",
		"--jump", "REJECT",
	}
	iptables := func(ctx context.Context, verb string) error {
		output, err := exec.CommandContext(ctx, "iptables", append([]string{"--wait", verb}, rule...)...).CombinedOutput()
		if err != nil {
			t.Logf("iptables %s: %s", verb, output)
		}
		return err
	}
	if err := iptables(t.Context(), "--insert"); err != nil {
		t.Fatalf("reject packets of group %d: %v", confinedGroup, err)
	}
	t.Cleanup(func() {
		if err := iptables(context.WithoutCancel(t.Context()), "--delete"); err != nil {
			t.Errorf("remove the rule about group %d: %v", confinedGroup, err)
		}
	})
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Gid: confinedGroup, NoSetGroups: true}}
}

// isConfined: an API server in a container, which this test reaches, is out of
// reach for processes like capcon's, and what users are given leads to
// 127.0.0.1.
func isConfined(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	t.Helper()
	servers, err := addresses(t.Context(), eng, capcontest.NodeContainers(t, eng, program.Cluster))
	if err != nil || len(servers) == 0 {
		t.Fatalf("find an API server: %q, %v", servers, err)
	}
	connect := func(attributes *syscall.SysProcAttr) error {
		command := exec.CommandContext(t.Context(), "bash", "-c", "exec 3<>/dev/tcp/"+servers[0]+"/6443")
		command.SysProcAttr = attributes
		output, err := command.CombinedOutput()
		t.Logf("connect to %s: %v %s", servers[0], err, output)
		return err
	}
	if err := connect(nil); err != nil {
		t.Fatalf("connect to an API server in its container, without the rule: %v", err)
	}
	if err := connect(program.Attributes); err == nil {
		t.Fatal("a process like capcon's reaches a container, so this test would prove nothing")
	}
	for _, arguments := range [][]string{{program.Cluster}, {"--management"}} {
		config := must.Get(clientcmd.RESTConfigFromKubeConfig(program.Kubeconfig(arguments...)))(t)
		server, err := url.Parse(config.Host)
		if err != nil || !net.ParseIP(server.Hostname()).IsLoopback() {
			t.Errorf("kubeconfig %s leads to %q (%v), want an address of 127.0.0.0/8", strings.Join(arguments, " "), config.Host, err)
		}
	}
}
