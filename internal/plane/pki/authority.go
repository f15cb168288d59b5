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

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// ErrUnreadable means that a file holds no key or certificate. It is not
// replaced, since everything that trusts it would stop to.
var ErrUnreadable = errors.New("has no usable key and certificate")

// Authority issues certificates.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	path        string
}

// EnsureAuthority reads the authority of that name from dir, or makes it: for
// ten years, longer than any plane lives. Alongside <name>.pem, which holds the
// key, it writes <name>.crt, which holds only the certificate.
func EnsureAuthority(dir, name string) (*Authority, error) {
	path := filepath.Join(dir, name+".pem")
	bundle, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		bundle, err = createAuthority(path, name)
	}
	if err != nil {
		return nil, fmt.Errorf("ensure authority %s: %w", name, err)
	}
	certificate, key, err := parseBundle(bundle)
	if err != nil {
		return nil, fmt.Errorf("read authority %s: %s: %w", name, path, err)
	}
	a := &Authority{certificate: certificate, key: key, path: filepath.Join(dir, name+".crt")}
	if err := WriteFile(a.path, a.CertificatePEM()); err != nil {
		return nil, fmt.Errorf("ensure authority %s: %w", name, err)
	}
	return a, nil
}

// CertificatePEM is the authority's own certificate.
func (a *Authority) CertificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: a.certificate.Raw})
}

// Path is the file of the authority's own certificate.
func (a *Authority) Path() string { return a.path }

func createAuthority(path, name string) ([]byte, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "capcon-plane " + name}, key)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	bundle, err := marshalBundle(certificate.Raw, key)
	if err != nil {
		return nil, err
	}
	return bundle, WriteFile(path, bundle)
}

// newKey makes an ECDSA key on P-256: as strong as RSA with 3072 bits, and
// made in no time.
func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	return key, nil
}

func marshalBundle(certificate []byte, key crypto.Signer) ([]byte, error) {
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: certificate}), private...), nil
}

// parseBundle reads a certificate and its key; its errors never quote them.
func parseBundle(bundle []byte) (*x509.Certificate, crypto.Signer, error) {
	certificates, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(bundle)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, nil, fmt.Errorf("%w: a key of type %T cannot sign", ErrUnreadable, parsed)
	}
	if public, ok := certificates[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(key.Public()) {
		return nil, nil, fmt.Errorf("%w: key does not match certificate", ErrUnreadable)
	}
	return certificates[0], key, nil
}
