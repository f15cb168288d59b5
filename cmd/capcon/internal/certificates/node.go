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
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// The names of certificates that this package handles in a special way. All names are those of
// "kubeadm certs check-expiration", but for the kubelet's, which kubeadm does not list.
const (
	apiServer     = "apiserver"
	etcdClient    = "apiserver-etcd-client"
	kubeletClient = "kubelet-client"
)

// The certificate authorities of a cluster by the names of their files, without extension.
const (
	authority           = "pki/ca"
	etcdAuthority       = "pki/etcd/ca"
	frontProxyAuthority = "pki/front-proxy-ca"
)

// known are the files below /etc/kubernetes that have a certificate. A table, and not
// what exists: names from a node are not printed on a user's terminal.
var known = []struct{ file, name, signer string }{
	{"admin.conf", "admin.conf", authority},
	{"super-admin.conf", "super-admin.conf", authority},
	{"controller-manager.conf", "controller-manager.conf", authority},
	{"scheduler.conf", "scheduler.conf", authority},
	{"pki/apiserver.crt", apiServer, authority},
	{"pki/apiserver-kubelet-client.crt", "apiserver-kubelet-client", authority},
	{"pki/apiserver-etcd-client.crt", etcdClient, etcdAuthority},
	{"pki/etcd/server.crt", "etcd-server", etcdAuthority},
	{"pki/etcd/peer.crt", "etcd-peer", etcdAuthority},
	{"pki/etcd/healthcheck-client.crt", "etcd-healthcheck-client", etcdAuthority},
	{"pki/front-proxy-client.crt", "front-proxy-client", frontProxyAuthority},
	{authority + ".crt", "ca", ""},
	{etcdAuthority + ".crt", "etcd-ca", ""},
	{frontProxyAuthority + ".crt", "front-proxy-ca", ""},
}

// Certificate in a node.
type Certificate struct {
	Name string
	// NotBefore and NotAfter are its own.
	NotBefore, NotAfter time.Time
	// Authority says that it signs others.
	Authority bool
	// external says that the node does not have the key of the authority that signed it.
	external bool
	// written is when its file was.
	written time.Time
	parsed  *x509.Certificate
}

// renewable reports whether kubeadm renews it.
func (c Certificate) renewable() bool {
	return !c.Authority && !c.external && c.Name != kubeletClient
}

// Node is what a node's container has.
type Node struct {
	Container    string
	Certificates []Certificate
	// components are those whose static Pods kubeadm set up.
	components []string
	// authority and its key in PEM; nil where the node does not have them.
	authority, authorityKey []byte
}

// find the certificate of a name; false where the node has none.
func (n Node) find(name string) (Certificate, bool) {
	i := slices.IndexFunc(n.Certificates, func(c Certificate) bool { return c.Name == name })
	if i < 0 {
		return Certificate{}, false
	}
	return n.Certificates[i], true
}

// APIServer returns when the certificate of the API server ends, which is the date that
// Cluster API records; false where the node has none.
func (n Node) APIServer() (time.Time, bool) {
	certificate, ok := n.find(apiServer)
	return certificate.NotAfter, ok
}

// First returns the certificate of the control plane that ends first; false where there is
// none. The kubelet renews its own, and authorities cannot be renewed.
func (n Node) First() (first Certificate, ok bool) {
	for _, certificate := range n.Certificates {
		if certificate.renewable() && (!ok || certificate.NotAfter.Before(first.NotAfter)) {
			first, ok = certificate, true
		}
	}
	return first, ok
}

// CheckRenewable returns why kubeadm cannot renew the certificates of a control plane.
func (n Node) CheckRenewable() error {
	if _, ok := n.find(apiServer); !ok {
		return fmt.Errorf("node %s has no certificates of kubeadm: renew them with the tool that set up the control plane", n.Container)
	}
	for _, certificate := range n.Certificates {
		// With an external etcd, its client certificate is the user's.
		isForeign := certificate.Name == etcdClient && !slices.Contains(n.components, etcd)
		if certificate.external && !isForeign {
			return fmt.Errorf("node %s does not have the key of the authority that signed %s: renew the certificates with your external authority",
				n.Container, certificate.Name)
		}
	}
	return nil
}

// Due reports whether a certificate is in the second half of its life, which is when
// Cluster API renews that of its kubeconfig.
func (n Node) Due(now time.Time) bool {
	_, due := n.FirstDue(now)
	return due
}

// FirstDue returns the certificate that ends first of those that are due; false where none is.
func (n Node) FirstDue(now time.Time) (Certificate, bool) {
	due := Node{Certificates: slices.DeleteFunc(slices.Clone(n.Certificates), func(c Certificate) bool {
		return c.NotAfter.Sub(now) >= c.NotAfter.Sub(c.NotBefore)/2
	})}
	return due.First()
}

// renewed is when the newest certificate that kubeadm renews was written: components that
// started before it may still use its predecessor.
func (n Node) renewed() time.Time {
	var newest time.Time
	for _, certificate := range n.Certificates {
		if certificate.renewable() && certificate.written.After(newest) {
			newest = certificate.written
		}
	}
	return newest
}
