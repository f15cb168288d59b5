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

package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// signer is an authority of a test.
type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newSigner(t *testing.T, now time.Time, life time.Duration) signer {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.Add(life),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	return signer{must.Get(x509.ParseCertificate(der))(t), key}
}

func (s signer) node(t *testing.T) Node {
	t.Helper()
	return Node{authority: encode(s.certificate), authorityKey: must.Get(keyutil.MarshalPrivateKeyToPEM(s.key))(t)}
}

func encode(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: certificate.Raw})
}

// issue a client certificate that ended a day before now.
func (s signer) issue(t *testing.T, now time.Time, group string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "system:node:a", Organization: []string{group}},
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(0, 0, -1),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, s.certificate, key.Public(), s.key))(t)
	return must.Get(x509.ParseCertificate(der))(t), key
}

func TestRenewKubelet(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	const year = 365 * 24 * time.Hour
	authority := newSigner(t, now, 5*year)
	old, key := authority.issue(t, now, nodesGroup)
	renewed := must.Get(renewKubelet(old, authority.node(t), now))(t)
	certificate := must.Get(cert.ParseCertsPEM(renewed))(t)[0]
	roots := x509.NewCertPool()
	roots.AddCert(authority.certificate)
	options := x509.VerifyOptions{Roots: roots, CurrentTime: now.Add(year - time.Hour), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := certificate.Verify(options); err != nil {
		t.Error(err)
	}
	if certificate.Subject.String() != old.Subject.String() || !key.PublicKey.Equal(certificate.PublicKey) {
		t.Errorf("Subject %s or key changed", certificate.Subject)
	}
}

func TestRenewedKubeletEndsWithItsAuthority(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	authority := newSigner(t, now, time.Hour)
	old, _ := authority.issue(t, now, nodesGroup)
	renewed := must.Get(cert.ParseCertsPEM(must.Get(renewKubelet(old, authority.node(t), now))(t)))(t)[0]
	if !renewed.NotAfter.Equal(now.Add(time.Hour)) {
		t.Errorf("It ends on %s, after its authority", renewed.NotAfter)
	}
}

// TestRenewKubeletRefuses: a Pod that took over a node can write any certificate there.
func TestRenewKubeletRefuses(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	authority, other := newSigner(t, now, time.Hour), newSigner(t, now, time.Hour)
	foreign, _ := other.issue(t, now, nodesGroup)
	admin, _ := authority.issue(t, now, "system:masters")
	for name, certificate := range map[string]*x509.Certificate{"signed by another authority": foreign, "of an administrator": admin} {
		if _, err := renewKubelet(certificate, authority.node(t), now); err == nil {
			t.Errorf("A certificate %s was signed", name)
		}
	}
}

// TestKubeletScript runs in a directory what a node runs in the kubelet's.
func TestKubeletScript(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	authority := newSigner(t, now, time.Hour)
	old, key := authority.issue(t, now, nodesGroup)
	directory := t.TempDir()
	private := must.Get(keyutil.MarshalPrivateKeyToPEM(key))(t)
	bundle := append(encode(old), private...)
	must.Succeed(t, os.WriteFile(filepath.Join(directory, "kubelet-client-2025.pem"), bundle, 0o600))
	must.Succeed(t, os.Symlink(filepath.Join(directory, "kubelet-client-2025.pem"), filepath.Join(directory, kubeletCurrent)))
	renewed := must.Get(renewKubelet(old, authority.node(t), now))(t)
	// An interrupted one may be repeated.
	for range 2 {
		command := exec.CommandContext(t.Context(), "sh", "-c", kubeletScript(directory, now))
		command.Stdin = bytes.NewReader(renewed)
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	current := filepath.Join(directory, kubeletCurrent)
	if got := must.Get(os.ReadFile(current))(t); !bytes.Equal(got, append(renewed, private...)) {
		t.Errorf("Got:\n%s", got)
	}
	info := must.Get(os.Stat(current))(t)
	if link := must.Get(os.Readlink(current))(t); filepath.Base(link) != "kubelet-client-2026-11-01-00-00-00.pem" || info.Mode().Perm() != 0o600 {
		t.Errorf("Got %s with mode %s", link, info.Mode())
	}
}
