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
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	remoteCluster = "remote-test"
	// remoteNamespace is the network namespace that capcon and its users are in.
	remoteNamespace = "capcon-remote"
	// remoteServer is the address of the engine's host there, from the range for benchmarks
	// (RFC 2544), and remoteClient is theirs.
	remoteServer, remoteClient = "198.18.0.1", "198.18.0.2"
	remotePort                 = "2222"
)

// TestRemoteEngine: capcon makes, changes and deletes a cluster on an engine that it
// reaches through SSH alone, and kubeconfigs work while "capcon tunnel" runs. The host of
// the engine is this one; capcon has a network of its own, from which it reaches nothing
// but an SSH server.
func TestRemoteEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an engine and the images, and minutes; run without -short")
	}
	if os.Getuid() != 0 {
		t.Skip("making a network namespace takes root")
	}
	eng := integration.Engine(t)
	before := ours(t, eng)
	program := build(t, remoteCluster)
	program.path = onAnotherHost(t, program.path)
	program.mustRun("down", remoteCluster)
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("KEEP") == "" {
			_, _ = program.run(context.WithoutCancel(t.Context()), "down", remoteCluster)
		}
	})
	if output := program.mustRun("up", remoteCluster, "--workers", "0"); !strings.Contains(output, "capcon tunnel") {
		t.Error("up does not say that kubectl needs a tunnel")
	}
	client := remoteClientOf(t, program)
	if _, err := client.Discovery().ServerVersion(); err == nil {
		t.Fatal("the kubeconfig works without a tunnel, so this test would prove nothing")
	}
	tunnel := program.command(t.Context(), "tunnel", "--engine", integration.EngineName())
	var said bytes.Buffer
	tunnel.Stdout, tunnel.Stderr = &said, &said
	must.Succeed(t, tunnel.Start())
	t.Cleanup(func() {
		_ = tunnel.Process.Kill()
		t.Logf("capcon tunnel\n%s", said.String())
	})
	nodesReady(t, client, 1)
	program.mustRun("up", remoteCluster, "--workers", "1")
	nodesReady(t, client, 2)
	program.mustRun("status", remoteCluster)
	if log := program.mustRun("logs", remoteCluster, "--tail", "1"); log == "" {
		t.Error("logs prints nothing")
	}
	program.mustRun("up", remoteCluster, "--plane-image", anotherPlaneImage(t))
	nodesReady(t, client, 2)
	// The next management plane has another port; the same tunnel finds it.
	program.mustRun("down", remoteCluster)
	program.mustRun("up", remoteCluster, "--workers", "0")
	nodesReady(t, remoteClientOf(t, program), 1)
	must.Succeed(t, tunnel.Process.Signal(os.Interrupt))
	if err := tunnel.Wait(); err != nil {
		t.Errorf("capcon tunnel, interrupted: %v", err)
	}
	program.mustRun("down", remoteCluster)
	left := slices.DeleteFunc(ours(t, eng), func(thing string) bool { return slices.Contains(before, thing) })
	if len(left) > 0 {
		t.Errorf("left on the engine: %q", left)
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

// onAnotherHost returns a program that runs the other one in a network of its own, from
// which SSH leads to the engine of this host.
func onAnotherHost(t *testing.T, program string) string {
	t.Helper()
	directory := t.TempDir()
	shell := func(script string) {
		t.Helper()
		command := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "-ec", script)
		command.Dir = directory
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s\n%v\n%s", script, err, output)
		}
	}
	shell("ip netns delete " + remoteNamespace + " 2>/dev/null || true")
	t.Cleanup(func() { shell("ip netns delete " + remoteNamespace) })
	shell(fmt.Sprintf(`ip netns add %[1]s
ip link add %[1]s type veth peer name engine netns %[1]s
ip address add %[2]s/30 dev %[1]s
ip link set %[1]s up
ip -n %[1]s address add %[3]s/30 dev engine
ip -n %[1]s link set engine up
ip -n %[1]s link set lo up
ssh-keygen -q -t ed25519 -N '' -f host
ssh-keygen -q -t ed25519 -N '' -f user
mkdir -p /run/sshd bin home/.ssh
echo "[%[2]s]:%[4]s $(cat host.pub)" >home/.ssh/known_hosts
printf '#!/bin/sh\nexec /usr/bin/ssh -i %[5]s/user -o UserKnownHostsFile=%[5]s/home/.ssh/known_hosts "$@"\n' >bin/ssh
chmod +x bin/ssh`, remoteNamespace, remoteServer, remoteClient, remotePort, directory))
	sshd := exec.CommandContext(t.Context(), "/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", filepath.Join(directory, "host"),
		"-o", "ListenAddress="+net.JoinHostPort(remoteServer, remotePort), "-o", "StrictModes=no", "-o", "PidFile=none",
		"-o", "AuthorizedKeysFile="+filepath.Join(directory, "user.pub"), "-o", "MaxStartups=1000", "-o", "PermitRootLogin=yes")
	must.Succeed(t, sshd.Start())
	t.Cleanup(func() { _ = sshd.Wait() })
	server := "ssh://root@" + net.JoinHostPort(remoteServer, remotePort)
	wrapper := filepath.Join(directory, "capcon")
	script := fmt.Sprintf(`#!/bin/sh
exec ip netns exec %s env HOME=%s/home PATH=%s/bin:$PATH DOCKER_HOST=%s CONTAINER_HOST=%s/run/podman/podman.sock CONTAINER_SSHKEY=%s/user %s "$@"
`, remoteNamespace, directory, directory, server, server, directory, program)
	must.Succeed(t, os.WriteFile(wrapper, []byte(script), 0o700)) //nolint:gosec // It is run.
	return wrapper
}

// remoteClientOf connects from where capcon runs.
func remoteClientOf(t *testing.T, program *capcon) kubernetes.Interface {
	t.Helper()
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(program.kubeconfig(program.cluster)))(t)
	config.Dial = dialRemote
	return must.Get(kubernetes.NewForConfig(config))(t)
}

// dialRemote connects in the network namespace. A connection stays in the namespace it was
// made in.
func dialRemote(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		net.Conn
		error
	}
	connected := make(chan result, 1)
	go func() {
		// Never unlocked: the thread, which is in the other namespace, ends with this function.
		runtime.LockOSThread()
		namespace, err := os.Open("/run/netns/" + remoteNamespace)
		if err != nil {
			connected <- result{nil, err}
			return
		}
		defer namespace.Close()
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			connected <- result{nil, fmt.Errorf("enter network namespace: %w", err)}
			return
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		connected <- result{connection, err}
	}()
	got := <-connected
	return got.Conn, got.error
}
