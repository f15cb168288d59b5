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
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// documents of kubeadm's configuration of a node, by kind. Arguments are maps by name.
type documents map[string]map[string]any

// base has the parts of what kind generates that patches refer to.
func (f *file) base() documents {
	gates := map[string]any{}
	for name, enabled := range f.FeatureGates {
		gates[name] = enabled
	}
	arguments := func() map[string]any {
		if len(gates) == 0 {
			return map[string]any{}
		}
		return map[string]any{"feature-gates": join(f.FeatureGates)}
	}
	apiServer, kubelet, proxy := arguments(), map[string]any{}, map[string]any{}
	if len(f.RuntimeConfig) > 0 {
		apiServer["runtime-config"] = join(f.RuntimeConfig)
	}
	if len(gates) > 0 {
		kubelet["featureGates"], proxy["featureGates"] = maps.Clone(gates), maps.Clone(gates)
	}
	if mode := string(f.Networking.KubeProxyMode); mode != "" && mode != "iptables" {
		proxy["mode"] = mode
	}
	registration := func() map[string]any {
		return map[string]any{"nodeRegistration": map[string]any{"kubeletExtraArgs": map[string]any{}}}
	}
	return documents{
		clusterKind: {
			"apiServer":         map[string]any{"certSANs": f.defaultSANs(), "extraArgs": apiServer},
			"controllerManager": map[string]any{"extraArgs": arguments()},
			"scheduler":         map[string]any{"extraArgs": arguments()},
			"etcd":              map[string]any{"local": map[string]any{"extraArgs": map[string]any{}}},
			"networking":        map[string]any{},
		},
		initKind: registration(), joinKind: registration(), kubeletKind: kubelet, proxyKind: proxy,
	}
}

// join a map as components take it: a=b,c=d.
func join[V any](values map[string]V) string {
	var entries []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		entries = append(entries, fmt.Sprintf("%s=%v", key, values[key]))
	}
	return strings.Join(entries, ",")
}

// merge the patch in a text of the file, which may have several documents.
func (f *file) merge(into documents, at *yaml.Node, path string, kinds ...string) {
	decoder := yaml.NewDecoder(strings.NewReader(at.Value))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			f.refuse(at.Line, path, "", "does not apply: "+err.Error(), "correct the YAML of the patch")
			return
		}
		f.mergeDocument(into, at, document.Content[0], path, kinds)
	}
}

func (f *file) mergeDocument(into documents, at, patch *yaml.Node, path string, kinds []string) {
	kind, apiVersion := text(child(patch, "kind")), text(child(patch, "apiVersion"))
	if refused, ok := checkVersion(kind, apiVersion); !ok {
		value := kind
		if _, known := versions[kind]; known {
			value = apiVersion
		}
		f.refuse(textLine(at, patch.Line), path, value, refused.reason, refused.remedy)
		return
	}
	if len(kinds) > 0 && !slices.Contains(kinds, kind) {
		f.refuse(textLine(at, patch.Line), path, kind, "the whole cluster has one", "move the patch to kubeadmConfigPatches of the cluster")
		return
	}
	before := len(f.problems)
	f.check(kind, at, patch, path, "")
	if len(f.problems) > before {
		return
	}
	values := map[string]any{}
	if err := patch.Decode(&values); err != nil {
		f.refuse(textLine(at, patch.Line), path, "", "does not apply: "+err.Error(), "correct the YAML of the patch")
		return
	}
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		delete(values, key)
	}
	if err := named(values); err != nil {
		f.refuse(textLine(at, patch.Line), path, kind, "does not apply: "+err.Error(), "correct the patch")
		return
	}
	mergeValues(into[kind], values)
}

// check that each field of a patch has a home.
func (f *file) check(kind string, at, node *yaml.Node, path, field string) { //nolint:gocognit // One walk through one document.
	refuse := func(of *yaml.Node, field, value string, refused refusal) {
		f.refuse(textLine(at, of.Line), path+": "+kind+"."+field, value, refused.reason, refused.remedy)
	}
	if node.Tag == "!!null" {
		refuse(node, field, "", refusal{"a field of the ClusterClass cannot be removed", "set it to another value, or remove the line"})
		return
	}
	if field == "skipPhases" {
		for _, phase := range node.Content {
			if phase.Value != "addon/kube-proxy" && phase.Value != "preflight" {
				refuse(phase, field, phase.Value, refusal{"only addon/kube-proxy can be skipped", "remove it"})
			}
		}
	}
	if node.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if field == "" && slices.Contains([]string{"apiVersion", "kind", "metadata"}, key.Value) {
			continue
		}
		below := strings.TrimPrefix(field+"."+key.Value, ".")
		exact, parts := home(kind, below)
		switch {
		case below == "nodeRegistration.criSocket" && strings.HasSuffix(value.Value, "/run/containerd/containerd.sock"):
		case !exact && (!parts || value.Kind != yaml.MappingNode):
			refuse(key, below, "", refusalOf(below))
		default:
			f.check(kind, at, value, path, below)
		}
	}
}

func text(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	return node.Value
}

// mergeValues merges a patch as kind does: objects field by field, names of certificates and
// arguments by name, and other lists as a whole.
func mergeValues(into, patch map[string]any) {
	for key, value := range patch {
		present, _ := into[key].(map[string]any)
		fields, isObject := value.(map[string]any)
		switch {
		case isObject && present != nil:
			mergeValues(present, fields)
		case key == "certSANs":
			names, _ := value.([]any)
			known, _ := into[key].([]any)
			for _, name := range names {
				if !slices.Contains(known, name) {
					known = append(known, name)
				}
			}
			into[key] = known
		default:
			into[key] = value
		}
	}
}

// isArguments reports whether a field has arguments of a component.
func isArguments(key string) bool { return key == "extraArgs" || key == "kubeletExtraArgs" }

// named turns lists of arguments (v1beta4) into maps (v1beta3).
func named(values map[string]any) error {
	for key, value := range values {
		if isArguments(key) {
			arguments, err := argumentsOf(key, value)
			if err != nil {
				return err
			}
			values[key] = arguments
		} else if fields, ok := value.(map[string]any); ok {
			if err := named(fields); err != nil {
				return err
			}
		}
	}
	return nil
}

// argumentsOf a list or a map of arguments, by their names.
func argumentsOf(key string, value any) (map[string]any, error) {
	arguments, isMap := value.(map[string]any)
	list, isList := value.([]any)
	if !isMap && !isList {
		return nil, fmt.Errorf("%s is neither a list nor a map", key)
	}
	if isList {
		arguments = map[string]any{}
	}
	for _, entry := range list {
		argument, _ := entry.(map[string]any)
		name, _ := argument["name"].(string)
		if name == "" || arguments[name] != nil {
			return nil, fmt.Errorf("%s needs a list of arguments with a name and a value, each name once", key)
		}
		arguments[name] = argument["value"]
	}
	for name, value := range arguments {
		if _, ok := value.(string); !ok {
			return nil, fmt.Errorf("argument %s of %s is %v, which is no text: quote it", name, key, value)
		}
	}
	return arguments, nil
}

// listed is the reverse of named.
func listed(values map[string]any) {
	for key, value := range values {
		fields, isObject := value.(map[string]any)
		switch {
		case isObject && isArguments(key):
			values[key] = toList(fields)
		case isObject:
			listed(fields)
		}
	}
}

// toList has the arguments as the API of Cluster API has them.
func toList(arguments map[string]any) []any {
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		list = append(list, map[string]any{"name": name, "value": arguments[name]})
	}
	return list
}
