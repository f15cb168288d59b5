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
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kubeletDefaults is the file the kubelet's unit reads KUBELET_EXTRA_ARGS from, in kindest/node and in Kubernetes'
// own packages.
const kubeletDefaults = "/etc/default/kubelet"

// kubeletFlag matches flags that mean the same in an environment file of systemd, with and without quotes.
var kubeletFlag = regexp.MustCompile(`^--[a-z0-9-]+(=[A-Za-z0-9_.:/,=<>%+@~-]*)?$`)

var cloudProviderFlag = regexp.MustCompile(`--cloud-provider[= ]["']?([^\s"']+)`)

// kubeletFields are the fields of the kubelet's configuration that flags of a node would override. Where a flag holds a
// feature gate, its name is meant: the kubelet merges gates of flags and configuration, and no other map.
var kubeletFields = map[string]string{
	"cgroup-root":             "cgroupRoot",
	"eviction-hard":           "evictionHard",
	"fail-cgroupv1":           "failCgroupV1",
	"fail-swap-on":            "failSwapOn",
	"image-gc-high-threshold": "imageGCHighThresholdPercent",
	"provider-id":             "providerID",
	"system-reserved":         "systemReserved",
}

// kubeletSettings are lines of a flag and what the kubelet's configuration sets it by. What the configuration is, only the
// node knows: kubeadm downloads it from the cluster.
func kubeletSettings(flags []string) string {
	var settings []string
	for _, flag := range flags {
		name, key, _ := cutFlag(flag)
		field, exists := kubeletFields[name]
		if name == "feature-gates" {
			field, exists = key, true
		}
		if exists {
			settings = append(settings, flag+" "+field)
		}
	}
	return lines(settings)
}

// kubeletFlags returns the flags without those the user set in kubeadm's kubeletExtraArgs. The kubelet takes the last of
// equal flags, and KUBELET_EXTRA_ARGS come after kubeadm's.
func (in Input) kubeletFlags() ([]string, error) {
	arguments := in.Config.kubeletExtraArgs()
	var flags []string
	for _, flag := range in.KubeletFlags {
		if !kubeletFlag.MatchString(flag) {
			return nil, fmt.Errorf("kubelet flag %q is not --name or --name=value without spaces and quotes", flag)
		}
		if !givenByUser(flag, arguments) {
			flags = append(flags, flag)
		}
	}
	return flags, nil
}

// givenByUser reports whether one of the arguments has the flag: the same key of a flag that holds a pair.
func givenByUser(flag string, user []argument) bool {
	name, key, isPair := cutFlag(flag)
	for _, arg := range user {
		// The kubelet takes an underscore for a dash.
		if strings.ReplaceAll(arg.name, "_", "-") != name {
			continue
		}
		if !isPair {
			return true
		}
		for pair := range strings.SplitSeq(arg.value, ",") {
			given, _, _ := strings.Cut(pair, "=")
			if strings.TrimSpace(given) == key {
				return true
			}
		}
	}
	return false
}

// cutFlag returns the name of a flag, and the key of one that holds a pair.
func cutFlag(flag string) (name, key string, isPair bool) {
	name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
	key, _, isPair = strings.Cut(value, "=")
	return name, key, isPair
}

// argument is a flag of the kubelet without its dashes.
type argument struct {
	name, value string
}

// kubeletExtraArgs returns the arguments the user gives the kubelet through kubeadm: a mapping in v1beta3, a list of
// name and value in v1beta4.
func (c Config) kubeletExtraArgs() []argument {
	var arguments []argument
	for document := range c.kubeadmDocuments() {
		registration := document.get("nodeRegistration")
		if !isRegistration(document) || registration == nil {
			continue
		}
		if extra := lookup(registration, "kubeletExtraArgs"); extra != nil {
			arguments = append(arguments, readArguments(extra)...)
		}
	}
	return arguments
}

func readArguments(extra *yaml.Node) []argument {
	var arguments []argument
	if extra.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(extra.Content); i += 2 {
			arguments = append(arguments, argument{extra.Content[i].Value, deref(extra.Content[i+1]).Value})
		}
		return arguments
	}
	for _, item := range extra.Content {
		name, value := lookup(deref(item), "name"), lookup(deref(item), "value")
		if name != nil && value != nil {
			arguments = append(arguments, argument{name.Value, value.Value})
		}
	}
	return arguments
}

// ExternalCloudProvider reports whether the user configured the kubelet, in kubeadm's nodeRegistration or in
// /etc/default/kubelet, for a cloud controller that completes its Node. The last of equal flags counts.
func (c Config) ExternalCloudProvider() bool {
	provider := ""
	for _, arg := range c.kubeletExtraArgs() {
		if arg.name == "cloud-provider" {
			provider = arg.value
		}
	}
	for _, file := range c.Files {
		if file.Path != kubeletDefaults {
			continue
		}
		for _, match := range cloudProviderFlag.FindAllSubmatch(file.Content, -1) {
			provider = string(match[1])
		}
	}
	return provider == "external"
}

func lines(values []string) string {
	var out strings.Builder
	for _, value := range values {
		out.WriteString(value + "\n")
	}
	return out.String()
}
