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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestPodmanOverTCP(t *testing.T) {
	t.Parallel()
	plain, secured := httptest.NewServer(fakePodman{"5.0.0"}), httptest.NewTLSServer(fakePodman{"5.0.0"})
	demanding := httptest.NewUnstartedServer(fakePodman{"5.0.0"})
	t.Cleanup(plain.Close)
	t.Cleanup(secured.Close)
	t.Cleanup(demanding.Close)
	certificate, key := clientCertificate(t, demanding)
	demanding.StartTLS()
	tcp := func(server *httptest.Server) string {
		_, address, _ := strings.Cut(server.URL, "://")
		return "tcp://" + address
	}
	authority := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secured.Certificate().Raw})))
	other := filepath.Join(t.TempDir(), "other.pem")
	writeFile(t, other, "no certificate")
	cases := map[string]struct {
		reason  string
		options podman.Options
		want    error
	}{
		"plain": {
			"TLS is not requested", podman.Options{URI: tcp(plain)}, nil,
		},
		"TLS": {
			"the connection's authority has signed the server's certificate",
			podman.Options{URI: tcp(secured), TLSCAFile: authority}, nil,
		},
		"TLS on both sides": {
			"the server asks who its client is",
			podman.Options{URI: tcp(demanding), TLSCAFile: authority, TLSCertFile: certificate, TLSKeyFile: key}, nil,
		},
		"TLS on both sides, no certificate": {
			"a client that does not say who it is is refused",
			podman.Options{URI: tcp(demanding), TLSCAFile: authority}, engine.ErrUnavailable,
		},
		"TLS without asking": {
			"a server that speaks TLS is not spoken to without",
			podman.Options{URI: tcp(secured)}, engine.ErrUnavailable,
		},
		"no authority": {
			"a file without a certificate trusts no server",
			podman.Options{URI: tcp(secured), TLSCAFile: other}, engine.ErrUnavailable,
		},
		"a key without its certificate": {
			"one is of no use without the other",
			podman.Options{URI: tcp(secured), TLSCAFile: authority, TLSKeyFile: authority}, engine.ErrUnavailable,
		},
	}
	for name, c := range cases {
		info, err := infoOf(t, connect.Options{
			Engine: connect.Podman, Connections: at(connect.Connection{Name: "tcp", Default: true, Options: c.options}),
		}, nil)
		if !errors.Is(err, c.want) || err == nil && info.Endpoint != c.options.URI {
			t.Errorf("%s: %s: %+v, %v, want %v", name, c.reason, info, err, c.want)
		}
	}
}

// clientCertificate makes one with its key, and has the server demand it. All
// servers of httptest have one certificate.
func clientCertificate(t *testing.T, server *httptest.Server) (certificate, key string) {
	t.Helper()
	private := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	signed := must.Get(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))(t)
	parsed := must.Get(x509.ParseCertificate(signed))(t)
	encoded := must.Get(x509.MarshalPKCS8PrivateKey(private))(t)
	directory := t.TempDir()
	certificate, key = filepath.Join(directory, "cert.pem"), filepath.Join(directory, "key.pem")
	writeFile(t, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
	writeFile(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})))
	clients := x509.NewCertPool()
	clients.AddCert(parsed)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, MinVersion: tls.VersionTLS12}
	return certificate, key
}
