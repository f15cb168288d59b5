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
			reason: "TLS is not asked for", options: podman.Options{URI: tcp(plain)},
		},
		"TLS": {
			reason:  "the connection's authority has signed the server's certificate",
			options: podman.Options{URI: tcp(secured), TLSCAFile: authority},
		},
		"TLS on both sides": {
			reason:  "the server asks who its client is",
			options: podman.Options{URI: tcp(demanding), TLSCAFile: authority, TLSCertFile: certificate, TLSKeyFile: key},
		},
		"TLS on both sides, no certificate": {
			reason:  "a client that does not say who it is is refused",
			options: podman.Options{URI: tcp(demanding), TLSCAFile: authority}, want: engine.ErrUnavailable,
		},
		"TLS without asking": {
			reason:  "a server that speaks TLS is not spoken to without",
			options: podman.Options{URI: tcp(secured)}, want: engine.ErrUnavailable,
		},
		"no authority": {
			reason:  "a file without a certificate trusts no server",
			options: podman.Options{URI: tcp(secured), TLSCAFile: other}, want: engine.ErrUnavailable,
		},
		"a key without its certificate": {
			reason:  "one is of no use without the other",
			options: podman.Options{URI: tcp(secured), TLSCAFile: authority, TLSKeyFile: authority}, want: engine.ErrUnavailable,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, err := connect.Connect(t.Context(), connect.Options{
				Engine: connect.Podman, Getenv: environment(map[string]string{"HOME": t.TempDir()}),
				Connections: at(connect.Connection{Name: "tcp", Default: true, Options: c.options}),
			})
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Fatalf("%s: %v, want %v", c.reason, err, c.want)
			}
			if err != nil {
				t.Log(err)
				return
			}
			t.Cleanup(func() { _ = eng.Close() })
			if info, err := eng.Info(t.Context()); err != nil || info.Endpoint != c.options.URI {
				t.Errorf("%s: %+v, %v, want the endpoint %s", c.reason, info, err, c.options.URI)
			}
		})
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
