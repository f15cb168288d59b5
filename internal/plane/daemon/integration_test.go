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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/daemon"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/readiness"
)

// binariesVariable names the directory of etcd, kube-apiserver and
// kube-controller-manager.
const binariesVariable = "CAPCON_PLANE_BINARIES"

const (
	// lifetime of certificates in this test: short, and long enough for a
	// busy machine to renew in its last third.
	lifetime = 18 * time.Second
	patience = 2 * time.Minute
)

// testPlane is a plane of processes.
type testPlane struct {
	program, dir string
	args         []string

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
	build := exec.CommandContext(t.Context(), "go", "build", "-tags=remote", "-o", program,
		"github.com/capi-samples/cluster-api-provider-container/cmd/capcon-plane")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build capcon-plane: %v\n%s", err, output)
	}
	ports := freePorts(t, 6)
	return &testPlane{
		program: program,
		dir:     filepath.Join(dir, "state"),
		args: []string{
			"run", "--state-dir=" + filepath.Join(dir, "state"), "--binaries=" + binaries,
			"--api-address=127.0.0.1", "--certificate-lifetime=" + lifetime.String(),
			fmt.Sprintf("--api-port=%d", ports[0]),
			fmt.Sprintf("--etcd-client-port=%d", ports[1]),
			fmt.Sprintf("--etcd-peer-port=%d", ports[2]),
			fmt.Sprintf("--controller-manager-port=%d", ports[3]),
			fmt.Sprintf("--webhook-port=%d", ports[4]),
			fmt.Sprintf("--health-port=%d", ports[5]),
			"--", "--engine=none",
		},
	}
}

// freePorts are listened on until the last is known: none is given twice.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	listeners := make([]net.Listener, n)
	ports := make([]int, n)
	for i := range listeners {
		var err error
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		address, ok := listeners[i].Addr().(*net.TCPAddr)
		if !ok {
			t.Fatalf("unexpected address %v", listeners[i].Addr())
		}
		ports[i] = address.Port
	}
	for _, listener := range listeners {
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return ports
}

func (p *testPlane) start(t *testing.T) {
	t.Helper()
	p.output = &bytes.Buffer{}
	p.cmd = exec.Command(p.program, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start plane: %v", err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_, _ = p.cmd.Process.Wait()
		if t.Failed() {
			t.Logf("plane:\n%s", p.output)
		}
	})
}

// connect reads the kubeconfig of the host, once it is there.
func (p *testPlane) connect(t *testing.T) {
	t.Helper()
	path := filepath.Join(p.dir, daemon.AdminKubeconfig)
	eventually(t, "the kubeconfig is there", func() error {
		_, err := os.Stat(path)
		return err
	})
	kubeconfig, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p.kubeconfig = kubeconfig
	if p.config, err = clientcmd.RESTConfigFromKubeConfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	p.config.QPS = -1
	p.config.WarningHandler = rest.NoWarnings{}
}

func (p *testPlane) awaitReady(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := readiness.Wait(ctx, p.config, nil); err != nil {
		t.Fatalf("plane is not ready: %v", err)
	}
}

// children are the processes of the plane by name.
func (p *testPlane) children(t *testing.T) map[string]int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waiting until %s: %v", what, err)
		case <-ticker.C:
		}
	}
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

// TestIntegrationPlane takes one plane through its life: its parts build on each other,
// since each start costs seconds.
func TestIntegrationPlane(t *testing.T) {
	t.Parallel()
	p := newTestPlane(t)
	began := time.Now()
	p.start(t)
	p.connect(t)
	p.awaitReady(t)
	t.Logf("ready %s after the start", time.Since(began).Round(time.Millisecond))
	var err error
	if p.client, err = client.New(p.config, client.Options{}); err != nil {
		t.Fatal(err)
	}

	breaks := p.watchForBreaks(t)
	p.testAPI(t)
	p.testLock(t)
	p.testRenewal(t)
	if got := breaks(); len(got) > 0 {
		t.Errorf("the API broke off while certificates were renewed: %v", got)
	}
	p.testKilledChildren(t)
	p.testKilledDaemon(t)
	p.testStop(t)
}

// testAPI proves that webhooks default, validate and convert, and that what
// is owned goes with its owner.
func (p *testPlane) testAPI(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	made := cluster("v1beta2", "made")
	if err := unstructured.SetNestedMap(made.Object, map[string]any{
		"paused":            true,
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "ContainerCluster", "name": "made"},
	}, "spec"); err != nil {
		t.Fatal(err)
	}
	if err := p.client.Create(ctx, made); err != nil {
		t.Fatalf("create Cluster: %v", err)
	}
	old := cluster("v1beta1", "made")
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(old), old); err != nil {
		t.Fatalf("get Cluster as v1beta1: %v", err)
	}
	version, _, err := unstructured.NestedString(old.Object, "spec", "infrastructureRef", "apiVersion")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("infrastructure.cluster.x-k8s.io/v1alpha1", version); diff != "" {
		t.Errorf("version of the reference after conversion: -want, +got:\n%s", diff)
	}
	if err := p.client.Create(ctx, cluster("v1beta2", "empty")); !apierrors.IsInvalid(err) {
		t.Errorf("create an empty Cluster: want it refused as invalid, got %v", err)
	}
	eventually(t, "the controllers have seen the Cluster", func() error {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(made), made); err != nil {
			return err
		}
		if conditions, _, _ := unstructured.NestedSlice(made.Object, "status", "conditions"); len(conditions) == 0 {
			return errors.New("no conditions")
		}
		return nil
	})

	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "owner"}}
	if err := p.client.Create(ctx, owner); err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
	if err := p.client.Create(ctx, owned); err != nil {
		t.Fatal(err)
	}
	if err := p.client.Delete(ctx, owner); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what is owned is gone", func() error {
		err := p.client.Get(ctx, client.ObjectKeyFromObject(owned), owned)
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}

// testLock proves that no second daemon uses the same state.
func (p *testPlane) testLock(t *testing.T) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), p.program, p.args...).CombinedOutput()
	if err == nil || !strings.Contains(string(output), "in use by another process") {
		t.Errorf("second daemon on the same state: want it refused, got %v\n%s", err, output)
	}
}

// watchForBreaks asks the API on a connection that stays and on new ones until
// the function it returns is called, and that returns what went wrong.
func (p *testPlane) watchForBreaks(t *testing.T) func() []error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.config.CAData)
	address := strings.TrimPrefix(p.config.Host, "https://")
	ctx, cancel := context.WithCancel(t.Context())
	var (
		wait sync.WaitGroup
		errs []error
	)
	wait.Go(func() {
		ticker := time.NewTicker(250 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			err := p.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, GenerateName: "kept-"}})
			if err == nil {
				_, err = readiness.Check(ctx, p.config)
			}
			if err == nil {
				err = dial(ctx, address, roots)
			}
			if err != nil && ctx.Err() == nil {
				errs = append(errs, fmt.Errorf("%s: %w", time.Now().Format(time.TimeOnly), err))
			}
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
	return func() []error {
		cancel()
		wait.Wait()
		return errs
	}
}

// dial makes a new connection that trusts the roots.
func dial(ctx context.Context, address string, roots *x509.CertPool) error {
	connection, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots}}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

// testRenewal waits until every server has served two further certificates.
func (p *testPlane) testRenewal(t *testing.T) {
	t.Helper()
	served := map[string]map[string]bool{}
	for _, arg := range p.args {
		name, port, _ := strings.Cut(arg, "=")
		if name == "--api-port" || name == "--webhook-port" || name == "--controller-manager-port" || name == "--etcd-client-port" {
			served[port] = map[string]bool{}
		}
	}
	eventually(t, "every server serves its third certificate", func() error {
		for port, serials := range served {
			leaf, err := servedCertificate("127.0.0.1:" + port)
			if err != nil {
				return err
			}
			if time.Now().After(leaf.NotAfter) {
				t.Fatalf("port %s serves a certificate that ended at %s", port, leaf.NotAfter)
			}
			serials[leaf.SerialNumber.String()] = true
		}
		for port, serials := range served {
			if len(serials) < 3 {
				return fmt.Errorf("port %s served %d certificates so far", port, len(serials))
			}
		}
		return nil
	})
}

// servedCertificate is what a server serves to a new connection; whether
// clients trust it, watchForBreaks sees.
func servedCertificate(address string) (*x509.Certificate, error) {
	connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // see above
	if err != nil {
		return nil, err
	}
	return connection.ConnectionState().PeerCertificates[0], connection.Close()
}

// testKilledChildren proves that each process comes back, with the same
// kubeconfig and the same objects.
func (p *testPlane) testKilledChildren(t *testing.T) {
	t.Helper()
	before := p.children(t)
	if len(before) != 4 {
		t.Fatalf("processes of the plane: want 4, got %v", before)
	}
	for name, pid := range before {
		killed := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill %s: %v", name, err)
		}
		eventually(t, name+" is back", func() error {
			if now := p.children(t)[name]; now == 0 || now == pid {
				return errors.New("it is not")
			}
			return nil
		})
		p.awaitReady(t)
		p.mustKeepState(t)
		t.Logf("ready %s after %s was killed", time.Since(killed).Round(time.Millisecond), name)
	}
}

// testKilledDaemon proves that no process outlives a killed daemon, and that
// a new one goes on where it was.
func (p *testPlane) testKilledDaemon(t *testing.T) {
	t.Helper()
	before := p.children(t)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	for name, pid := range before {
		eventually(t, name+" is gone with the daemon", func() error {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || strings.Contains(string(stat), ") Z ") {
				return nil //nolint:nilerr // no such process
			}
			return errors.New("it runs")
		})
	}
	began := time.Now()
	p.start(t)
	p.awaitReady(t)
	p.mustKeepState(t)
	t.Logf("ready again %s after the start", time.Since(began).Round(time.Millisecond))
}

func (p *testPlane) mustKeepState(t *testing.T) {
	t.Helper()
	made := cluster("v1beta2", "made")
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(made), made); err != nil {
		t.Errorf("get Cluster with the first kubeconfig: %v", err)
	}
	kubeconfig, err := os.ReadFile(filepath.Join(p.dir, daemon.AdminKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p.kubeconfig, kubeconfig) {
		t.Error("the kubeconfig changed")
	}
}

// testStop proves that a daemon told to stop ends well, and leaves no process.
func (p *testPlane) testStop(t *testing.T) {
	t.Helper()
	before := p.children(t)
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("stop: %v", err)
	}
	t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
	for name, pid := range before {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s after the stop: want it gone, got %v", name, err)
		}
	}
}
