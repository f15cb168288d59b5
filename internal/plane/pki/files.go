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
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/moby/sys/atomicwriter"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

// EnsureToken reads the token of a file, or makes it.
func EnsureToken(path string) (string, error) {
	token, err := os.ReadFile(path)
	if err == nil && len(bytes.TrimSpace(token)) > 0 {
		return string(bytes.TrimSpace(token)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read token: %w", err)
	}
	made := rand.Text()
	return made, WriteFile(path, []byte(made+"\n"))
}

// EnsureKey makes a private key if the file is missing.
func EnsureKey(path string) error {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	encoded, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("generate key: %w", err)
	}
	return WriteFile(path, encoded)
}

// Kubeconfig for a server that the authority certified, and a user known by a
// token.
func (a *Authority) Kubeconfig(server, name, user, token string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: a.CertificatePEM()}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	encoded, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode kubeconfig: %w", err)
	}
	return encoded, nil
}

// WriteFile replaces a file in one step, readable by its owner only. What it
// held before is there until all of the new content is on disk. A file that
// has the content is left alone, so that no watcher of it wakes up.
func WriteFile(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return os.Chmod(path, 0o600)
	}
	if err := atomicwriter.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
