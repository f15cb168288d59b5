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

// Package remote dials engines on other hosts, with credentials that can be replaced while
// connections are in use.
//
// A Dialer makes the connections of one engine: with TLS, or through one connection of SSH that
// all share. It runs no program, reads no configuration of its user and trusts nothing but
// what the credentials say.
//
//	dialer, err := remote.New(at, remote.Credentials{CA: ca, Certificate: certificate, Key: key})
//	connection, err := dialer.Dial(ctx)
//	err = dialer.Rotate(renewed)
package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// dialTimeout bounds one connection, with all its handshakes. A first connection of SSH takes a few
	// seconds.
	dialTimeout = 15 * time.Second
	// rotationGrace is how long calls that are in progress may take when credentials are replaced. Clients keep connections for
	// later calls, which would use the former credentials indefinitely.
	rotationGrace = 30 * time.Second
	// keepAlive is how often a silent connection is probed. Ten probes without a response end it.
	keepAlive = 10 * time.Second
)

// Credentials of an engine. Those of TLS or those of SSH are set.
type Credentials struct {
	// CA has the certificates of the authorities that sign the server's, Certificate and Key are those of this
	// client; all in PEM.
	CA, Certificate, Key []byte
	// SSHKey is the private key of the user, KnownHosts has the keys of the server as
	// OpenSSH's known_hosts.
	SSHKey, KnownHosts []byte
}

// String keeps the credentials out of logs.
func (Credentials) String() string { return "REDACTED" }

// GoString keeps them out of logs too.
func (Credentials) GoString() string { return "REDACTED" }

// CredentialsError says which of the credentials cannot be used. It has no part of them.
type CredentialsError struct {
	// Key of the Secret that they are from.
	Key string
	// Reason completes "the key …".
	Reason string
}

// Error implements error.
func (e *CredentialsError) Error() string { return fmt.Sprintf("credentials: %s %s", e.Key, e.Reason) }

// Unwrap makes it an engine.ErrUnauthorized.
func (e *CredentialsError) Unwrap() error { return engine.ErrUnauthorized }

// transport makes connections with one set of credentials.
type transport interface {
	// dial returns a connection that the caller closes.
	dial(ctx context.Context, at endpoint.Endpoint) (net.Conn, error)
	// reset ends what the connections share, and with it all of them.
	reset()
	// retire ends what the connections share once the last of them is closed.
	retire()
	// close ends all connections.
	close()
}

// connection says when it is closed.
type connection struct {
	net.Conn

	closed func()
}

func (c *connection) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// CloseWrite ends one direction: what runs in a container reads the end of its input.
func (c *connection) CloseWrite() error {
	half, isHalf := c.Conn.(interface{ CloseWrite() error })
	if !isHalf {
		return fmt.Errorf("close one direction of the connection: %w", errors.ErrUnsupported)
	}
	return half.CloseWrite()
}

// Dialer makes the connections of one engine. It is safe for concurrent use.
type Dialer struct {
	// RotationGrace is how long connections last after Rotate; New sets 30 s.
	RotationGrace time.Duration

	at endpoint.Endpoint

	mutex   sync.Mutex
	current transport
	closed  bool
}

// New returns a Dialer, which has not dialed. Credentials that cannot be used: a *CredentialsError.
func New(at endpoint.Endpoint, credentials Credentials) (*Dialer, error) {
	made, err := newTransport(at, credentials)
	if err != nil {
		return nil, err
	}
	return &Dialer{RotationGrace: rotationGrace, at: at, current: made}, nil
}

func newTransport(at endpoint.Endpoint, credentials Credentials) (transport, error) {
	if at.Scheme == endpoint.SSH {
		return newSSH(at, credentials)
	}
	return newTLS(at, credentials)
}

// Dial returns a connection to the engine. Its errors are engine.ErrUnavailable, or
// engine.ErrUnauthorized where one side does not trust the other; which engine it is, clients add.
func (d *Dialer) Dial(ctx context.Context) (net.Conn, error) {
	d.mutex.Lock()
	current, closed := d.current, d.closed
	d.mutex.Unlock()
	if closed {
		return nil, fmt.Errorf("connection is closed: %w", engine.ErrUnavailable)
	}
	limited, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	connection, err := current.dial(limited, d.at)
	switch {
	case err == nil:
		return connection, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, engine.ErrUnauthorized):
		return nil, err
	}
	return nil, engine.WithKind(err, engine.ErrUnavailable)
}

// Rotate uses other credentials for all further connections. Those that exist are closed after RotationGrace.
// Credentials that cannot be used change nothing: a *CredentialsError.
func (d *Dialer) Rotate(credentials Credentials) error {
	made, err := newTransport(d.at, credentials)
	if err != nil {
		return err
	}
	d.mutex.Lock()
	before := d.current
	d.current = made
	d.mutex.Unlock()
	before.retire()
	time.AfterFunc(d.RotationGrace, before.close)
	return nil
}

// Reset ends all connections that share one, such as those of SSH to a host that no longer
// responds. Later ones are new.
func (d *Dialer) Reset() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.current.reset()
}

// Close ends all connections that share one, and makes no others.
func (d *Dialer) Close() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.closed = true
	d.current.reset()
}

// connectTCP to the endpoint.
func connectTCP(ctx context.Context, at endpoint.Endpoint) (net.Conn, error) {
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAlive, Interval: keepAlive, Count: 10}}
	return dialer.DialContext(ctx, "tcp", at.Address())
}
