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

package bootstrap

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	kubeletGroup         = "kubelet.config.k8s.io/"
	kubeletConfiguration = "KubeletConfiguration"
	// kubeletPatch is how kubeadm's patches of the kubelet's configuration are named: with a suffix for the order, and
	// with the type, such as kubeletconfiguration0+merge.yaml.
	kubeletPatch = "kubeletconfiguration"
)

// kubeletFields are the fields of the kubelet's configuration that flags of a node would override.
var kubeletFields = map[string]string{
	"cgroup-root":             "cgroupRoot",
	"eviction-hard":           "evictionHard",
	"fail-cgroupv1":           "failCgroupV1",
	"fail-swap-on":            "failSwapOn",
	"feature-gates":           "featureGates",
	"image-gc-high-threshold": "imageGCHighThresholdPercent",
	"provider-id":             "providerID",
	"system-reserved":         "systemReserved",
}

// kubeletSettings are the fields of the kubelet's configuration that the user sets, such as failSwapOn and
// featureGates/Name.
type kubeletSettings map[string]bool

// have reports whether the flag would override a setting. The kubelet merges feature gates of flags and configuration;
// a flag replaces the other maps as a whole.
func (s kubeletSettings) have(flag string) bool {
	name, key, _ := cutFlag(flag)
	field, exists := kubeletFields[name]
	if exists && name == "feature-gates" {
		field += "/" + key
	}
	return exists && s[field]
}

// kubeletSettings are in documents of kind KubeletConfiguration, be it in kubeadm's file or in a directory of drop-ins,
// and in kubeadm's directory of patches.
func (c Config) kubeletSettings() kubeletSettings {
	directories, settings := c.patchDirectories(), kubeletSettings{}
	for _, file := range c.Files {
		isPatch := strings.HasPrefix(path.Base(file.Path), kubeletPatch) && slices.Contains(directories, path.Dir(file.Path))
		if !isPatch && !bytes.Contains(file.Content, []byte(kubeletGroup)) {
			continue
		}
		for _, part := range splitDocuments(string(file.Content)) {
			settings.addDocument(part, isPatch)
		}
	}
	return settings
}

// addDocument of a file. isPatch says that the file is a patch of the kubelet's configuration.
func (s kubeletSettings) addDocument(part document, isPatch bool) {
	var node yaml.Node
	// What cannot be read is reported by kubeadm.
	if unmarshal([]byte(part.text), &node) != nil || len(node.Content) != 1 {
		return
	}
	part.root = node.Content[0]
	switch {
	case isPatch && part.root.Kind == yaml.SequenceNode:
		s.addOperations(part.root)
	case part.root.Kind == yaml.MappingNode && (isPatch || part.is(kubeletGroup, kubeletConfiguration)):
		s.addFields(part.root)
	}
}

// patchDirectories are those that kubeadm's documents name.
func (c Config) patchDirectories() []string {
	var directories []string
	for document := range c.kubeadmDocuments() {
		patches := document.get("patches")
		if !isRegistration(document) || patches == nil {
			continue
		}
		if directory := lookup(patches, "directory"); directory != nil {
			directories = append(directories, path.Clean(directory.Value))
		}
	}
	return directories
}

// addFields of a configuration or of a patch that is merged into it.
func (s kubeletSettings) addFields(mapping *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		field, value := mapping.Content[i].Value, deref(mapping.Content[i+1])
		if isNull(value) {
			continue
		}
		s[field] = true
		if value.Kind != yaml.MappingNode {
			continue
		}
		for j := 0; j+1 < len(value.Content); j += 2 {
			s[field+"/"+value.Content[j].Value] = true
		}
	}
}

// addOperations of a JSON patch.
func (s kubeletSettings) addOperations(operations *yaml.Node) {
	for _, operation := range operations.Content {
		operation = deref(operation)
		if operation.Kind != yaml.MappingNode {
			continue
		}
		pointer, value := lookup(operation, "path"), lookup(operation, "value")
		if pointer == nil || value == nil {
			continue
		}
		field, key, isNested := strings.Cut(strings.TrimPrefix(pointer.Value, "/"), "/")
		s.addFields(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: field}, value}})
		if isNested {
			s[field+"/"+key] = true
		}
	}
}
