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
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/pki"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	// secondNamespace is the network of the second host.
	secondNamespace = "capcon-second"
	// secondAddress is that of the second host, from the range for benchmarks (RFC 2544), and secondGateway that of this one there.
	secondAddress, secondGateway = "198.18.0.6", "198.18.0.5"
	// daemonConfig is what the engine of this machine needs, too.
	daemonConfig = "/etc/docker/daemon.json"
)

// secondHost has an engine of its own: a dockerd in a network namespace of this machine, which serves its API with TLS.
type secondHost struct {
	authority
	process *os.Process
	socket  string
}

// authority of certificates of clients.
type authority struct {
	*pki.Authority
	t         *testing.T
	directory string
}

// credentials are files: the authority of the engine, and the certificate of a client with its key.
type credentials struct{ authority, certificate string }

func newAuthority(t *testing.T) authority {
	t.Helper()
	directory := t.TempDir()
	return authority{must.Get(pki.EnsureAuthority(directory, "ca"))(t), t, directory}
}

// otherAuthority is not the one that the second engine trusts.
func otherAuthority(t *testing.T) authority {
	t.Helper()
	return newAuthority(t)
}

// issue a certificate of a client.
func (a authority) issue(name string) credentials {
	return credentials{a.Path(), a.certificate(name, x509.ExtKeyUsageClientAuth)}
}

func (a authority) certificate(name string, usage x509.ExtKeyUsage) string {
	a.t.Helper()
	certificate := pki.Certificate{
		Path: filepath.Join(a.directory, name+".pem"), CommonName: name, Addresses: []net.IP{net.ParseIP(secondAddress)},
		Usages: []x509.ExtKeyUsage{usage}, Lifetime: time.Hour,
	}
	must.Get(a.Ensure(certificate, time.Now()))(a.t)
	return certificate.Path
}

// flags of "capcon engine add". The certificate's file has the key, too.
func (c credentials) flags() []string {
	return []string{"--tls-ca", c.authority, "--tls-cert", c.certificate, "--tls-key", c.certificate}
}

// data of the Secret.
func (c credentials) data(t *testing.T) map[string][]byte {
	t.Helper()
	bundle := must.Get(os.ReadFile(c.certificate))(t)
	return map[string][]byte{"ca.crt": must.Get(os.ReadFile(c.authority))(t), "tls.crt": bundle, "tls.key": bundle}
}

// startSecondHost without images: capcon copies those of the first engine. It ends with the test.
func startSecondHost(t *testing.T) *secondHost {
	t.Helper()
	openSecondNetwork(t)
	root := t.TempDir()
	h := &secondHost{authority: newAuthority(t), socket: filepath.Join(root, "docker.sock")}
	server := h.certificate("server", x509.ExtKeyUsageServerAuth)
	arguments := []string{
		"--net=/run/netns/" + secondNamespace, "dockerd", "--data-root", filepath.Join(root, "data"), "--exec-root", filepath.Join(root, "exec"),
		"--pidfile", filepath.Join(root, "pid"), "--host", "unix://" + h.socket, "--host", "tcp://" + net.JoinHostPort(secondAddress, tlsPort),
		"--tlsverify", "--tlscacert", h.Path(), "--tlscert", server, "--tlskey", server,
	}
	if _, err := os.Stat(daemonConfig); err == nil {
		arguments = append(arguments, "--config-file", daemonConfig)
	}
	log := must.Get(os.Create(filepath.Join(root, "log")))(t)
	daemon := exec.CommandContext(context.WithoutCancel(t.Context()), "nsenter", arguments...)
	daemon.Stdout, daemon.Stderr = log, log
	must.Succeed(t, daemon.Start())
	h.process = daemon.Process // nsenter replaces itself.
	t.Cleanup(func() {
		_ = h.process.Signal(syscall.SIGCONT)
		shell(t, fmt.Sprintf("docker --host unix://%[1]s ps --all --quiet | xargs --no-run-if-empty docker --host unix://%[1]s rm --force --volumes", h.socket))
		_ = h.process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
		// It leaves mounts of network namespaces, and the directory could not be removed.
		shell(t, fmt.Sprintf("for name in %s/exec/netns/*; do umount \"$name\" 2>/dev/null || true; done", root))
		if t.Failed() {
			t.Logf("the second dockerd:\n%s", must.Get(os.ReadFile(log.Name()))(t))
		}
	})
	eng := h.connect(t)
	capcontest.Eventually(t, "the second engine responds", func(ctx context.Context) (string, error) {
		_, err := eng.Info(ctx)
		return "", err
	})
	return h
}

func (h *secondHost) endpoint() string { return "tcp://" + net.JoinHostPort(secondAddress, tlsPort) }

func (h *secondHost) connect(t *testing.T) engine.Engine {
	t.Helper()
	eng := must.Get(docker.NewOver(h.socket, func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", h.socket)
	}))(t)
	t.Cleanup(func() { _ = eng.Close() })
	return eng
}

// openSecondNetwork makes the network of the second host, which this one routes to and masquerades.
func openSecondNetwork(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("making a network namespace takes root")
	}
	undo := fmt.Sprintf(`ip netns delete %[1]s 2>/dev/null || true
ip link delete %[1]s 2>/dev/null || true
iptables --delete FORWARD --in-interface %[1]s --jump ACCEPT 2>/dev/null || true
iptables --delete FORWARD --out-interface %[1]s --jump ACCEPT 2>/dev/null || true`, secondNamespace)
	shell(t, undo)
	t.Cleanup(func() { shell(t, undo) })
	shell(t, fmt.Sprintf(`ip netns add %[1]s
ip link add %[1]s type veth peer name host netns %[1]s
ip address add %[2]s/30 dev %[1]s
ip link set %[1]s up
ip -n %[1]s address add %[3]s/30 dev host
ip -n %[1]s link set host up
ip -n %[1]s link set lo up
ip -n %[1]s route add default via %[2]s
iptables --insert FORWARD --in-interface %[1]s --jump ACCEPT
iptables --insert FORWARD --out-interface %[1]s --jump ACCEPT`, secondNamespace, secondGateway, secondAddress))
}
