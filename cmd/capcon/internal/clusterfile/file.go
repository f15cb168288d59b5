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
	"regexp"
	"strconv"
	"strings"

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

// decode strictly: a field that kind does not have is a typing error.
func (f *file) decode(text []byte) {
	if err := yaml.Unmarshal(text, &f.root); err != nil {
		f.refuse(0, "", "", err.Error(), "correct the YAML")
		return
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err := decoder.Decode(&f.Cluster)
	var mismatch *yaml.TypeError
	switch {
	case errors.As(err, &mismatch):
		for _, text := range mismatch.Errors {
			f.refuseField(text)
		}
	case err != nil: // one of the types of kind, which know no line
		f.refuse(lineOf(&f.root, err.Error()), "", "", err.Error(), "correct the value")
	case f.Kind != "Cluster":
		f.refuse(f.line("kind"), "kind", f.Kind, "is no kind of "+kindVersion, "use Cluster")
	}
}

// decoderText is what the decoder says of a field that it does not know, or of another value.
var (
	unknownText = regexp.MustCompile(`^line (\d+): field (.+) not found in type v1alpha4\.(\w+)$`)
	valueText   = regexp.MustCompile(`^line (\d+): (.+)$`)
)

func (f *file) refuseField(text string) {
	if match := unknownText.FindStringSubmatch(text); match != nil {
		line, _ := strconv.Atoi(match[1])
		f.refuse(line, "", match[2], "kind has no such field in "+match[3], "correct or remove it; "+page)
		return
	}
	match := valueText.FindStringSubmatch(text)
	if match == nil {
		f.refuse(0, "", "", text, page)
		return
	}
	line, _ := strconv.Atoi(match[1])
	f.refuse(line, "", "", match[2], "correct the value")
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

// lineOf the first value that a text quotes; 0 where there is none.
func lineOf(node *yaml.Node, text string) int {
	if node.Kind == yaml.ScalarNode && strings.Contains(text, strconv.Quote(node.Value)) {
		return node.Line
	}
	for _, below := range node.Content {
		if line := lineOf(below, text); line > 0 {
			return line
		}
	}
	return 0
}

func nodePath(index int, field string) string { return fmt.Sprintf("nodes[%d].%s", index, field) }
