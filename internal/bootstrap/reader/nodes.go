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

package reader

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Unmarshal parses YAML without letting a panic of the library out. What has too many values is refused before it is
// parsed, with an *InvalidError.
func Unmarshal(data []byte, into *yaml.Node) (err error) {
	if estimateNodes(data) > maxNodes {
		return errTooManyNodes()
	}
	defer func() {
		if recover() != nil {
			err = errors.New("parse YAML")
		}
	}()
	return yaml.Unmarshal(data, into)
}

// Deref returns what an alias stands for.
func Deref(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

// IsNull reports whether a value is null, in words or by being empty.
func IsNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// Lookup returns the value of a key of a mapping, or nil.
func Lookup(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return Deref(mapping.Content[i+1])
		}
	}
	return nil
}

// Boolean reads YAML 1.1 booleans, which cloud-init's parser knows.
func Boolean(node *yaml.Node) (value, ok bool) {
	node = Deref(node)
	if node.Kind != yaml.ScalarNode {
		return false, false
	}
	switch strings.ToLower(node.Value) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	default:
		return false, false
	}
}
