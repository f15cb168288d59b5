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
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
)

// kindVersion of the format.
const kindVersion = "kind.x-k8s.io/v1alpha4"

// page of the documentation that has a row for each field.
const page = "see docs/how-to/kind-config.md"

// file that is converted.
type file struct {
	name string
	root yaml.Node
	v1alpha4.Cluster
	problems []input.Problem
	// origins of the fields of the Cluster.
	origins input.Origins
}

// parse a file that has one document.
func parse(name string, text []byte) (*file, error) {
	f := &file{name: name, origins: input.Origins{input.OfFile: name}}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&f.root); errors.Is(err, io.EOF) {
		return nil, input.Refuse(input.Problem{Field: name, Reason: "is empty", Remedy: usable})
	} else if err != nil {
		return nil, input.Refuse(input.Problem{Field: name, Reason: err.Error(), Remedy: "correct the YAML"})
	}
	if root := f.root.Content[0]; root.Kind != yaml.MappingNode {
		return nil, input.Refuse(input.Problem{Field: position(name, root.Line, ""), Reason: "is not a mapping", Remedy: usable})
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, input.Refuse(input.Problem{Field: position(name, second.Line, ""), Reason: "a second document begins", Remedy: "use a file for each cluster"})
	}
	return f, nil
}

// refuse what is at a line; 0 = the whole file.
func (f *file) refuse(line int, path, value, reason, remedy string) {
	f.problems = append(f.problems, input.Problem{Field: position(f.name, line, path), Value: value, Reason: reason, Remedy: remedy})
}

func position(name string, line int, path string) string {
	text := name
	if line > 0 {
		text += ":" + strconv.Itoa(line)
	}
	if path != "" {
		text += ": " + path
	}
	return text
}

// line of a field by its keys and indexes, or of what is around it; 0 where there is none.
func (f *file) line(path ...any) int { return f.node(path...).Line }

func (f *file) node(path ...any) *yaml.Node {
	if len(f.root.Content) == 0 {
		return &yaml.Node{}
	}
	at := f.root.Content[0]
	for _, step := range path {
		next := child(at, step)
		if next == nil {
			break
		}
		at = next
	}
	return at
}

// child of a mapping or a sequence; nil where there is none.
func child(node *yaml.Node, step any) *yaml.Node {
	switch step := step.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && step < len(node.Content) {
			return node.Content[step]
		}
	case string:
		for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1]
			}
		}
	}
	return nil
}

// textLine is the line of the file that has a line of a text in it.
func textLine(node *yaml.Node, line int) int {
	if node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		return node.Line
	}
	return node.Line + line
}

func nodePath(index int, field string) string { return fmt.Sprintf("nodes[%d].%s", index, field) }
