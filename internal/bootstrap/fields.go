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

	"go.yaml.in/yaml/v3"
)

// reader reads a value; path names it in errors: sections, keys and indexes, never a value of the data.
type reader[T any] func(node *yaml.Node, path string) (T, error)

// fields read the values of an object by their keys.
type fields map[string]func(node *yaml.Node, path string) error

// into stores what is read in target.
func into[T any](target *T, read reader[T]) func(*yaml.Node, string) error {
	return func(node *yaml.Node, path string) (err error) {
		*target, err = read(node, path)
		return err
	}
}

// listOf reads a list. Each item keeps its place, so that users[1] names the second of the data.
func listOf[T any](p *parser, read reader[T]) reader[[]T] {
	return func(node *yaml.Node, path string) ([]T, error) {
		nodes, err := p.list(node, path)
		if err != nil {
			return nil, err
		}
		var items []T
		for i, node := range nodes {
			item, err := read(node, fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, nil
	}
}

// object reads an object in the order of its keys. A key that is not known is for other to judge.
func (p *parser) object(node *yaml.Node, path string, known fields, other func(*yaml.Node, string) error) error {
	entries, err := p.mapping(node, path)
	if err != nil {
		return err
	}
	return known.read(entries, path+".", other)
}

func (known fields) read(entries []entry, prefix string, other func(*yaml.Node, string) error) error {
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
