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
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// over returns an engine that is reached as the dialer does it.
func over(t *testing.T, text string, credentials remote.Credentials) (engine.Engine, *remote.Dialer) {
	t.Helper()
	at := must.Get(endpoint.Parse(text))(t)
	dialer := must.Get(remote.New(at, credentials))(t)
	eng := connect.Remote(at.String(), dialer.Dial)
	t.Cleanup(func() { _ = eng.Close(); dialer.Close() })
	return eng, dialer
}

func TestRemoteOverSSH(t *testing.T) {
	t.Parallel()
	user, private := newKey(t)
	server := startSSH(t, user.PublicKey())
	host, port, _ := net.SplitHostPort(server.address)
	known := fmt.Appendf(nil, "[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(server.host))
	for want, handler := range map[string]http.Handler{"docker 29.1.0": docker("29.1.0"), "podman 5.0.0": fakePodman{"5.0.0"}} {
		eng, dialer := over(t, "ssh://me@"+server.address+serve(t, handler), remote.Credentials{SSHKey: private, KnownHosts: known})
		ask := func(when string) {
			t.Helper()
			info, err := eng.Info(t.Context())
			if got := info.Name + " " + info.Version; got != want || err != nil || !strings.HasPrefix(info.Endpoint, "ssh://me@") || info.Traits.Product == "" {
				t.Errorf("%s: got %s, %+v, %v, want %s", when, got, info, err, want)
			}
		}
		ask("at first")
		dialer.Reset()
		_, _ = eng.Info(t.Context()) // It may find the connection ended.
		ask("after the connection ended")
	}
}

func TestRemoteOverTLS(t *testing.T) {
	t.Parallel()
	server, other := httptest.NewUnstartedServer(docker("29.1.0")), httptest.NewTLSServer(docker("29.1.0"))
	t.Cleanup(server.Close)
	t.Cleanup(other.Close)
	certificate, key := clientCertificate(t, server)
	server.StartTLS()
	_, stranger := newKey(t)
	credentials := remote.Credentials{
		CA:          pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		Certificate: must.Get(os.ReadFile(certificate))(t), Key: must.Get(os.ReadFile(key))(t),
	}
	_, address, _ := strings.Cut(server.URL, "://")
	eng, dialer := over(t, "tcp://"+address, credentials)
	if info, err := eng.Info(t.Context()); err != nil || info.Version != "29.1.0" {
		t.Errorf("%+v, %v", info, err)
	}
	if err := dialer.Rotate(remote.Credentials{CA: credentials.CA, Certificate: stranger, Key: stranger}); !errors.Is(err, engine.ErrUnauthorized) {
		t.Errorf("rotated to what is no certificate: %v", err)
	}
	wrong := credentials
	wrong.CA = credentials.Certificate
	eng, _ = over(t, "tcp://"+address, wrong)
	_, err := eng.Info(t.Context())
	if !errors.Is(err, engine.ErrUnauthorized) || !strings.Contains(err.Error(), "ca.crt") {
		t.Errorf("the certificate of another authority: %v", err)
	}
}

// An engine that is down at first is used when it responds.
func TestRemoteLater(t *testing.T) {
	t.Parallel()
	socket := serve(t, docker("29.1.0"))
	var isUp atomic.Bool
	eng := connect.Remote("ssh://me@build", func(ctx context.Context) (net.Conn, error) {
		if !isUp.Load() {
			return nil, engine.WithKind(errors.New("no route"), engine.ErrUnavailable)
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	})
	t.Cleanup(func() { _ = eng.Close() })
	if _, err := eng.Info(t.Context()); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "no route") {
		t.Errorf("got %v", err)
	}
	isUp.Store(true)
	if info, err := eng.Info(t.Context()); err != nil || info.Version != "29.1.0" {
		t.Errorf("%+v, %v", info, err)
	}
}
