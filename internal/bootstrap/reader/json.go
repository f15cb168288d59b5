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
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// JSON reads one JSON value into nodes, so that errors name lines and fields, a key that
// is there twice is noticed, and numbers stay as they were written.
func JSON(data []byte) (*yaml.Node, error) {
	reader := &jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	reader.decoder.UseNumber()
	node, err := reader.value(0)
	if err == nil {
		if _, end := reader.decoder.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("unexpected text after the value")
		}
	}
	if tooMany := (*InvalidError)(nil); errors.As(err, &tooMany) {
		return nil, err
	}
	if err != nil {
		// The library's text may quote the data.
		return nil, &InvalidError{Line: reader.here(), Problem: "not valid JSON"}
	}
	return node, nil
}

type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	// nodes that were read.
	nodes int
	// line is that of offset.
	line, offset int
}

// here returns the line that was read last, counted from 1.
func (r *jsonReader) here() int {
	now := min(int(r.decoder.InputOffset()), len(r.data))
	r.line += bytes.Count(r.data[r.offset:now], []byte("\n"))
	r.offset = now
	return r.line
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	if r.nodes++; r.nodes > maxNodes {
		return nil, errTooManyNodes()
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Line: r.here()}
	switch token := token.(type) {
	case nil:
		node.Tag = "!!null"
	case bool:
		node.Tag, node.Value = "!!bool", "false"
		if token {
			node.Value = "true"
		}
	case string:
		node.Tag, node.Value = "!!str", token
	case json.Number:
		node.Tag, node.Value = "!!int", token.String()
		if strings.ContainsAny(node.Value, ".eE") {
			node.Tag = "!!float"
		}
	case json.Delim:
		return r.nested(node, token, depth+1)
	}
	return node, nil
}

// nested reads what is between two brackets. Keys and values follow each other, as YAML's nodes have them too.
func (r *jsonReader) nested(node *yaml.Node, open json.Delim, depth int) (*yaml.Node, error) {
	if depth > maxJSONDepth {
		return nil, errors.New("nested too deeply")
	}
	node.Kind, node.Tag = yaml.SequenceNode, "!!seq"
	if open == '{' {
		node.Kind, node.Tag = yaml.MappingNode, "!!map"
	}
	for r.decoder.More() {
		child, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	_, err := r.decoder.Token()
	return node, err
}
