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
	"fmt"

	"go.yaml.in/yaml/v3"
)

// ReadFunc reads a value; path names it in errors: sections, keys and indexes, never a value of the data.
type ReadFunc[T any] func(node *yaml.Node, path string) (T, error)

// Fields read the values of a mapping by their keys.
type Fields map[string]func(node *yaml.Node, path string) error

// Into stores what is read in target.
func Into[T any](target *T, read ReadFunc[T]) func(*yaml.Node, string) error {
	return func(node *yaml.Node, path string) (err error) {
		*target, err = read(node, path)
		return err
	}
}

// ListOf reads a list; null is an empty one. Each item keeps its place, so that users[1] names the second of the data.
func ListOf[T any](r *Reader, read ReadFunc[T]) ReadFunc[[]T] {
	return func(node *yaml.Node, path string) ([]T, error) {
		node = Deref(node)
		if IsNull(node) {
			return nil, nil
		}
		if node.Kind != yaml.SequenceNode {
			return nil, r.Invalid(node, "%s is not a list", path)
		}
		var items []T
		for i, node := range node.Content {
			if err := r.Visit(node); err != nil {
				return nil, err
			}
			item, err := read(Deref(node), fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, nil
	}
}

// Root reads the mapping that a document is, in the order of its keys. A key that is not known is for other to judge.
func (r *Reader) Root(node *yaml.Node, name string, known Fields, other func(*yaml.Node, string) error) error {
	return r.fields(node, name, "", known, other)
}

// Object is like Root for a mapping in a document.
func (r *Reader) Object(node *yaml.Node, path string, known Fields, other func(*yaml.Node, string) error) error {
	return r.fields(node, path, path+".", known, other)
}

func (r *Reader) fields(node *yaml.Node, name, prefix string, known Fields, other func(*yaml.Node, string) error) error {
	entries, err := r.mapping(node, name, 0)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		read, ok := known[entry.key]
		if !ok {
			read = other
		}
		if err := read(entry.value, prefix+entry.key); err != nil {
			return err
		}
	}
	return nil
}

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	value *yaml.Node
}

// mapping returns the entries of a mapping in order, merge keys expanded.
func (r *Reader) mapping(node *yaml.Node, path string, depth int) ([]entry, error) {
	node = Deref(node)
	if IsNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.MappingNode || depth > maxMergeDepth {
		return nil, r.Invalid(node, "%s is not a mapping", path)
	}
	var entries, merged []entry
	seen := make(map[string]bool, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], Deref(node.Content[i+1])
		if err := r.Visit(key); err != nil {
			return nil, err
		}
		if key.Kind != yaml.ScalarNode {
			return nil, r.Invalid(key, "%s has a key that is not a string", path)
		}
		if key.ShortTag() == "!!merge" {
			more, err := r.merge(value, path, depth+1)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if seen[key.Value] {
			return nil, r.Invalid(key, "%s has a duplicate key", path)
		}
		seen[key.Value] = true
		entries = append(entries, entry{key: key.Value, value: value})
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
func (r *Reader) merge(value *yaml.Node, path string, depth int) ([]entry, error) {
	mappings := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		mappings = value.Content
	}
	var merged []entry
	for _, item := range mappings {
		more, err := r.mapping(item, path, depth)
		if err != nil {
			return nil, err
		}
		merged = append(merged, more...)
	}
	return merged, nil
}
