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

package capcontest

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const sshPort = "2222"

// SSH is a server of SSH, which lets one key in as root.
type SSH struct {
	// Address that it listens on.
	Address string
	// Key of the user, and KnownHosts with that of the server: files.
	Key, KnownHosts string
}

// StartSSH on an address of this machine, or of a network namespace of it. It ends with the test.
func StartSSH(t *testing.T, namespace, address string) SSH {
	t.Helper()
	directory := t.TempDir()
	file := func(name string) string { return filepath.Join(directory, name) }
	host, port, err := net.SplitHostPort(address)
	must.Succeed(t, err)
	Shell(t, fmt.Sprintf(`cd %s
ssh-keygen -q -t ed25519 -N '' -f host
ssh-keygen -q -t ed25519 -N '' -f user
mkdir -p /run/sshd
echo "[%s]:%s $(cat host.pub)" >known_hosts`, directory, host, port))
	arguments := []string{
		"/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", file("host"), "-o", "ListenAddress=" + address, "-o", "StrictModes=no",
		"-o", "PidFile=none", "-o", "AuthorizedKeysFile=" + file("user.pub"), "-o", "MaxStartups=1000", "-o", "PermitRootLogin=yes",
	}
	if namespace != "" {
		arguments = append([]string{"nsenter", "--net=/run/netns/" + namespace}, arguments...)
	}
	server := exec.CommandContext(context.WithoutCancel(t.Context()), arguments[0], arguments[1:]...)
	must.Succeed(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	return SSH{Address: address, Key: file("user"), KnownHosts: file("known_hosts")}
}

// HostSSH is the server of SSH of a host.
type HostSSH struct {
	SSH
	// Endpoint of the host's engine.
	Endpoint string
}

// StartSSH on the host.
func (h *Host) StartSSH(t *testing.T) HostSSH {
	t.Helper()
	server := StartSSH(t, hostNamespace+h.Name, net.JoinHostPort(h.Address, sshPort))
	return HostSSH{SSH: server, Endpoint: "ssh://root@" + server.Address + h.socket()}
}

// Flags of "capcon engine add".
func (s SSH) Flags() []string { return []string{"--ssh-key", s.Key, "--known-hosts", s.KnownHosts} }
