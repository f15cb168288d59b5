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
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"sigs.k8s.io/cluster-api/util/certs"
)

var (
	errNoCertificate = errors.New("it is no certificate")
	errNoRSA         = errors.New("it is not of RSA, which Cluster API's servers in memory need")
)

// bootstrapData is what a server gets for kubeadm.
type bootstrapData struct {
	kubeadm              bool
	clusterConfiguration string
	// providerID of the kubelet's configuration.
	providerID string
	// clusterCA and etcdCA of a control plane; others have none.
	clusterCA, etcdCA authority
}

type authority struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
}

func (d bootstrapData) controlPlane() bool { return d.clusterCA.certificate != nil }

// hostname is the variable of cloud-init for the server's name. YAML folds a long line within the braces.
var hostname = regexp.MustCompile(`{{\s*ds\.meta_data\.(local_)?hostname\s*}}`)

// read bootstrap data, a cloud-config, as the server of a name does.
func read(data []byte, name string) (bootstrapData, error) {
	data = hostname.ReplaceAll(data, []byte(name))
	var config struct {
		Files []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		} `json:"write_files"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		return bootstrapData{}, fmt.Errorf("read cloud-config: %w", err)
	}
	read, files := bootstrapData{}, map[string]string{}
	for _, file := range config.Files {
		files[file.Path] = file.Content
		for document := range strings.SplitSeq("\n"+file.Content, "\n---") {
			if !strings.Contains(document, "kubeadm.k8s.io/") {
				continue
			}
			if err := read.add(document); err != nil {
				return bootstrapData{}, err
			}
		}
	}
	const clusterCA, etcdCA = "/etc/kubernetes/pki/ca", "/etc/kubernetes/pki/etcd/ca"
	if files[clusterCA+".key"] == "" {
		return read, nil
	}
	var err, etcdErr error
	read.clusterCA, err = readAuthority(files, clusterCA)
	read.etcdCA, etcdErr = readAuthority(files, etcdCA)
	return read, errors.Join(err, etcdErr)
}

// add a document of kubeadm's configuration.
func (d *bootstrapData) add(document string) error {
	var config struct {
		Kind             string `json:"kind"`
		NodeRegistration struct {
			KubeletExtraArgs []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"kubeletExtraArgs"`
		} `json:"nodeRegistration"`
	}
	if err := yaml.Unmarshal([]byte(document), &config); err != nil {
		return fmt.Errorf("read configuration of kubeadm: %w", err)
	}
	d.kubeadm = true
	if config.Kind == "ClusterConfiguration" {
		d.clusterConfiguration = strings.TrimSpace(document) + "\n"
	}
	for _, argument := range config.NodeRegistration.KubeletExtraArgs {
		if argument.Name == "provider-id" {
			d.providerID = argument.Value
		}
	}
	return nil
}

func readAuthority(files map[string]string, name string) (authority, error) {
	certificate, err := certs.DecodeCertPEM([]byte(files[name+".crt"]))
	if err == nil && certificate == nil {
		err = errNoCertificate
	}
	if err != nil {
		return authority{}, fmt.Errorf("read %s.crt: %w", name, err)
	}
	signer, err := certs.DecodePrivateKeyPEM([]byte(files[name+".key"]))
	if err != nil {
		return authority{}, fmt.Errorf("read %s.key: %w", name, err)
	}
	key, ok := signer.(*rsa.PrivateKey)
	if !ok {
		return authority{}, fmt.Errorf("read %s.key: %w", name, errNoRSA)
	}
	return authority{certificate, key}, nil
}
