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

package podman_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const defaultSocket = "/run/podman/podman.sock"

// serviceUnderTest is the endpoint of CONTAINER_HOST, of the default socket, or of
// a service with storage of its own that ends with the test.
func serviceUnderTest(t *testing.T) string {
	t.Helper()
	if endpoint := os.Getenv("CONTAINER_HOST"); endpoint != "" {
		return endpoint
	}
	if _, err := os.Stat(defaultSocket); !errors.Is(err, fs.ErrNotExist) {
		return "unix://" + defaultSocket
	}
	return startService(t, hostNetwork).endpoint()
}

// service is "podman system service" with a directory of its own for everything.
type service struct {
	enginetest.Daemon

	directory string
	network   serviceNetwork
}

// serviceNetwork says in which network namespace a service makes its bridges and
// its rules.
type serviceNetwork bool

const (
	// hostNetwork is this process's, which can reach what containers publish.
	hostNetwork serviceNetwork = false
	// ownNetwork is one of the service's own. Two services of one namespace have no
	// common lock, and each takes the other's bridge and rules of the default network
	// for its own: one removes the chain to which the other is about to append.
	ownNetwork serviceNetwork = true
)

func startService(t *testing.T, network serviceNetwork) *service {
	t.Helper()
	if _, err := exec.LookPath("podman"); err != nil || os.Getuid() != 0 {
		t.Skip("no Podman: CONTAINER_HOST names no service, there is none at " + defaultSocket +
			", and to start one takes root and the program podman")
	}
	directory, err := os.MkdirTemp("", "podman") //nolint:usetesting // a run root may have fifty characters
	must.Succeed(t, err)
	s := &service{directory: directory, network: network}
	s.configure(t)
	s.makeNamespace(t)
	t.Cleanup(func() { s.removeAll(t) })
	raw := rawClient{socket: s.path("podman.sock")}
	s.Daemon = enginetest.Daemon{
		Name: "podman system service", Log: s.path("log"),
		Command: func() *exec.Cmd { return s.command("system", "service", "--time=0", s.endpoint()) },
		Ping: func(ctx context.Context) error {
			_, err := raw.do(ctx, http.MethodGet, "/_ping")
			return err
		},
	}
	s.Start(t)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

func (s *service) path(name string) string { return filepath.Join(s.directory, name) }

func (s *service) endpoint() string { return "unix://" + s.path("podman.sock") }

// configure asks for what a host without systemd, with the old cgroups or with
// low limits can give.
func (s *service) configure(t *testing.T) {
	t.Helper()
	var limit syscall.Rlimit
	must.Succeed(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	runtime := ""
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		// crun refuses the hybrid of both versions.
		runtime = "runtime = \"runc\"\n"
	}
	const processes = 32768
	content := fmt.Sprintf("[containers]\ndefault_ulimits = [\"nofile=%[1]d:%[1]d\", \"nproc=%[2]d:%[2]d\"]\n"+
		"[engine]\n%[3]scgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n", limit.Max, processes, runtime)
	must.Succeed(t, os.WriteFile(s.path("containers.conf"), []byte(content), 0o600))
}

// makeNamespace makes the service's namespace, which lasts from one of its processes
// to the next.
func (s *service) makeNamespace(t *testing.T) {
	t.Helper()
	if s.network == hostNetwork {
		return
	}
	file := s.path("namespace")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	output, err := exec.Command("unshare", "--net="+file, "ip", "link", "set", "lo", "up").CombinedOutput()
	if err != nil {
		t.Fatalf("make the service's network namespace: %v, %s", err, output)
	}
}

func (s *service) command(args ...string) *exec.Cmd {
	line := append([]string{
		"podman", "--root", s.path("root"), "--runroot", s.path("run"), "--tmpdir", s.path("tmp"),
		"--network-config-dir", s.path("networks"),
	}, args...)
	if s.network == ownNetwork {
		line = append([]string{"nsenter", "--net=" + s.path("namespace")}, line...)
	}
	command := exec.Command(line[0], line[1:]...)
	command.Env = append(os.Environ(), "CONTAINERS_CONF="+s.path("containers.conf"))
	return command
}

// removeAll removes what tests that failed left, with the bridges of their
// networks, and then the directory.
func (s *service) removeAll(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"rm", "--all", "--force", "--time=0", "--volumes"},
		{"network", "prune", "--force"},
	} {
		if output, err := s.command(args...).CombinedOutput(); err != nil {
			t.Errorf("podman %v: %v, %s", args, err, output)
		}
	}
	s.killProcesses(t)
	s.unmountAll(t)
	if err := os.RemoveAll(s.directory); err != nil {
		t.Errorf("remove the service's directory: %v", err)
	}
}

// killProcesses returns when no process names the service's directory. The monitor of a
// container that was removed still runs "podman container cleanup", that of a command does so
// after five minutes; either mounts the storage again and writes to it.
func (s *service) killProcesses(t *testing.T) {
	t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	var running []int
	for range 100 {
		if running = s.processes(t); len(running) == 0 {
			return
		}
		for _, process := range running {
			_ = syscall.Kill(process, syscall.SIGKILL)
		}
		<-again.C
	}
	t.Errorf("processes %v still use %s after SIGKILL", running, s.directory)
}

// processes are the IDs of those whose command line names the service's directory.
func (s *service) processes(t *testing.T) []int {
	t.Helper()
	var out []int
	for _, file := range must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t) {
		if line, err := os.ReadFile(file); err != nil || !bytes.Contains(line, []byte(s.directory+"/")) {
			continue // Another's, or it has ended.
		}
		out = append(out, must.Get(strconv.Atoi(filepath.Base(filepath.Dir(file))))(t))
	}
	return out
}

// unmountAll unmounts the namespace, the storage, and what killed processes mounted in it.
func (s *service) unmountAll(t *testing.T) {
	t.Helper()
	lines := strings.Split(string(must.Get(os.ReadFile("/proc/self/mounts"))(t)), "\n")
	for _, line := range slices.Backward(lines) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], s.directory+"/") {
			must.Succeed(t, os.NewSyscallError("unmount", syscall.Unmount(fields[1], syscall.MNT_DETACH)))
		}
	}
}
