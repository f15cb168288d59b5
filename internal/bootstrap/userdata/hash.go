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

package userdata

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
)

// hashVersion begins each hash. Another one says that hashes of earlier releases cannot be compared: change it with
// anything that changes the hash of the same data.
const hashVersion = "1-"

// SameVersion reports whether two hashes can be compared.
func SameVersion(a, b string) bool {
	return strings.HasPrefix(a, hashVersion) && strings.HasPrefix(b, hashVersion)
}

// Hash identifies what the configuration asks for. Data that differs only in what a bootstrap provider renews has the
// same hash: how kubeadm join finds and trusts the cluster. Passwords are not part of it, since they could be guessed
// from it.
func (c Config) Hash() (string, error) {
	c.Files, c.Users, c.Groups = slices.Clone(c.Files), slices.Clone(c.Users), slices.Clone(c.Groups)
	for i := range c.Users {
		c.Users[i].PasswordHash, c.Users[i].NewPasswordHash, c.Users[i].NewPassword = "", "", ""
	}
	for i := range c.Groups {
		c.Groups[i].PasswordHash = ""
	}
	var renewed []string
	for i, file := range c.Files {
		documents, err := kubeadmDocuments(file.Content)
		if err != nil {
			return "", err
		}
		paths, content, err := documents.withoutDiscovery()
		if err != nil {
			return "", err
		}
		if len(documents) > 0 {
			c.Files[i].Content = content
		}
		renewed = append(renewed, paths...)
	}
	for i, file := range c.Files {
		if slices.Contains(renewed, file.Path) {
			c.Files[i].Content = nil
		}
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode configuration: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return hashVersion + hex.EncodeToString(sum[:8]), nil
}

// withoutDiscovery returns the documents without what finds the cluster, and the paths of kubeconfigs that do.
func (d documents) withoutDiscovery() (paths []string, _ []byte, _ error) {
	var out bytes.Buffer
	for _, document := range d {
		out.WriteString(document.marker)
		if !document.is(kubeadmGroup, kindJoin) {
			out.WriteString(document.text)
			continue
		}
		if discovery := document.get("discovery"); discovery != nil {
			if file := reader.Lookup(discovery, "file"); file != nil {
				if path := reader.Lookup(file, "kubeConfigPath"); path != nil {
					paths = append(paths, path.Value)
				}
			}
		}
		removeKey(document.root, "discovery")
		if err := document.encode(&out); err != nil {
			return nil, nil, err
		}
	}
	return paths, out.Bytes(), nil
}

func removeKey(mapping *yaml.Node, key string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}
