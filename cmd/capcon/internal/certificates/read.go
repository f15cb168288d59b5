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
	"archive/tar"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	kubernetesDirectory = "/etc/kubernetes"
	kubeletDirectory    = "/var/lib/kubelet/pki"
	// kubeletCurrent is a symbolic link to the file with the kubelet's certificate and key.
	kubeletCurrent = "kubelet-client-current.pem"
)

// Read the certificates of a node, whether its container runs or not. A container without any
// has none, which is no error.
func Read(ctx context.Context, containers engine.Archiver, container string) (Node, error) {
	files, err := download(ctx, containers, container, kubernetesDirectory)
	if err != nil {
		return Node{}, err
	}
	kubelet, err := download(ctx, containers, container, kubeletDirectory)
	if err != nil {
		return Node{}, err
	}
	node := Node{
		Container: container,
		authority: files[authority+".crt"].content, authorityKey: files[authority+".key"].content,
	}
	for _, component := range Components() {
		if _, found := files["manifests/"+component+".yaml"]; found {
			node.components = append(node.components, component)
		}
	}
	for _, entry := range known {
		file, found := files[entry.file]
		if !found {
			continue
		}
		certificate, err := parse(entry.name, file)
		if err != nil {
			return Node{}, fmt.Errorf("read %s in container %q: %w", entry.file, container, err)
		}
		certificate.Authority = entry.signer == ""
		certificate.external = !certificate.Authority && len(files[entry.signer+".key"].content) == 0
		node.Certificates = append(node.Certificates, certificate)
	}
	if file, found := kubelet[path.Base(kubelet[kubeletCurrent].link)]; found {
		certificate, err := parse(kubeletClient, file)
		if err != nil {
			return Node{}, fmt.Errorf("read %s in container %q: %w", kubeletCurrent, container, err)
		}
		node.Certificates = append(node.Certificates, certificate)
	}
	return node, nil
}

// file of a container.
type file struct {
	content []byte
	written time.Time
	// link is where a symbolic link leads to.
	link string
}

// download the files of a directory, by their paths in it. Absent: none.
func download(ctx context.Context, containers engine.Archiver, container, directory string) (_ map[string]file, err error) {
	stream, err := containers.Download(ctx, container, directory)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of container %q: %w", directory, container, err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	files := map[string]file{}
	archive := tar.NewReader(stream)
	// What runs in a container may write without end.
	var total engine.Buffer
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s of container %q: %w", directory, container, err)
		}
		start := len(total.Bytes())
		if _, err := io.Copy(&total, archive); err != nil {
			return nil, fmt.Errorf("read %s of container %q: %w", directory, container, err)
		}
		_, name, _ := strings.Cut(path.Clean(header.Name), "/")
		files[name] = file{content: total.Bytes()[start:], written: header.ModTime, link: header.Linkname}
	}
}

// parse the certificate of a file, which is a kubeconfig by its name.
func parse(name string, from file) (Certificate, error) {
	text := from.content
	if strings.HasSuffix(name, ".conf") {
		var err error
		if text, err = clientOf(text); err != nil {
			return Certificate{}, err
		}
	}
	parsed, err := cert.ParseCertsPEM(text)
	if err != nil {
		return Certificate{}, fmt.Errorf("parse certificate: %w", err)
	}
	return certificateOf(name, parsed[0], from.written), nil
}

func certificateOf(name string, parsed *x509.Certificate, written time.Time) Certificate {
	return Certificate{Name: name, NotBefore: parsed.NotBefore, NotAfter: parsed.NotAfter, written: written, parsed: parsed}
}

// clientOf a kubeconfig is the certificate of its user.
func clientOf(kubeconfig []byte) ([]byte, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, errors.New("parse kubeconfig: invalid") // err may quote it
	}
	for _, user := range config.AuthInfos {
		if len(user.ClientCertificateData) > 0 {
			return user.ClientCertificateData, nil
		}
	}
	return nil, errors.New("the kubeconfig has no client certificate")
}

// OfKubeconfig returns the certificate that is embedded in a kubeconfig.
func OfKubeconfig(kubeconfig []byte) (Certificate, error) {
	return parse("kubeconfig.conf", file{content: kubeconfig})
}
