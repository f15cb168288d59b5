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

package simulatednode

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func (p *ControlPlane) renew(container string) error {
	for name, files := range signed {
		for _, file := range files {
			certificate, key, err := p.issue(name, pkix.Name{CommonName: file})
			if err != nil {
				return err
			}
			content := encode(certificate)
			if strings.HasSuffix(file, ".conf") {
				if content, err = kubeconfigOf(content, key); err != nil {
					return err
				}
			}
			if err := p.write(container, kubernetes+file, content); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *ControlPlane) issue(signer string, subject pkix.Name) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: subject, NotBefore: p.now().Add(-5 * time.Minute), NotAfter: p.now().Add(year),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	by := p.authorities[signer]
	certificate, err := x509.CreateCertificate(rand.Reader, template, by.certificate, key.Public(), by.key)
	return certificate, key, err
}

// Kubeconfig with a client certificate that ends in a year.
func (p *ControlPlane) Kubeconfig() ([]byte, error) {
	certificate, key, err := p.issue("pki/ca", pkix.Name{CommonName: "kubernetes-admin"})
	if err != nil {
		return nil, err
	}
	return kubeconfigOf(encode(certificate), key)
}

func kubeconfigOf(certificate []byte, key *ecdsa.PrivateKey) ([]byte, error) {
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["demo"] = &clientcmdapi.Cluster{Server: "https://172.18.0.9:6443"}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: private}
	config.Contexts["admin@demo"] = &clientcmdapi.Context{Cluster: "demo", AuthInfo: "admin"}
	config.CurrentContext = "admin@demo"
	return clientcmd.Write(*config)
}

func (p *ControlPlane) replaceKubelet(container string, stdin io.Reader) error {
	certificate, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	before, err := p.engine.ReadFile(container, kubeletCurrent)
	if err != nil {
		return err
	}
	_, key := pem.Decode(before)
	return p.kubelet(container, append(certificate, key...))
}

func (p *ControlPlane) end(container, file string) time.Time {
	content, err := p.engine.ReadFile(container, file)
	if err != nil {
		return time.Time{}
	}
	certificates, err := cert.ParseCertsPEM(content)
	if err != nil {
		return time.Time{}
	}
	return certificates[0].NotAfter
}

func encode(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: certificate})
}
