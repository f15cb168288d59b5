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

package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/readiness"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// binariesVariable names the directory of etcd, kube-apiserver and
// kube-controller-manager.
const binariesVariable = "CAPCON_PLANE_BINARIES"

const (
	// lifetime of certificates in this test: short, and long enough for a
	// busy machine to renew in its last third.
	lifetime = 18 * time.Second
	// livenessPeriod is as short as a busy machine allows: eight of them
	// without an answer, also while it starts, mean that a process hangs.
	livenessPeriod = 3 * time.Second
	patience       = 2 * time.Minute
	// startPatience is longer than the daemon's own limits for etcd and API server, and for the manager.
	startPatience = 6 * time.Minute
)

// testPlane is a plane of processes.
type testPlane struct {
	program, dir string
	args         []string
	// environment that the program has in addition to the test's.
	environment []string

	cmd    *exec.Cmd
	output *bytes.Buffer
	// kubeconfig as it was after the first start.
	kubeconfig []byte
	config     *rest.Config
	client     client.Client
}

// newTestPlane builds the program and starts nothing.
func newTestPlane(t *testing.T) *testPlane {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this takes a minute")
	}
	binaries := os.Getenv(binariesVariable)
	if binaries == "" {
		t.Skipf("set %s to the directory of etcd, kube-apiserver and kube-controller-manager to run this test", binariesVariable)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "capcon-plane")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program,
		"github.com/capi-samples/cluster-api-provider-container/cmd/capcon-plane")
	// As its image has it, and not as the race detector compiles this test.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build capcon-plane: %v\n%s", err, output)
	}
	port := func() uint16 { return enginetest.FreeLocalPort(t) }
	return &testPlane{
		program: program,
		dir:     filepath.Join(dir, "state"),
		args: []string{
			"run", "--state-dir=" + filepath.Join(dir, "state"), "--binaries=" + binaries,
			"--api-address=127.0.0.1", "--certificate-lifetime=" + lifetime.String(), "--liveness-period=" + livenessPeriod.String(),
			fmt.Sprintf("--api-port=%d", port()),
			fmt.Sprintf("--etcd-client-port=%d", port()),
			fmt.Sprintf("--etcd-peer-port=%d", port()),
			fmt.Sprintf("--controller-manager-port=%d", port()),
			fmt.Sprintf("--webhook-port=%d", port()),
			fmt.Sprintf("--health-port=%d", port()),
			"--", "--engine=none",
		},
	}
}

func (p *testPlane) start(t *testing.T) {
	t.Helper()
	p.output = &bytes.Buffer{}
	p.cmd = exec.Command(p.program, p.args...)
	p.cmd.Env = append(os.Environ(), p.environment...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start plane: %v", err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Wait() // until all output is read
		if t.Failed() {
			t.Logf("plane:\n%s", p.output)
		}
	})
}

// connect reads the kubeconfig of the host, once it is there.
func (p *testPlane) connect(t *testing.T) {
	t.Helper()
	path := filepath.Join(p.dir, plane.AdminKubeconfig)
	eventually(t, "the kubeconfig is there", func() error {
		_, err := os.Stat(path)
		return err
	})
	kubeconfig, err := os.ReadFile(path)
	must.Succeed(t, err)
	p.kubeconfig = kubeconfig
	if p.config, err = clientcmd.RESTConfigFromKubeConfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	p.config.QPS = -1
	p.config.WarningHandler = rest.NoWarnings{}
}

func (p *testPlane) awaitReady(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	if err := readiness.Wait(ctx, p.kubeconfig, func(error) {}); err != nil {
		t.Fatalf("plane is not ready: %v", err)
	}
}

// children are the processes of the plane by name.
func (p *testPlane) children(t *testing.T) map[string]int {
	t.Helper()
	stats := must.Get(filepath.Glob("/proc/[0-9]*/stat"))(t)
	found := map[string]int{}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		must.Succeed(t, err)
		before, after, _ := strings.Cut(string(stat), ") ")
		pid, name, _ := strings.Cut(before, " (")
		fields := strings.Fields(after)
		if fields[1] != strconv.Itoa(p.cmd.Process.Pid) || fields[0] == "Z" {
			continue
		}
		if found[name], err = strconv.Atoi(pid); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	must.Eventually(t, patience, what, func(context.Context) error { return check() })
}

// cluster in a version of the API.
func cluster(version, name string) *unstructured.Unstructured {
	c := &unstructured.Unstructured{}
	c.SetAPIVersion("cluster.x-k8s.io/" + version)
	c.SetKind("Cluster")
	c.SetNamespace(metav1.NamespaceDefault)
	c.SetName(name)
	return c
}
