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
	"encoding/base64"
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	value *yaml.Node
}

// unmarshal parses YAML without letting a panic of the library out. What has too many values is refused before it is
// parsed, with an *InvalidError.
func unmarshal(data []byte, into *yaml.Node) (err error) {
	if yamlNodes(data) > maxNodes {
		return errTooManyNodes()
	}
	defer func() {
		if recover() != nil {
			err = errors.New("parse YAML")
		}
	}()
	return yaml.Unmarshal(data, into)
}

func deref(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// boolean reads YAML 1.1 booleans, which cloud-init's parser knows.
func boolean(node *yaml.Node) (value, ok bool) {
	node = deref(node)
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

// mapping returns the entries of a mapping in order, merge keys expanded.
func (p *parser) mapping(node *yaml.Node, path string) ([]entry, error) {
	return p.mergedMapping(node, path, 0)
}

func (p *parser) mergedMapping(node *yaml.Node, path string, depth int) ([]entry, error) {
	node = deref(node)
	if isNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.MappingNode || depth > maxMergeDepth {
		return nil, p.invalid(node, "%s is not a mapping", path)
	}
	var entries, merged []entry
	seen := make(map[string]bool, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if err := p.visit(key); err != nil {
			return nil, err
		}
		if key.Kind != yaml.ScalarNode {
			return nil, p.invalid(key, "%s has a key that is not a string", path)
		}
		if key.ShortTag() == "!!merge" {
			more, err := p.merge(value, path, depth)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if seen[key.Value] {
			return nil, p.invalid(key, "%s has a duplicate key", path)
		}
		seen[key.Value] = true
		entries = append(entries, entry{key: key.Value, value: deref(value)})
	}
	return append(entries, withoutSeen(merged, seen)...), nil
}

// withoutSeen returns the first entry of each key that is not in seen.
func withoutSeen(merged []entry, seen map[string]bool) []entry {
	var entries []entry
	for _, more := range merged {
		if !seen[more.key] {
			seen[more.key] = true
			entries = append(entries, more)
		}
	}
	return entries
}

// merge returns the entries of the value of a merge key: a mapping or a list of mappings.
func (p *parser) merge(value *yaml.Node, path string, depth int) ([]entry, error) {
	value = deref(value)
	if value.Kind != yaml.SequenceNode {
		return p.mergedMapping(value, path, depth+1)
	}
	var merged []entry
	for _, item := range value.Content {
		more, err := p.mergedMapping(item, path, depth+1)
		if err != nil {
			return nil, err
		}
		merged = append(merged, more...)
	}
	return merged, nil
}

// list returns the items of a list; null is an empty one.
func (p *parser) list(node *yaml.Node, path string) ([]*yaml.Node, error) {
	node = deref(node)
	if isNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, p.invalid(node, "%s is not a list", path)
	}
	items := make([]*yaml.Node, 0, len(node.Content))
	for _, item := range node.Content {
		if err := p.visit(item); err != nil {
			return nil, err
		}
		items = append(items, deref(item))
	}
	return items, nil
}

// text returns a scalar as it was written. It may span lines; it never holds a NUL, which no file name and no command
// can hold.
func (p *parser) text(node *yaml.Node, path string) (string, error) {
	value, err := p.content(node, path)
	if err == nil && strings.ContainsRune(value, 0) {
		return "", p.invalid(node, "%s contains a NUL character", path)
	}
	return value, err
}

// content returns a scalar as it was written, !!binary ones decoded. An alias is paid for each time it is used.
func (p *parser) content(node *yaml.Node, path string) (string, error) {
	node = deref(node)
	if isNull(node) {
		return "", nil
	}
	if node.Kind != yaml.ScalarNode {
		return "", p.invalid(node, "%s is not a string", path)
	}
	if err := p.spend(len(node.Value)); err != nil {
		return "", p.invalid(node, "%s: %v", path, err)
	}
	if node.ShortTag() != "!!binary" {
		return node.Value, nil
	}
	decoded, err := base64.StdEncoding.DecodeString(withoutSpace(node.Value))
	if err != nil {
		return "", p.invalid(node, "%s is not valid base64", path)
	}
	return string(decoded), nil
}

// line returns a scalar that must be on one line and hold no control character, so that it cannot add a line to a file
// it ends up in.
func (p *parser) line(node *yaml.Node, path string) (string, error) {
	value, err := p.text(node, path)
	if err != nil {
		return "", err
	}
	if strings.ContainsFunc(value, isControl) {
		return "", p.invalid(node, "%s contains a control character", path)
	}
	return value, nil
}

// flag returns a boolean.
func (p *parser) flag(node *yaml.Node, path string) (bool, error) {
	if isNull(deref(node)) {
		return false, nil
	}
	value, ok := boolean(node)
	if !ok {
		return false, p.invalid(node, "%s is not true or false", path)
	}
	return value, nil
}

func isControl(r rune) bool {
	return r < 0x20 || r == 0x7f
}

func withoutSpace(s string) string {
	return strings.Join(strings.Fields(s), "")
}
