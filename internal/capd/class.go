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

package capd

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// class converts the patches of a ClusterClass.
func (c *converter) class(root *yaml.Node) {
	patches := get(root, "spec.patches")
	if patches == nil || patches.Kind != yaml.SequenceNode {
		return
	}
	placed := map[string]bool{}
	var converted []*yaml.Node
	for _, patch := range patches.Content {
		if external := get(patch, "external"); external != nil {
			c.report(external, root, "spec.patches["+value(patch, "name")+"].external", extension())
		}
		before := len(elements(patch, "definitions"))
		images := slices.DeleteFunc(c.definitions(root, patch), func(operation *yaml.Node) bool {
			text, err := encode(operation)
			c.errs = append(c.errs, err)
			again := placed[text]
			placed[text] = true
			return again
		})
		emptied := before > 0 && len(elements(patch, "definitions")) == 0
		if !emptied {
			converted = append(converted, patch)
			patch = mappingOf(word("name"), word(value(patch, "name")+"-images"), word("enabledIf"), word(value(patch, "enabledIf")))
		}
		if len(images) > 0 {
			setImages(patch, images)
			converted = append(converted, patch)
		}
	}
	patches.Content = converted
	if len(converted) == 0 {
		remove(get(root, "spec"), "patches")
	}
}

// definitions converts those of a patch, and returns the operations that set images of the cluster.
func (c *converter) definitions(root, patch *yaml.Node) []*yaml.Node {
	var images []*yaml.Node
	list := get(patch, "definitions")
	if list == nil {
		return nil
	}
	list.Content = slices.DeleteFunc(list.Content, func(definition *yaml.Node) bool {
		kind, known := c.kinds[value(definition, "selector.kind")]
		operations := get(definition, "jsonPatches")
		if !known || operations == nil {
			return false
		}
		images = append(images, c.operations(root, operations, kind)...)
		return len(operations.Content) == 0
	})
	return images
}

// setImages has a patch set the images of clusters. A variable must have some: the API accepts no empty list.
func setImages(patch *yaml.Node, operations []*yaml.Node) {
	enabled := value(patch, "enabledIf")
	for _, operation := range operations {
		if variable := value(operation, "valueFrom.variable"); variable != "" && !strings.Contains(variable, "[") {
			enabled = "{{ if ." + variable + " }}" + cmp.Or(enabled, "true") + "{{ end }}"
		}
	}
	remove(patch, "enabledIf")
	remove(patch, "definitions")
	if enabled != "" {
		set(patch, "enabledIf", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: enabled})
	}
	selector := mappingOf(
		word("apiVersion"), word(infrav1.GroupVersion.String()), word("kind"), word(clusterTemplate),
		word("matchResources"), mappingOf(word("infrastructureCluster"), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}),
	)
	set(patch, "definitions", sequenceOf(mappingOf(word("selector"), selector, word("jsonPatches"), sequenceOf(operations...))))
}

// operations converts those of a JSON patch, and returns those that set images of a machine, for
// the template of the cluster.
func (c *converter) operations(object, list *yaml.Node, kind kind) []*yaml.Node {
	var images []*yaml.Node
	list.Content = slices.DeleteFunc(list.Content, func(operation *yaml.Node) bool {
		path := get(operation, "path")
		if path == nil {
			return false
		}
		to, why := kind.path(path.Value)
		if to != "" {
			path.Value = to
			return false
		}
		op := get(operation, "op")
		ofClass := value(object, "kind") == "ClusterClass" && op != nil && op.Value != "remove"
		if ofClass && strings.HasSuffix(path.Value, "/"+preLoadImages) {
			op.Value, path.Value = "add", "/spec/template/spec/images"
			images = append(images, operation)
			return true
		}
		c.report(path, object, path.Value, why)
		return true
	})
	return images
}

// path returns what becomes of one in a JSON patch, or why it has no equivalent.
func (k kind) path(path string) (string, move) {
	base := "/" + strings.ReplaceAll(k.spec, ".", "/")
	if path == base {
		return "", wholeSettings()
	}
	rest, below := strings.CutPrefix(path, base+"/")
	if !below {
		return path, move{}
	}
	settings := strings.ReplaceAll(k.settings, ".", "/")
	if strings.HasPrefix(settings+"/", rest+"/") {
		return "", wholeSettings()
	}
	if strings.HasPrefix(rest, "backend/inMemory") {
		return "", inMemory()
	}
	name, inner, deeper := strings.Cut(strings.TrimPrefix(rest, settings+"/"), "/")
	field, known := k.fields[name]
	switch {
	case !known:
		return "", unknownField()
	case field.to == "":
		return "", field
	}
	parts := append(strings.Split(k.into, "."), field.to)
	if deeper {
		parts = append(parts, inner)
	}
	return base + "/" + strings.TrimPrefix(strings.Join(parts, "/"), "/"), move{}
}
