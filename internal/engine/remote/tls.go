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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// encrypted makes connections with TLS on both sides.
type encrypted struct {
	config *tls.Config

	mutex sync.Mutex
	open  map[*connection]bool
}

func newTLS(at endpoint.Endpoint, credentials Credentials) (transport, error) {
	authorities := x509.NewCertPool()
	switch {
	case len(credentials.CA) == 0:
		return nil, &CredentialsError{"ca.crt", "is not set; it is the certificate of the authority of the engine's certificate"}
	case !authorities.AppendCertsFromPEM(credentials.CA):
		return nil, &CredentialsError{"ca.crt", "has no certificate in PEM"}
	case len(credentials.Certificate) == 0:
		return nil, &CredentialsError{"tls.crt", "is not set; an engine that asks for no certificate lets each client be root on its host"}
	case len(credentials.Key) == 0:
		return nil, &CredentialsError{"tls.key", "is not set; it is the key of tls.crt"}
	}
	pair, err := tls.X509KeyPair(credentials.Certificate, credentials.Key)
	if err != nil {
		return nil, &CredentialsError{"tls.crt and tls.key", "are no certificate and its key in PEM"}
	}
	return &encrypted{open: map[*connection]bool{}, config: &tls.Config{
		ServerName: at.Host, RootCAs: authorities, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
	}}, nil
}

func (e *encrypted) dial(ctx context.Context, at endpoint.Endpoint) (net.Conn, error) {
	plain, err := connectTCP(ctx, at)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(plain, e.config)
	if err := secured.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, untrusted(err)
	}
	made := &connection{Conn: &verified{Conn: secured}}
	made.closed = func() {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		delete(e.open, made)
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.open[made] = true
	return made, nil
}

// verified is a connection whose certificate the client accepts. With TLS 1.3, that the server refuses that of the client
// is an error of the first read.
type verified struct {
	*tls.Conn
}

// Read implements net.Conn.
func (v *verified) Read(into []byte) (int, error) {
	n, err := v.Conn.Read(into)
	return n, untrusted(err)
}

// untrusted names the key of the Secret that explains why one side refuses the other.
func untrusted(err error) error {
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) {
		return engine.WithKind(fmt.Errorf("certificate of the engine is not trusted (ca.crt): %w", err), engine.ErrUnauthorized)
	}
	// What crypto/tls makes of an alert of the other side.
	if alert := new(net.OpError); errors.As(err, &alert) && alert.Op == "remote error" {
		return engine.WithKind(fmt.Errorf("engine refuses the certificate (tls.crt): %w", err), engine.ErrUnauthorized)
	}
	return err
}

// reset: each connection is one of its own.
func (e *encrypted) reset() {}

func (e *encrypted) retire() {}

func (e *encrypted) close() {
	e.mutex.Lock()
	open := slices.Collect(maps.Keys(e.open))
	e.mutex.Unlock()
	for _, each := range open {
		_ = each.Close()
	}
}
