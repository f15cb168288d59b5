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

package connect_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// sshServer lets one key in and joins sockets of this host, as sshd does for
// podman.
type sshServer struct {
	address string
	host    ssh.PublicKey

	mu    sync.Mutex
	conns []net.Conn
}

func newKey(t *testing.T) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must.Succeed(t, err)
	signer := must.Get(ssh.NewSignerFromKey(private))(t)
	block := must.Get(ssh.MarshalPrivateKey(private, ""))(t)
	return signer, pem.EncodeToMemory(block)
}

func startSSH(t *testing.T, user ssh.PublicKey) *sshServer {
	t.Helper()
	hostKey, _ := newKey(t)
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), user.Marshal()) {
			return nil, errors.New("another key")
		}
		return &ssh.Permissions{}, nil
	}}
	config.AddHostKey(hostKey)
	listener := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	s := &sshServer{address: listener.Addr().String(), host: hostKey.PublicKey()}
	t.Cleanup(func() {
		_ = listener.Close()
		s.interrupt()
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			go serveSSH(conn, config)
		}
	}()
	return s
}

// interrupt breaks all connections.
func (s *sshServer) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
}

func serveSSH(conn net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for channel := range channels {
		var request struct {
			Path     string
			Reserved string
			Port     uint32
		}
		if channel.ChannelType() != "direct-streamlocal@openssh.com" || ssh.Unmarshal(channel.ExtraData(), &request) != nil {
			_ = channel.Reject(ssh.UnknownChannelType, "only sockets")
			continue
		}
		target, err := net.Dial("unix", request.Path)
		if err != nil {
			_ = channel.Reject(ssh.ConnectionFailed, err.Error())
			continue
		}
		stream, requests, err := channel.Accept()
		if err != nil {
			continue
		}
		go ssh.DiscardRequests(requests)
		go func() { _, _ = io.Copy(target, stream); _ = target.Close() }()
		go func() { _, _ = io.Copy(stream, target); _ = stream.Close() }()
	}
}

// TestPodmanOverSSH is not parallel: its cases share the file of known hosts.
func TestPodmanOverSSH(t *testing.T) {
	user, private := newKey(t)
	_, stranger := newKey(t)
	server := startSSH(t, user.PublicKey())
	socket := serve(t, fakePodman{"5.0.0"})
	uri := "ssh://core@" + server.address + socket
	keys := t.TempDir()
	mine, other := filepath.Join(keys, "mine"), filepath.Join(keys, "other")
	writeFile(t, mine, string(private))
	writeFile(t, other, string(stranger))
	known := func(key ssh.PublicKey) string {
		return "[127.0.0.1]:" + server.address[strings.LastIndexByte(server.address, ':')+1:] + " " + string(ssh.MarshalAuthorizedKey(key))
	}
	connected := func(hosts string, options podman.Options) (engine.Engine, error) {
		writeFile(t, filepath.Join(os.Getenv("HOME"), ".ssh", "known_hosts"), hosts)
		variables := map[string]string{"CONTAINER_HOST": options.URI, "CONTAINER_SSHKEY": options.Identity}
		if options.Machine {
			variables = nil
		}
		return connect.Connect(t.Context(), isolated(connect.Options{
			Engine: connect.Podman, Getenv: environment(variables), Connections: at(connect.Connection{Default: true, Options: options}),
		}))
	}
	eng := must.Get(connected(known(server.host), podman.Options{URI: uri, Identity: mine}))(t)
	t.Cleanup(func() { _ = eng.Close() })
	info, err := eng.Info(t.Context())
	if err != nil || info.Version != "5.0.0" || info.Endpoint != uri {
		t.Errorf("info %+v, %v, want the service behind ssh at %s", info, err, uri)
	}
	// A connection through ssh that has ended is opened again.
	server.interrupt()
	_, _ = eng.Info(t.Context())
	if _, err := eng.Info(t.Context()); err != nil {
		t.Errorf("after the connection broke: %v", err)
	}

	for reason, c := range map[string]struct {
		hosts   string
		options podman.Options
		want    error
		text    string
	}{
		"the host key of a machine is not checked":  {"", podman.Options{URI: uri, Identity: mine, Machine: true}, nil, "<nil>"},
		"a key is not let in":                       {known(server.host), podman.Options{URI: uri, Identity: other}, engine.ErrUnavailable, ""},
		"a key is absent":                           {known(server.host), podman.Options{URI: uri, Identity: "/absent/key"}, engine.ErrUnavailable, "/absent/key"},
		"a host has another key than the known one": {known(user.PublicKey()), podman.Options{URI: uri, Identity: mine}, engine.ErrUnavailable, ""},
	} {
		eng, err := connected(c.hosts, c.options)
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v, want %v", reason, err, c.want)
		}
		if err == nil {
			_ = eng.Close()
		}
	}
}
