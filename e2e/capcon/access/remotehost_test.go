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
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/pki"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	remoteCluster = "remote-test"
	// remoteNamespace is the network namespace that capcon and its users are in.
	remoteNamespace = "capcon-remote"
	// remoteServer is the address of the engine's host there, from the range for benchmarks
	// (RFC 2544), and remoteClient is theirs.
	remoteServer, remoteClient = "198.18.0.1", "198.18.0.2"
	sshPort, tlsPort           = "2222", "2376"
)

// onAnotherHost returns capcon that runs in a network of its own, from which the
// environment leads it to the engine of this host.
func onAnotherHost(t *testing.T, environment string) *capcontest.Program {
	t.Helper()
	program := capcontest.Build(t, remoteCluster)
	wrapper := filepath.Join(t.TempDir(), "capcon")
	script := fmt.Sprintf("#!/bin/sh\nexec ip netns exec %s env %s %s \"$@\"\n", remoteNamespace, environment, program.Path)
	must.Succeed(t, os.WriteFile(wrapper, []byte(script), 0o700)) //nolint:gosec // It is run.
	program.Path = wrapper
	program.DownBeforeAndAfter()
	return program
}

// openNetwork makes the network namespace, from which this host is reachable at
// remoteServer.
func openNetwork(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("making a network namespace takes root")
	}
	capcontest.Shell(t, "ip netns delete "+remoteNamespace+" 2>/dev/null || true")
	t.Cleanup(func() { capcontest.Shell(t, "ip netns delete "+remoteNamespace) })
	capcontest.Shell(t, fmt.Sprintf(`ip netns add %[1]s
ip link add %[1]s type veth peer name engine netns %[1]s
ip address add %[2]s/30 dev %[1]s
ip link set %[1]s up
ip -n %[1]s address add %[3]s/30 dev engine
ip -n %[1]s link set engine up
ip -n %[1]s link set lo up`, remoteNamespace, remoteServer, remoteClient))
}

// throughSSH opens the network with an SSH server.
func throughSSH(t *testing.T) (environment string) {
	t.Helper()
	openNetwork(t)
	server := capcontest.StartSSH(t, "", net.JoinHostPort(remoteServer, sshPort))
	directory := t.TempDir()
	capcontest.Shell(t, fmt.Sprintf(`cd %[1]s
mkdir -p bin home/.ssh
cp %[3]s home/.ssh/known_hosts
printf '#!/bin/sh\nexec /usr/bin/ssh -i %[2]s -o UserKnownHostsFile=%[3]s "$@"\n' >bin/ssh
chmod +x bin/ssh`, directory, server.Key, server.KnownHosts))
	endpoint := "ssh://root@" + server.Address
	return fmt.Sprintf("HOME=%[1]s/home PATH=%[1]s/bin:$PATH DOCKER_HOST=%[2]s CONTAINER_HOST=%[2]s/run/podman/podman.sock CONTAINER_SSHKEY=%[3]s",
		directory, endpoint, server.Key)
}

// throughTLS opens the network with the engine's API behind TLS, as "dockerd --tlsverify"
// serves it.
func throughTLS(t *testing.T, eng engine.Engine) (environment string) {
	t.Helper()
	openNetwork(t)
	directory := t.TempDir()
	authority := must.Get(pki.EnsureAuthority(directory, "ca"))(t)
	issue := func(name string, usage x509.ExtKeyUsage) string {
		certificate := pki.Certificate{
			Path: filepath.Join(directory, name), CommonName: name, Addresses: []net.IP{net.ParseIP(remoteServer)},
			Usages: []x509.ExtKeyUsage{usage}, Lifetime: time.Hour,
		}
		must.Get(authority.Ensure(certificate, time.Now()))(t)
		return certificate.Path
	}
	server, client := issue("server.pem", x509.ExtKeyUsageServerAuth), issue("cert.pem", x509.ExtKeyUsageClientAuth)
	must.Succeed(t, os.Link(client, filepath.Join(directory, "key.pem"))) // The file holds both.
	must.Succeed(t, os.Rename(authority.Path(), filepath.Join(directory, "ca.pem")))
	config := &tls.Config{
		Certificates: []tls.Certificate{must.Get(tls.LoadX509KeyPair(server, server))(t)},
		ClientCAs:    x509.NewCertPool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}
	config.ClientCAs.AppendCertsFromPEM(authority.CertificatePEM())
	listener := must.Get(tls.Listen("tcp", net.JoinHostPort(remoteServer, tlsPort), config))(t)
	t.Cleanup(func() { _ = listener.Close() })
	socket := plane.EngineSocket(must.Get(eng.Info(t.Context()))(t))
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go forward(t.Context(), connection, socket)
		}
	}()
	return fmt.Sprintf("HOME=%[1]s DOCKER_HOST=tcp://%[2]s DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH=%[1]s",
		directory, net.JoinHostPort(remoteServer, tlsPort))
}

// forward a connection to a socket of this host. Each direction ends on its own, as the
// streams of an exec do. An error ends both, which the client reports.
func forward(ctx context.Context, connection net.Conn, socket string) {
	defer connection.Close()
	upstream, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return
	}
	defer upstream.Close()
	copied := make(chan struct{})
	copyTo := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		copied <- struct{}{}
	}
	go copyTo(upstream, connection)
	go copyTo(connection, upstream)
	<-copied
	<-copied
}

// remoteClientOf connects from where capcon runs.
func remoteClientOf(t *testing.T, program *capcontest.Program) kubernetes.Interface {
	t.Helper()
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(program.Kubeconfig(program.Cluster)))(t)
	config.Dial = dialRemote
	return must.Get(kubernetes.NewForConfig(config))(t)
}

// dialRemote connects in the network namespace. A connection stays in the namespace it was
// made in.
func dialRemote(ctx context.Context, network, address string) (connection net.Conn, err error) {
	err = capcontest.InNetwork(remoteNamespace, func() (err error) {
		connection, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return connection, err
}
