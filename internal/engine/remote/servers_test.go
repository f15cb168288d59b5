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

package remote_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signed := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	return authority{must.Get(x509.ParseCertificate(signed))(t), key}
}

func (a authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// sign a certificate of 127.0.0.1, and return it with its key.
func (a authority) sign(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	signed := must.Get(x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key))(t)
	encoded := must.Get(x509.MarshalPKCS8PrivateKey(private))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

func (a authority) client(t *testing.T, server authority) remote.Credentials {
	t.Helper()
	certificate, key := a.sign(t)
	return remote.Credentials{CA: server.pem(), Certificate: certificate, Key: key}
}

// echo what each connection says until it ends.
func echo(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			_, _ = io.Copy(connection, connection)
		}()
	}
}

// startTLS serves clients that one of the authorities has signed.
func startTLS(t *testing.T, server authority, clients ...authority) endpoint.Endpoint {
	t.Helper()
	certificate, key := server.sign(t)
	config := &tls.Config{
		Certificates: []tls.Certificate{must.Get(tls.X509KeyPair(certificate, key))(t)},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12,
	}
	for _, client := range clients {
		config.ClientCAs.AddCert(client.certificate)
	}
	listener := must.Get(tls.Listen("tcp", "127.0.0.1:0", config))(t)
	t.Cleanup(func() { _ = listener.Close() })
	go echo(listener)
	return must.Get(endpoint.Parse("tcp://" + listener.Addr().String()))(t)
}

// says reports why a connection does not pass on what is said.
func says(connection net.Conn) error {
	if _, err := connection.Write([]byte("hello")); err != nil {
		return err
	}
	heard := make([]byte, len("hello"))
	_, err := io.ReadFull(connection, heard)
	return err
}

// try dials, and says something.
func try(ctx context.Context, dialer *remote.Dialer) error {
	connection, err := dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	return says(connection)
}

func newKey(t *testing.T) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must.Succeed(t, err)
	block := must.Get(ssh.MarshalPrivateKey(private, ""))(t)
	return must.Get(ssh.NewSignerFromKey(private))(t), pem.EncodeToMemory(block)
}

// sshServer admits one key, and leads to sockets of this host.
type sshServer struct {
	at endpoint.Endpoint

	mutex       sync.Mutex
	admitted    ssh.PublicKey
	connections []net.Conn
	// served are how many connections there were, open those that have not ended.
	served, open int
}

// startSSH serves a socket that echoes.
func startSSH(t *testing.T, user ssh.PublicKey, keys ...ssh.Signer) *sshServer {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "socket")
	echoing := must.Get(net.Listen("unix", socket))(t)
	go echo(echoing)
	s := &sshServer{admitted: user}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if !bytes.Equal(key.Marshal(), s.admitted.Marshal()) {
			return nil, errors.New("another key")
		}
		return &ssh.Permissions{}, nil
	}}
	for _, key := range keys {
		config.AddHostKey(key)
	}
	listener := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	s.at = must.Get(endpoint.Parse("ssh://me@" + listener.Addr().String() + socket))(t)
	t.Cleanup(func() { _, _, _ = listener.Close(), echoing.Close(), s.interrupt() })
	go s.accept(listener, config)
	return s
}

func (s *sshServer) accept(listener net.Listener, config *ssh.ServerConfig) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		s.mutex.Lock()
		s.connections = append(s.connections, connection)
		s.mutex.Unlock()
		go s.serve(connection, config)
	}
}

func (s *sshServer) serve(connection net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		return
	}
	s.count(1, 1)
	defer s.count(0, -1)
	go ssh.DiscardRequests(requests)
	for channel := range channels {
		var request struct {
			Path, Reserved string
			Port           uint32
		}
		_ = ssh.Unmarshal(channel.ExtraData(), &request)
		target, err := net.Dial("unix", request.Path)
		if err != nil {
			_ = channel.Reject(ssh.ConnectionFailed, "no such socket")
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

func (s *sshServer) count(served, open int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.served, s.open = s.served+served, s.open+open
}

func (s *sshServer) counts() (served, open int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.served, s.open
}

// admit another key instead.
func (s *sshServer) admit(key ssh.PublicKey) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.admitted = key
}

// interrupt breaks all connections.
func (s *sshServer) interrupt() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, connection := range s.connections {
		_ = connection.Close()
	}
	s.connections = nil
	return nil
}

// known hosts with these keys of the server.
func (s *sshServer) known(keys ...ssh.Signer) []byte {
	var lines strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&lines, "[%s]:%d %s", s.at.Host, s.at.Port, ssh.MarshalAuthorizedKey(key.PublicKey()))
	}
	return []byte(lines.String())
}
