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
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// find the position of a key in a mapping; -1 where it is not there.
func find(mapping *yaml.Node, key string) int {
	if mapping != nil && mapping.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			if mapping.Content[i].Value == key {
				return i
			}
		}
	}
	return -1
}

// get what is at a path of keys; nil where nothing is.
func get(node *yaml.Node, path string) *yaml.Node {
	if path == "" {
		return node
	}
	key, rest, _ := strings.Cut(path, ".")
	i := find(node, key)
	if i < 0 {
		return nil
	}
	return get(node.Content[i+1], rest)
}

// makePath is get that adds the mappings which are not there.
func makePath(node *yaml.Node, path string) *yaml.Node {
	if path == "" {
		return node
	}
	key, rest, _ := strings.Cut(path, ".")
	i := find(node, key)
	if i < 0 {
		i = len(node.Content)
		node.Content = append(node.Content, word(key), mappingOf())
	}
	if value := node.Content[i+1]; value.Kind != yaml.MappingNode {
		*value = *mappingOf() // null
	}
	node.Style &^= yaml.FlowStyle
	return makePath(node.Content[i+1], rest)
}

func set(mapping *yaml.Node, key string, value *yaml.Node) {
	if i := find(mapping, key); i >= 0 {
		mapping.Content[i+1] = value
		return
	}
	mapping.Content = append(mapping.Content, word(key), value)
}

func remove(mapping *yaml.Node, key string) {
	if i := find(mapping, key); i >= 0 {
		mapping.Content = slices.Delete(mapping.Content, i, i+2)
	}
}

func value(node *yaml.Node, path string) string {
	if found := get(node, path); found != nil && found.Kind == yaml.ScalarNode {
		return found.Value
	}
	return ""
}

// elements of the sequence at a path.
func elements(node *yaml.Node, path string) []*yaml.Node {
	if found := get(node, path); found != nil && found.Kind == yaml.SequenceNode {
		return found.Content
	}
	return nil
}

func visit(node *yaml.Node, each func(*yaml.Node)) {
	each(node)
	for _, child := range node.Content {
		visit(child, each)
	}
}

func word(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// mappingOf keys and values, one after the other.
func mappingOf(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: content}
}

func sequenceOf(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: content}
}
