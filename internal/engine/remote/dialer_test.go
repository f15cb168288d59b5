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
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	server, client, stranger := newAuthority(t), newAuthority(t), newAuthority(t)
	at := startTLS(t, server, client)
	byName := at
	byName.Host = "localhost"
	cases := map[string]struct {
		reason      string
		at          endpoint.Endpoint
		credentials remote.Credentials
		want        error
		text        string
	}{
		"Trusted":     {"Each side has a certificate of the authority that the other one trusts.", at, client.client(t, server), nil, "<nil>"},
		"OtherServer": {"An engine with a certificate of another authority is not one.", at, client.client(t, stranger), engine.ErrUnauthorized, "ca.crt"},
		"OtherName":   {"Nor is one with the certificate of another host.", byName, client.client(t, server), engine.ErrUnauthorized, "ca.crt"},
		"OtherClient": {"With TLS 1.3 a client hears that it is refused when it reads.", at, stranger.client(t, server), engine.ErrUnauthorized, "refuses the certificate (tls.crt)"},
	}
	for name, tc := range cases {
		err := try(t.Context(), must.Get(remote.New(tc.at, tc.credentials))(t))
		if text := fmt.Sprint(err); strings.Contains(text, "connect to "+tc.at.Scheme) || strings.HasSuffix(text, ": unauthorized") {
			t.Errorf("%s: it names what its caller names, or the kind: %s", name, text)
		}
		if tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(fmt.Sprint(err), tc.text) {
			t.Errorf("%s: %s\nGot %v, want %v, %q", name, tc.reason, err, tc.want, tc.text)
		}
	}
}

func TestTLSIsRotated(t *testing.T) {
	t.Parallel()
	server, first, second := newAuthority(t), newAuthority(t), newAuthority(t)
	both, onlySecond := startTLS(t, server, first, second), startTLS(t, server, second)
	dialer := must.Get(remote.New(both, first.client(t, server)))(t)
	open := must.Get(dialer.Dial(t.Context()))(t)
	defer open.Close()
	must.Succeed(t, dialer.Rotate(second.client(t, server)))
	if err := errors.Join(says(open), try(t.Context(), dialer)); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	dialer = must.Get(remote.New(onlySecond, first.client(t, server)))(t)
	if err := try(t.Context(), dialer); err == nil {
		t.Error("a certificate that is not trusted any more is admitted")
	}
	must.Succeed(t, dialer.Rotate(second.client(t, server)))
	if err := try(t.Context(), dialer); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
}

// Clients keep connections for later calls: without an end, these would use the former credentials indefinitely.
func TestConnectionsEndAfterRotation(t *testing.T) {
	t.Parallel()
	server, first, second := newAuthority(t), newAuthority(t), newAuthority(t)
	user, key := newKey(t)
	_, secondKey := newKey(t)
	host, _ := newKey(t)
	secure := startSSH(t, user.PublicKey(), host)
	cases := map[string]struct {
		at              endpoint.Endpoint
		before, renewed remote.Credentials
	}{
		"TLS": {startTLS(t, server, first, second), first.client(t, server), second.client(t, server)},
		"SSH": {secure.at, remote.Credentials{SSHKey: key, KnownHosts: secure.known(host)}, remote.Credentials{SSHKey: secondKey, KnownHosts: secure.known(host)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialer := must.Get(remote.New(tc.at, tc.before))(t)
			dialer.RotationGrace = time.Millisecond
			open := must.Get(dialer.Dial(t.Context()))(t)
			must.Succeed(t, says(open))
			must.Succeed(t, dialer.Rotate(tc.renewed))
			ended := make(chan error, 1)
			go func() {
				_, err := open.Read(make([]byte, 1))
				ended <- err
			}()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("the server says something")
				}
			case <-time.After(time.Minute):
				t.Error("the connection is not closed")
			}
		})
	}
}

func TestSSH(t *testing.T) {
	t.Parallel()
	user, key := newKey(t)
	_, other := newKey(t)
	host, _ := newKey(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Succeed(t, err)
	second := must.Get(ssh.NewSignerFromKey(private))(t)
	server := startSSH(t, user.PublicKey(), host, second)
	absent := server.at
	absent.Socket = "/absent.sock"
	cases := map[string]struct {
		reason      string
		at          endpoint.Endpoint
		credentials remote.Credentials
		want        error
		text        string
	}{
		"Trusted":     {"Each side knows the key of the other.", server.at, remote.Credentials{SSHKey: key, KnownHosts: server.known(host)}, nil, "<nil>"},
		"OtherKind":   {"One key of the server is enough, of whatever kind.", server.at, remote.Credentials{SSHKey: key, KnownHosts: server.known(second)}, nil, "<nil>"},
		"OtherServer": {"A server with another key is not the one.", server.at, remote.Credentials{SSHKey: key, KnownHosts: server.known(user)}, engine.ErrUnauthorized, "another key than that in known_hosts"},
		"Unknown": {
			"A server that is in no known_hosts is not trusted at first sight.", server.at,
			remote.Credentials{SSHKey: key, KnownHosts: []byte("example.org " + string(ssh.MarshalAuthorizedKey(host.PublicKey())))}, engine.ErrUnauthorized, "not in known_hosts",
		},
		"OtherUser": {"A key is not admitted.", server.at, remote.Credentials{SSHKey: other, KnownHosts: server.known(host)}, engine.ErrUnauthorized, "refuses the key of user me"},
		"NoSocket":  {"The engine does not run.", absent, remote.Credentials{SSHKey: key, KnownHosts: server.known(host)}, engine.ErrUnavailable, "/absent.sock"},
	}
	for name, tc := range cases {
		dialer := must.Get(remote.New(tc.at, tc.credentials))(t)
		err := try(t.Context(), dialer)
		if text := fmt.Sprint(err); strings.Contains(text, "connect to "+tc.at.Scheme) || strings.HasSuffix(text, ": unauthorized") {
			t.Errorf("%s: it names what its caller names, or the kind: %s", name, text)
		}
		if tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(fmt.Sprint(err), tc.text) {
			t.Errorf("%s: %s\nGot %v, want %v, %q", name, tc.reason, err, tc.want, tc.text)
		}
		dialer.Close()
		if err := try(t.Context(), dialer); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s: after Close: %v", name, err)
		}
	}
}

// All connections share one, which is recreated when it breaks.
func TestSSHIsShared(t *testing.T) {
	t.Parallel()
	user, key := newKey(t)
	host, _ := newKey(t)
	server := startSSH(t, user.PublicKey(), host)
	dialer := must.Get(remote.New(server.at, remote.Credentials{SSHKey: key, KnownHosts: server.known(host)}))(t)
	defer dialer.Close()
	failed := make(chan error)
	for range 8 {
		go func() { failed <- try(t.Context(), dialer) }()
	}
	for range 8 {
		must.Succeed(t, <-failed)
	}
	if served, _ := server.counts(); served != 1 {
		t.Errorf("%d connections, want one", served)
	}
	must.Succeed(t, server.interrupt())
	if err := try(t.Context(), dialer); err != nil {
		t.Errorf("after the connection broke: %v", err)
	}
	dialer.Reset()
	if err := try(t.Context(), dialer); err != nil {
		t.Errorf("after a reset: %v", err)
	}
	if served, _ := server.counts(); served != 3 {
		t.Errorf("%d connections, want three", served)
	}
}

func TestSSHIsRotated(t *testing.T) {
	t.Parallel()
	first, firstKey := newKey(t)
	second, secondKey := newKey(t)
	host, _ := newKey(t)
	server := startSSH(t, first.PublicKey(), host)
	dialer := must.Get(remote.New(server.at, remote.Credentials{SSHKey: firstKey, KnownHosts: server.known(host)}))(t)
	defer dialer.Close()
	used := must.Get(dialer.Dial(t.Context()))(t)
	server.admit(second.PublicKey())
	bad := remote.Credentials{SSHKey: []byte("no key"), KnownHosts: server.known(host)}
	if err := dialer.Rotate(bad); !errors.Is(err, engine.ErrUnauthorized) {
		t.Errorf("credentials that cannot be used: %v", err)
	}
	must.Succeed(t, dialer.Rotate(remote.Credentials{SSHKey: secondKey, KnownHosts: server.known(host)}))
	if err := errors.Join(says(used), try(t.Context(), dialer)); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	if _, open := server.counts(); open != 2 {
		t.Errorf("%d connections are open, want that in use and the new one", open)
	}
	must.Succeed(t, used.Close())
	deadline, poll := time.Now().Add(time.Minute), time.NewTicker(10*time.Millisecond)
	defer poll.Stop()
	for _, open := server.counts(); open != 1; _, open = server.counts() {
		if <-poll.C; time.Now().After(deadline) {
			t.Fatal("the connection with the former key is left open")
		}
	}
}

// A host that accepts connections and says nothing keeps no caller waiting.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	listener := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer listener.Close()
	_, key := newKey(t)
	host, _ := newKey(t)
	authority := newAuthority(t)
	knows := []byte("* " + string(ssh.MarshalAuthorizedKey(host.PublicKey())))
	for text, credentials := range map[string]remote.Credentials{
		"ssh://me@": {SSHKey: key, KnownHosts: knows}, "tcp://": authority.client(t, authority),
	} {
		at := must.Get(endpoint.Parse(text + listener.Addr().String()))(t)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := try(ctx, must.Get(remote.New(at, credentials))(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", text, err)
		}
		cancel()
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	certificate, key := authority.sign(t)
	_, otherKey := authority.sign(t)
	host, sshKey := newKey(t)
	known := []byte("a " + string(ssh.MarshalAuthorizedKey(host.PublicKey())))
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must.Succeed(t, err)
	protected := pem.EncodeToMemory(must.Get(ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret")))(t))
	ca := authority.pem()
	type credentials = remote.Credentials
	for want, given := range map[string]struct {
		at    string
		given credentials
	}{
		"ca.crt is not set":                           {"tcp://a", credentials{Certificate: certificate, Key: key}},
		"ca.crt has no certificate":                   {"tcp://a", credentials{CA: []byte("x"), Certificate: certificate, Key: key}},
		"tls.crt is not set":                          {"tcp://a", credentials{CA: ca, Key: key}},
		"tls.key is not set":                          {"tcp://a", credentials{CA: ca, Certificate: certificate}},
		"tls.crt and tls.key are no":                  {"tcp://a", credentials{CA: ca, Certificate: certificate, Key: otherKey}},
		"ssh-privatekey is not set":                   {"ssh://me@a", credentials{KnownHosts: known}},
		"ssh-privatekey is no private key":            {"ssh://me@a", credentials{SSHKey: certificate, KnownHosts: known}},
		"ssh-privatekey has a passphrase":             {"ssh://me@a", credentials{SSHKey: protected, KnownHosts: known}},
		"known_hosts is not set":                      {"ssh://me@a", credentials{SSHKey: sshKey, KnownHosts: []byte(" \n")}},
		"known_hosts is not in the format of OpenSSH": {"ssh://me@a", credentials{SSHKey: sshKey, KnownHosts: []byte("a b c\n")}},
	} {
		_, err := remote.New(must.Get(endpoint.Parse(given.at))(t), given.given)
		var refused *remote.CredentialsError
		if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), "credentials: "+want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	secrets := credentials{Key: key, SSHKey: sshKey}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, secrets); got != "REDACTED" {
			t.Errorf("%s shows %s", verb, got)
		}
	}
}
