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

package leaks_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/test/leaks"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// pair is a certificate and its key, both PEM.
func pair(t *testing.T) (certificate, key string) {
	t.Helper()
	private := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	encoded := must.Get(x509.MarshalECPrivateKey(private))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
	signed := must.Get(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))(t)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}))
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// Every form in which a value may get into a text is found, and nothing that is
// public.
func TestFind(t *testing.T) {
	t.Parallel()
	certificate, key := pair(t)
	base64Of := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	kubeconfig := "certificate-authority-data: " + base64Of(certificate) + "\nclient-key-data: " + base64Of(key) + "\ntoken: 0123456789abcdef0123456789abcdef0123456789abcdef\n"
	cloudConfig := "write_files:\n- content: |\n" + indent(key) + "\n- content: |\n" + indent(certificate) +
		"\n token: abcdef.0123456789abcdef\n hash: sha256:" + strings.Repeat("ab", 32) + "\n"
	scanner := leaks.New()
	scanner.Add("the key", []byte(key))
	scanner.Add("the kubeconfig", []byte(kubeconfig))
	scanner.Add("the bootstrap data", []byte(cloudConfig))
	scanner.Add("the certificate", []byte(certificate))
	scanner.Add("the password", []byte("correct horse"))
	scanner.Add("a word", []byte("true"))
	keyLine := strings.Split(key, "\n")[1]
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"Nothing":           {"I1123 nothing happens, true", false},
		"Certificate":       {certificate, false},
		"CertificateBase64": {base64Of(certificate), false},
		"CertificateInYAML": {indent(certificate), false},
		"Hash":              {"sha256:" + strings.Repeat("ab", 32), false},
		"Key":               {"x " + key, true},
		"KeyInYAML":         {indent(key), true},
		"KeyBase64":         {base64Of(key), true},
		"LineOfKey":         {"msg=" + keyLine + "!", true},
		"Kubeconfig":        {"a\n" + kubeconfig, true},
		"TokenOfKubeconfig": {"Bearer 0123456789abcdef0123456789abcdef0123456789abcdef", true},
		"BootstrapToken":    {"kubeadm join --token abcdef.0123456789abcdef", true},
		"HalfOfToken":       {"secret 0123456789abcdef.", true},
		"Password":          {"password=correct horse", true},
		"PasswordBase64":    {`{"password":"` + base64Of("correct horse") + `"}`, true},
	} {
		found := scanner.Find([]byte(tc.text))
		if (len(found) > 0) != tc.want {
			t.Errorf("%s: found %q", name, found)
		}
		for _, report := range found {
			if bytes.Contains([]byte(report), []byte(keyLine)) || strings.Contains(report, "correct horse") {
				t.Errorf("%s: the report has the value", name)
			}
		}
	}
}
