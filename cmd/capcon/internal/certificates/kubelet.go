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
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// kubeletLifetime is that of certificates which the controller manager issues by default.
	kubeletLifetime = 365 * 24 * time.Hour
	// backdate allows small differences of clocks, as kubeadm does.
	backdate = 5 * time.Minute
	// nodesGroup of Kubernetes: https://kubernetes.io/docs/reference/access-authn-authz/node/
	nodesGroup = "system:nodes"
)

// KubeletEnded reports whether the kubelet's client certificate has ended, as after a year in
// which the cluster was stopped. The kubelet renews it in time, but not afterwards: it needs
// the old one for that, and does not start without.
func (n Node) KubeletEnded(now time.Time) bool {
	certificate, ok := n.find(kubeletClient)
	return ok && !now.Before(certificate.NotAfter)
}

// RenewKubelet renews the client certificate of a node's kubelet, for its old key, with the
// authority of a control plane node, and restarts the kubelet.
func RenewKubelet(ctx context.Context, containers engine.Executor, node, controlPlane Node, now time.Time) error {
	certificate, _ := node.find(kubeletClient)
	renewed, err := renewKubelet(certificate.parsed, controlPlane, now)
	if err != nil {
		return fmt.Errorf("renew the certificate of the kubelet of node %s: %w", node.Container, err)
	}
	command := engine.Command{Args: []string{"sh", "-c", kubeletScript(kubeletDirectory, now)}, Stdin: bytes.NewReader(renewed)}
	if _, err := runWith(ctx, containers, node.Container, command); err != nil {
		return fmt.Errorf("write the certificate of the kubelet of node %s: %w", node.Container, err)
	}
	return RestartKubelet(ctx, containers, node.Container)
}

// kubeletScript puts a certificate into the place of the kubelet's, with the names that it gives
// its files. The link is replaced in one step.
func kubeletScript(directory string, now time.Time) string {
	return `set -e
cd ` + directory + `
umask 077
new=kubelet-client-` + now.UTC().Format("2006-01-02-15-04-05") + `.pem
{ cat; sed -n '/PRIVATE KEY-----$/,/PRIVATE KEY-----$/p' ` + kubeletCurrent + `; } > renewed.tmp
mv renewed.tmp "$new"
ln -s -f "$PWD/$new" renewed.pem
mv -T renewed.pem ` + kubeletCurrent
}

// renewKubelet signs the old certificate's content again, in PEM.
func renewKubelet(old *x509.Certificate, controlPlane Node, now time.Time) ([]byte, error) {
	authorities, err := cert.ParseCertsPEM(controlPlane.authority)
	if err != nil {
		return nil, fmt.Errorf("parse the authority's certificate: %w", err)
	}
	// A process that controls the node controls this file too: only what the authority signed before
	// for a node is signed again.
	if err := old.CheckSignatureFrom(authorities[0]); err != nil || !slices.Equal(old.Subject.Organization, []string{nodesGroup}) {
		return nil, errors.New("it is not a certificate of a node that the cluster's authority signed")
	}
	private, err := keyutil.ParsePrivateKeyPEM(controlPlane.authorityKey)
	if err != nil {
		return nil, errors.New("parse the authority's key: invalid") // err may quote it
	}
	key, ok := private.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the authority's key of type %T cannot sign", private)
	}
	const serialBits = 127
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("choose serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: old.Subject, KeyUsage: old.KeyUsage, ExtKeyUsage: old.ExtKeyUsage,
		BasicConstraintsValid: true, NotBefore: now.Add(-backdate), NotAfter: now.Add(kubeletLifetime),
	}
	if end := authorities[0].NotAfter; end.Before(template.NotAfter) {
		template.NotAfter = end
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, authorities[0], old.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: signed}), nil
}
