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

package daemon_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/readiness"
)

// watchForBreaks asks the API on a connection that stays and on new ones until
// the function it returns is called, and that returns what went wrong.
func (p *testPlane) watchForBreaks(t *testing.T) func() []error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.config.CAData)
	address := strings.TrimPrefix(p.config.Host, "https://")
	ctx, cancel := context.WithCancel(t.Context())
	var (
		wait sync.WaitGroup
		errs []error
	)
	wait.Go(func() {
		ticker := time.NewTicker(250 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			err := p.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, GenerateName: "kept-"}})
			if err == nil {
				err = readiness.Check(ctx, p.kubeconfig)
			}
			if err == nil {
				err = dial(ctx, address, roots)
			}
			if err != nil && ctx.Err() == nil {
				errs = append(errs, fmt.Errorf("%s: %w", time.Now().Format(time.TimeOnly), err))
			}
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
	return func() []error {
		cancel()
		wait.Wait()
		return errs
	}
}

// dial makes a new connection that trusts the roots.
func dial(ctx context.Context, address string, roots *x509.CertPool) error {
	connection, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots}}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

// testRenewal waits until every server has served two further certificates.
func (p *testPlane) testRenewal(t *testing.T) {
	t.Helper()
	served := map[string]map[string]bool{}
	for _, arg := range p.args {
		name, port, _ := strings.Cut(arg, "=")
		if name == "--api-port" || name == "--webhook-port" || name == "--controller-manager-port" || name == "--etcd-client-port" {
			served[port] = map[string]bool{}
		}
	}
	eventually(t, "every server serves its third certificate", func() error {
		for port, serials := range served {
			leaf, err := servedCertificate("127.0.0.1:" + port)
			if err != nil {
				return err
			}
			if time.Now().After(leaf.NotAfter) {
				t.Fatalf("port %s serves a certificate that ended at %s", port, leaf.NotAfter)
			}
			serials[leaf.SerialNumber.String()] = true
		}
		for port, serials := range served {
			if len(serials) < 3 {
				return fmt.Errorf("port %s served %d certificates so far", port, len(serials))
			}
		}
		return nil
	})
}

// servedCertificate is what a server serves to a new connection; whether
// clients trust it, watchForBreaks sees.
func servedCertificate(address string) (*x509.Certificate, error) {
	connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // see above
	if err != nil {
		return nil, err
	}
	return connection.ConnectionState().PeerCertificates[0], connection.Close()
}
