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

package memory

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/cluster-api/util/certs"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	nodespec "github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// node is what kubeadm made of a container.
type node struct {
	name, providerID, version, address string
	labels                             map[string]string
	taints                             []corev1.Taint
	controlPlane                       bool
	// clusterCA and etcdCA of a control plane.
	clusterCA, etcdCA authority
	// serves says that its API server and its member of etcd run.
	serves bool
}

// authority is one of the certificate authorities of a cluster.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// versionTag is a version of Kubernetes in the reference of a node image.
var versionTag = regexp.MustCompile(`:(v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.-]*)`)

var errNoVersion = errors.New("the tag of the node image has no version of Kubernetes, which a node in memory is made from")

// versionOf Kubernetes in a node image: that of its tag, or that which stands for the image.
func versionOf(image string) (string, error) {
	if found := versionTag.FindStringSubmatch(image); found != nil {
		return found[1], nil
	}
	for _, known := range nodespec.KnownVersions() {
		if chosen, err := nodespec.Image(known); err == nil && chosen == image {
			return known, nil
		}
	}
	return "", fmt.Errorf("image %q: %w", image, errNoVersion)
}

// newNode is the node that a container becomes.
func newNode(container engine.Container, hostname, image string, data bootstrapData) (*node, error) {
	version, err := versionOf(image)
	if err != nil {
		return nil, err
	}
	n := &node{
		name: hostname, providerID: data.providerID(), version: version, address: container.Labels[identity.LabelAddress],
		labels: data.nodeLabels(), taints: slices.Clone(data.registration.Taints), controlPlane: data.operation != operationJoinWorker,
	}
	if data.registration.Name != "" {
		n.name = data.registration.Name
	}
	if !n.controlPlane {
		return n, nil
	}
	if n.taints == nil {
		n.taints = []corev1.Taint{{Key: controlPlaneLabel, Effect: corev1.TaintEffectNoSchedule}}
	}
	var etcdErr error
	n.clusterCA, err = readAuthority(data.files, "/etc/kubernetes/pki/ca")
	n.etcdCA, etcdErr = readAuthority(data.files, "/etc/kubernetes/pki/etcd/ca")
	return n, errors.Join(err, etcdErr)
}

func readAuthority(files map[string]string, name string) (authority, error) {
	certificate, err := certs.DecodeCertPEM([]byte(files[name+".crt"]))
	if err == nil && certificate == nil {
		err = errors.New("it is no certificate")
	}
	if err != nil {
		return authority{}, fmt.Errorf("read %s.crt: %w", name, err)
	}
	key, err := certs.DecodePrivateKeyPEM([]byte(files[name+".key"]))
	if err != nil {
		return authority{}, fmt.Errorf("read %s.key: %w", name, err)
	}
	return authority{certificate, key}, nil
}
