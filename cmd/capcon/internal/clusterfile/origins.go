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

package clusterfile

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

// Paths of what flags could set, by the fields that problems name.
var (
	kindPaths = map[string]string{
		"NAME": "name", "--control-planes": "nodes", "--pod-cidr": "networking.podSubnet", "--service-cidr": "networking.serviceSubnet",
		"--kubernetes-version": "nodes[0].image", "--image": "nodes[0].image", "--ip-family": "networking.ipFamily",
	}
	manifestPaths = map[string]string{
		"NAME": "metadata.name", "--control-planes": "spec.topology.controlPlane.replicas", "--kubernetes-version": "spec.topology.version",
		"--pod-cidr": "spec.clusterNetwork.pods.cidrBlocks", "--service-cidr": "spec.clusterNetwork.services.cidrBlocks",
		"--load-balancer-image": value(objects.LoadBalancerVariable) + ".image", "--network": value(objects.NetworkVariable) + ".name",
		"--engine-name": value(objects.EngineVariable), "--engines": value(objects.EnginesVariable),
	}
	// kindFields are those of the Cluster that a field of kind sets, or leaves out.
	kindFields = map[string]string{
		value(objects.LoadBalancerVariable) + ".hostPort":    "networking.apiServerPort",
		value(objects.LoadBalancerVariable) + ".hostAddress": "networking.apiServerAddress",
		value("dnsSearch"):               "networking.dnsSearch",
		value("containerdConfigPatches"): "containerdConfigPatches",
	}
)

// value of a variable of the whole cluster.
func value(variable string) string { return fmt.Sprintf("spec.topology.variables[%s].value", variable) }

// ofKind sets the origins that are the same in each file of kind.
func (f *file) ofKind() {
	for field, path := range kindPaths {
		if node := f.exact(path); node != nil {
			f.origins[field] = position(f.name, node.Line, path)
		}
	}
	for field, path := range kindFields {
		f.origins[field] = position(f.name, f.line(steps(path)...), path)
	}
}

// ofManifest sets the origins of all fields of a manifest.
func (f *file) ofManifest() {
	f.locate("", "", f.root.Content[0])
	for flag, field := range manifestPaths {
		if place, found := f.origins[field]; found {
			f.origins[flag] = place
		}
	}
}

// ofGroup sets the origins of the variables of equal nodes, which are those of the first one.
func (f *file) ofGroup(list string, group group) {
	for variable, field := range map[string]string{"extraMounts": "extraMounts", "portMappings": "extraPortMappings"} {
		path := nodePath(group.index, field)
		if node := f.exact(path); node != nil {
			f.locate(fmt.Sprintf("%s[%s].value", list, variable), path, node)
		}
	}
	for _, path := range []string{
		nodePath(group.index, "labels"), nodePath(group.index, "kubeadmConfigPatches"), nodePath(group.index, "kubeadmConfigPatchesJSON6902"),
		"kubeadmConfigPatches", "kubeadmConfigPatchesJSON6902",
	} {
		if node := f.exact(path); node != nil {
			f.locate(list+"[nodeLabels].value", path, node)
			return
		}
	}
}

// locate a field, and all that is in it, at a path of the file.
func (f *file) locate(field, path string, node *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if field != "" {
		f.origins[field] = position(f.name, node.Line, path)
	}
	for i, below := range node.Content {
		switch {
		case node.Kind == yaml.SequenceNode:
			entry := entryOf(field, i, below)
			f.locate(field+entry, path+entry, below)
		case node.Kind == yaml.MappingNode && i%2 == 1:
			key := node.Content[i-1].Value
			f.locate(strings.TrimPrefix(field+"."+key, "."), strings.TrimPrefix(path+"."+key, "."), below)
		}
	}
}

// lists of a topology whose entries are known by their names.
var lists = regexp.MustCompile(`^spec\.topology\.(.*\.)?(variables|overrides|machineDeployments|machinePools)$`)

func entryOf(list string, index int, entry *yaml.Node) string {
	if name := child(entry, "name"); name != nil && lists.MatchString(list) {
		return "[" + name.Value + "]"
	}
	return fmt.Sprintf("[%d]", index)
}

// exact node of a path; nil where there is none.
func (f *file) exact(path string) *yaml.Node {
	at := f.root.Content[0]
	for _, step := range steps(path) {
		if at = child(at, step); at == nil {
			return nil
		}
	}
	return at
}

// leaveFlags to the request, which has them instead of the file.
func (f *file) leaveFlags(request input.Request) {
	for flag, given := range map[string]bool{
		"NAME": request.Name != "", "--control-planes": request.ControlPlanes != nil, "--kubernetes-version": request.KubernetesVersion != "",
		"--image": request.Image != "", "--ip-family": request.IPFamily != "", "--load-balancer-image": request.LoadBalancerImage != "", "--network": request.Network != "", "--engine-name": request.EngineName != "",
		"--engines":  len(request.EngineNames) > 0,
		"--pod-cidr": request.PodCIDR != "", "--service-cidr": request.ServiceCIDR != "",
	} {
		if given {
			delete(f.origins, flag)
		}
	}
}
