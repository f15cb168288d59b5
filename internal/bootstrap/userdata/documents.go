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
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
)

// separator is the line before a document of a YAML stream.
var separator = regexp.MustCompile(`(?m)^---[ \t\r]*(#.*)?$`)

// document is one document of a YAML stream with its text, so that it can be written as it was.
type document struct {
	// marker is the separator before the document with its line break, if there is one.
	marker string
	text   string
	// node is the document with the comments around it, root its mapping; nil when it is something else.
	node, root *yaml.Node
}

type documents []document

// holdsKubeadm says that content is a YAML stream with a document of kubeadm in it.
func holdsKubeadm(content []byte) bool {
	documents, err := kubeadmDocuments(content)
	return err == nil && documents.any(func(d document) bool { return d.is(kubeadmGroup, "") })
}

// CheckDocuments refuses files with too many values in documents of kubeadm.
func (c Config) CheckDocuments() error {
	var streams [][]byte
	for _, file := range c.Files {
		if mentionsKubeadm(file.Content) {
			streams = append(streams, file.Content)
		}
	}
	return reader.CheckStreams(streams...)
}

// kubeadmDocuments splits content into documents. It returns none for what is not about kubeadm or kube-proxy, be it
// YAML or not.
func kubeadmDocuments(content []byte) (documents, error) {
	if !mentionsKubeadm(content) {
		return nil, nil
	}
	var split documents
	for _, part := range splitDocuments(string(content)) {
		var node yaml.Node
		if err := reader.Unmarshal([]byte(part.text), &node); err != nil {
			// A script with a document in it, say, is not ours to judge.
			if !claimsKubeadm.Match(content) || bytes.HasPrefix(content, []byte("#!")) {
				return nil, nil
			}
			return nil, &reader.InvalidError{Problem: "the kubeadm configuration is not valid YAML"}
		}
		if len(node.Content) == 1 && node.Content[0].Kind == yaml.MappingNode {
			part.node, part.root = &node, node.Content[0]
		}
		split = append(split, part)
	}
	return split, nil
}

// mentionsKubeadm says that content has to be parsed to know whether it holds documents of kubeadm or kube-proxy.
func mentionsKubeadm(content []byte) bool {
	return bytes.Contains(content, []byte(kubeadmGroup)) || bytes.Contains(content, []byte(kubeProxyGroup))
}

// splitDocuments splits at separators that are lines of their own. Put together, the parts are the text again.
func splitDocuments(text string) documents {
	var parts documents
	part := document{}
	start := 0
	for _, match := range separator.FindAllStringIndex(text, -1) {
		part.text = text[start:match[0]]
		if part.text != "" || part.marker != "" {
			parts = append(parts, part)
		}
		start = match[1]
		if start < len(text) {
			start++
		}
		part = document{marker: text[match[0]:start]}
	}
	part.text = text[start:]
	return append(parts, part)
}

// is says whether the document is of a group and kind; an empty kind is any.
func (d document) is(group, kind string) bool {
	if d.root == nil {
		return false
	}
	version, name := reader.Lookup(d.root, "apiVersion"), reader.Lookup(d.root, "kind")
	return version != nil && name != nil && strings.HasPrefix(version.Value, group) && (kind == "" || name.Value == kind)
}

// get returns the value of a key of the document; nil when it is not there or null.
func (d document) get(key string) *yaml.Node {
	if d.root == nil {
		return nil
	}
	value := reader.Lookup(d.root, key)
	if value == nil || reader.IsNull(value) {
		return nil
	}
	return value
}

// encode writes the document as YAML in blocks: kubeadm takes what begins with a brace for JSON, which
// a document that was JSON no longer is with keys that were added.
func (d document) encode(out *bytes.Buffer) error {
	d.root.Style &^= yaml.FlowStyle
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	if err := encoder.Encode(d.node); err != nil {
		return fmt.Errorf("write kubeadm configuration: %w", &reader.InvalidError{Problem: "cannot be encoded as YAML"})
	}
	return encoder.Close()
}

// kubeadmDocuments yields every document of kubeadm in the files.
func (c Config) kubeadmDocuments() iter.Seq[document] {
	return func(yield func(document) bool) {
		for _, file := range c.Files {
			// What cannot be read says nothing; Adapt reports it.
			documents, err := kubeadmDocuments(file.Content)
			if err != nil {
				continue
			}
			for _, document := range documents {
				if document.is(kubeadmGroup, "") && !yield(document) {
					return
				}
			}
		}
	}
}

// child returns the value of a key that is to be of a kind. It is created when it is missing or null, and nil when it
// is something else, which kubeadm refuses.
func child(mapping *yaml.Node, key string, kind yaml.Kind) *yaml.Node {
	value := reader.Lookup(mapping, key)
	switch {
	case value == nil:
		value = &yaml.Node{Kind: kind}
		mapping.Content = append(mapping.Content, text(key), value)
	case reader.IsNull(value):
		*value = yaml.Node{Kind: kind, HeadComment: value.HeadComment, LineComment: value.LineComment}
	case value.Kind != kind:
		return nil
	case len(value.Content) == 0:
		// An empty {} or [] grows in block style like its surroundings.
		value.Style &^= yaml.FlowStyle
	}
	return value
}

func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

func (d documents) any(matches func(document) bool) bool {
	return slices.ContainsFunc(d, matches)
}
