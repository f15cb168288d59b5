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
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

// clockSkew by which a certificate is valid before it is issued.
const clockSkew = time.Minute

// Certificate is the desired certificate of a file.
type Certificate struct {
	// Path of the file, which holds certificate and key.
	Path string
	// CommonName of the subject.
	CommonName string
	// Names and Addresses it is valid for. It is reissued when one is
	// added, not when one goes.
	Names     []string
	Addresses []net.IP
	// Usages such as x509.ExtKeyUsageServerAuth.
	Usages []x509.ExtKeyUsage
	// Lifetime of the certificate. It is reissued when less than a third
	// of it remains.
	Lifetime time.Duration
}

// Ensure issues the certificate if its file does not hold one that will do at
// the time now, and reports whether it did.
func (a *Authority) Ensure(c Certificate, now time.Time) (issued bool, err error) {
	bundle, err := os.ReadFile(c.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read certificate: %w", err)
	}
	if err == nil && a.serves(bundle, c, now) {
		return false, nil
	}
	bundle, err = a.issue(c, now)
	if err != nil {
		return false, fmt.Errorf("issue certificate %s: %w", c.CommonName, err)
	}
	if err := WriteFile(c.Path, bundle); err != nil {
		return false, fmt.Errorf("issue certificate %s: %w", c.CommonName, err)
	}
	return true, nil
}

// serves reports whether the bundle is what is asked for. What cannot be read
// does not serve: a leaf is easily replaced.
func (a *Authority) serves(bundle []byte, c Certificate, now time.Time) bool {
	certificate, _, err := parseBundle(bundle)
	if err != nil || certificate.CheckSignatureFrom(a.certificate) != nil {
		return false
	}
	if certificate.NotAfter.Sub(now) < c.Lifetime/3 || certificate.NotBefore.After(now) {
		return false
	}
	for _, name := range c.Names {
		if certificate.VerifyHostname(name) != nil {
			return false
		}
	}
	for _, address := range c.Addresses {
		if certificate.VerifyHostname(address.String()) != nil {
			return false
		}
	}
	return certificate.Subject.CommonName == c.CommonName
}

func (a *Authority) issue(c Certificate, now time.Time) ([]byte, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("choose serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: c.CommonName},
		DNSNames:     c.Names,
		IPAddresses:  c.Addresses,
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(c.Lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  c.Usages,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return marshalBundle(certificate, key)
}
