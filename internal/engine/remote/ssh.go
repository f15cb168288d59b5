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

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// tunnel makes connections to a socket of another host, as channels of one connection of SSH.
type tunnel struct {
	config *ssh.ClientConfig

	// turn holds an element while a call connects.
	turn chan struct{}

	mutex sync.Mutex
	// client is the connection, nil = there is none.
	client *ssh.Client
	// open channels of the client.
	open    int
	retired bool
}

func newSSH(at endpoint.Endpoint, credentials Credentials) (transport, error) {
	if len(credentials.SSHKey) == 0 {
		return nil, &CredentialsError{"ssh-privatekey", "is not set; it is the private key of the user"}
	}
	key, err := ssh.ParsePrivateKey(credentials.SSHKey)
	var protected *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &protected):
		return nil, &CredentialsError{"ssh-privatekey", "has a passphrase; use a key without one"}
	case err != nil:
		return nil, &CredentialsError{"ssh-privatekey", "is no private key in a format of OpenSSH or in PEM"}
	}
	check, err := hostKeys(credentials.KnownHosts)
	if err != nil {
		return nil, err
	}
	return &tunnel{turn: make(chan struct{}, 1), config: &ssh.ClientConfig{
		User: at.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: check,
		HostKeyAlgorithms: algorithms(check, at), ClientVersion: "SSH-2.0-capcon",
	}}, nil
}

// hostKeys reads known hosts, which the package that knows their format takes from a file only.
func hostKeys(known []byte) (ssh.HostKeyCallback, error) {
	const name = "known_hosts"
	if strings.TrimSpace(string(known)) == "" {
		return nil, &CredentialsError{name, "is not set; it has the keys of the server, as ssh-keyscan prints them"}
	}
	file, err := os.CreateTemp("", "known-hosts-")
	if err != nil {
		return nil, fmt.Errorf("write known hosts: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(known)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("write known hosts: %w", err)
	}
	check, err := knownhosts.New(file.Name())
	if err != nil {
		return nil, &CredentialsError{name, "is not in the format of OpenSSH's known_hosts"}
	}
	return check, nil
}

// algorithms of the keys that are known of the server: it may have several, and the client
// would take another one. nil = all, where an authority is known instead.
func algorithms(check ssh.HostKeyCallback, at endpoint.Endpoint) []string {
	var unknown *knownhosts.KeyError
	if !errors.As(check(at.Address(), &net.TCPAddr{}, noKey{}), &unknown) {
		return nil
	}
	var all []string
	for _, known := range unknown.Want {
		if kind := known.Key.Type(); kind == ssh.KeyAlgoRSA {
			all = append(all, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			all = append(all, kind)
		}
	}
	return all
}

// noKey is of no server.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

// dial opens a channel, and once more where the connection that others share has ended unnoticed.
func (t *tunnel) dial(ctx context.Context, at endpoint.Endpoint) (net.Conn, error) {
	client, isNew, err := t.connect(ctx, at)
	if err != nil {
		return nil, err
	}
	connection, err := t.openChannel(ctx, client, at)
	var refused *ssh.OpenChannelError
	if err == nil || isNew || ctx.Err() != nil || errors.As(err, &refused) {
		return connection, err
	}
	if client, _, err = t.connect(ctx, at); err != nil {
		return nil, err
	}
	return t.openChannel(ctx, client, at)
}

// connect returns the connection that there is, or a new one. One call connects, the others wait.
func (t *tunnel) connect(ctx context.Context, at endpoint.Endpoint) (client *ssh.Client, isNew bool, err error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	t.mutex.Lock()
	client = t.client
	t.mutex.Unlock()
	if client != nil {
		return client, false, nil
	}
	raw, err := connectTCP(ctx, at)
	if err != nil {
		return nil, false, err
	}
	config, verified := *t.config, false
	config.HostKeyCallback = func(host string, address net.Addr, key ssh.PublicKey) error {
		err := t.config.HostKeyCallback(host, address, key)
		verified = err == nil
		return err
	}
	// The handshake takes no context.
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	secured, channels, requests, err := ssh.NewClientConn(raw, at.Address(), &config)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		raw.Close()
		return nil, false, explainHandshake(at, verified, err)
	}
	client = ssh.NewClient(secured, channels, requests)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.client = client
	return client, true, nil
}

// explainHandshake names the key of the Secret that explains a handshake that failed. Once the server
// is verified, the only thing that fails without an error of the network is the authentication.
func explainHandshake(at endpoint.Endpoint, verified bool, err error) error {
	var unknown *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	var unmatched *ssh.AlgorithmNegotiationError
	var broken net.Error
	isBroken := errors.As(err, &broken) || errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	switch {
	case errors.As(err, &unknown) && len(unknown.Want) == 0:
		return engine.WithKind(errors.New("server is not in known_hosts"), engine.ErrUnauthorized)
	case errors.As(err, &unknown):
		return engine.WithKind(errors.New("server has another key than that in known_hosts"), engine.ErrUnauthorized)
	case errors.As(err, &revoked):
		return engine.WithKind(errors.New("key of the server is revoked in known_hosts"), engine.ErrUnauthorized)
	case errors.As(err, &unmatched):
		return engine.WithKind(fmt.Errorf("server has no key of the kind that known_hosts has: %w", err), engine.ErrUnauthorized)
	case verified && !isBroken:
		return engine.WithKind(fmt.Errorf("server refuses the key of user %s (ssh-privatekey)", at.User), engine.ErrUnauthorized)
	}
	return err
}

// openChannel to the socket. golang.org/x/crypto/ssh waits forever for a channel that is opened at
// the moment the connection breaks; a connection on which one does not open in time is given up.
func (t *tunnel) openChannel(ctx context.Context, client *ssh.Client, at endpoint.Endpoint) (net.Conn, error) {
	type result struct {
		connection net.Conn
		err        error
	}
	opened := make(chan result, 1)
	t.count(1)
	go func() {
		connection, err := client.Dial("unix", at.Socket)
		opened <- result{connection, err}
	}()
	var got result
	select {
	case got = <-opened:
	case <-ctx.Done():
		got.err = context.Cause(ctx)
		go func() {
			if late := <-opened; late.err == nil {
				late.connection.Close()
			}
		}()
	}
	var refused *ssh.OpenChannelError
	switch {
	case got.err == nil:
		return &connection{Conn: got.connection, closed: sync.OnceFunc(func() { t.count(-1) })}, nil
	case errors.As(got.err, &refused):
		t.count(-1)
		return nil, fmt.Errorf("open socket %s on the host: %w; check that the engine runs, that the user may use the socket, "+
			"and that the server of SSH allows AllowStreamLocalForwarding", at.Socket, got.err)
	}
	t.count(-1)
	t.forget(client)
	return nil, got.err
}

func (t *tunnel) count(change int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.open += change
	if t.retired && t.open == 0 {
		t.end()
	}
}

// forget a connection that is broken.
func (t *tunnel) forget(broken *ssh.Client) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.client == broken {
		t.end()
	}
}

func (t *tunnel) reset() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.end()
}

func (t *tunnel) close() { t.reset() }

func (t *tunnel) retire() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.retired = true
	if t.open == 0 {
		t.end()
	}
}

// end the connection; the caller holds the mutex.
func (t *tunnel) end() {
	if t.client != nil {
		_ = t.client.Close()
		t.client = nil
	}
}
