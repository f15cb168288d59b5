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
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
)

// KubeletDefaults is the file the kubelet's unit reads KUBELET_EXTRA_ARGS from, in kindest/node and in Kubernetes'
// own packages.
const KubeletDefaults = "/etc/default/kubelet"

var cloudProviderFlag = regexp.MustCompile(`--cloud-provider[= ]["']?([^\s"']+)`)

// Argument is a flag of the kubelet without its dashes.
type Argument struct {
	Name, Value string
}

// KubeletArguments returns the arguments the user gives the kubelet through kubeadm: a mapping in v1beta3, a list of
// name and value in v1beta4.
func (c Config) KubeletArguments() []Argument {
	var arguments []Argument
	for document := range c.kubeadmDocuments() {
		registration := document.get("nodeRegistration")
		if !isRegistration(document) || registration == nil {
			continue
		}
		if extra := reader.Lookup(registration, "kubeletExtraArgs"); extra != nil {
			arguments = append(arguments, readArguments(extra)...)
		}
	}
	return arguments
}

func readArguments(extra *yaml.Node) []Argument {
	var arguments []Argument
	if extra.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(extra.Content); i += 2 {
			arguments = append(arguments, Argument{extra.Content[i].Value, reader.Deref(extra.Content[i+1]).Value})
		}
		return arguments
	}
	for _, item := range extra.Content {
		name, value := reader.Lookup(reader.Deref(item), "name"), reader.Lookup(reader.Deref(item), "value")
		if name != nil && value != nil {
			arguments = append(arguments, Argument{name.Value, value.Value})
		}
	}
	return arguments
}

// ExternalCloudProvider reports whether the user configured the kubelet, in kubeadm's nodeRegistration or in
// /etc/default/kubelet, for a cloud controller that completes its Node. The last of equal flags counts.
func (c Config) ExternalCloudProvider() bool {
	provider := ""
	for _, arg := range c.KubeletArguments() {
		if arg.Name == "cloud-provider" {
			provider = arg.Value
		}
	}
	for _, file := range c.Files {
		if file.Path != KubeletDefaults {
			continue
		}
		for _, match := range cloudProviderFlag.FindAllSubmatch(file.Content, -1) {
			provider = string(match[1])
		}
	}
	return provider == "external"
}
