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
)

// decode strictly: a field that kind does not have is a typing error.
func (f *file) decode(text []byte) {
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
		f.refuseValue(0, "is unknown", func(node *yaml.Node) bool {
			return node.Value != "" && strings.Contains(strings.ToUpper(err.Error()), strings.ToUpper(strconv.Quote(node.Value)))
		})
	case f.Kind != "Cluster":
		f.refuse(f.line("kind"), "kind", f.Kind, "is no kind of "+kindVersion, "use Cluster")
	}
}

// What the decoder says of a field that it does not know, of a value of another type, and of others.
var (
	unknownText = regexp.MustCompile(`^line (\d+): field (.+) not found in type v1alpha4\.(\w+)$`)
	typeText    = regexp.MustCompile("^line (\\d+): cannot unmarshal !!(\\w+) (?:`(.*)` )?into (.+)$")
	otherText   = regexp.MustCompile(`^line (\d+): (.+)$`)
)

func (f *file) refuseField(text string) {
	if match := unknownText.FindStringSubmatch(text); match != nil {
		line, _ := strconv.Atoi(match[1])
		f.refuse(line, "", match[2], "kind has no such field in "+match[3], "correct or remove it; "+page)
		return
	}
	if match := typeText.FindStringSubmatch(text); match != nil {
		line, _ := strconv.Atoi(match[1])
		given := strings.TrimSuffix(match[3], "...") // the decoder shortens it
		f.refuseValue(line, "must be "+typeName(match[4]), func(node *yaml.Node) bool {
			return node.Line == line && node.ShortTag() == "!!"+match[2] && strings.HasPrefix(node.Value, given)
		})
		return
	}
	if match := otherText.FindStringSubmatch(text); match != nil {
		line, _ := strconv.Atoi(match[1])
		f.refuse(line, "", "", match[2], "correct the file")
		return
	}
	f.refuse(0, "", "", text, page)
}

// textTypes are those of fields with a text.
var textTypes = regexp.MustCompile(`^(string|v1alpha4\.\w*(Role|Family|Mode|Protocol|Propagation))$`)

// typeName of a type of Go, for users.
func typeName(of string) string {
	switch {
	case strings.HasPrefix(of, "[]"):
		return "a list"
	case of == "bool":
		return "true or false"
	case strings.HasPrefix(of, "int"):
		return "a number"
	case textTypes.MatchString(of):
		return "a text"
	default:
		return "a mapping"
	}
}

// values of fields whose types kind checks.
var values = map[string]string{"propagation": "None, HostToContainer or Bidirectional", "protocol": "TCP or UDP"}

// refuseValue that is given, in a line; 0 = it is not known.
func (f *file) refuseValue(line int, reason string, isGiven func(*yaml.Node) bool) {
	path, at := find("", &f.root, isGiven)
	if at == nil {
		at = &yaml.Node{Line: line}
	}
	remedy := "correct the value"
	if allowed := values[path[strings.LastIndex(path, ".")+1:]]; allowed != "" {
		remedy = "use " + allowed
	}
	f.refuse(at.Line, path, at.Value, reason, remedy)
}

// find the last and deepest field below a node that fits, with its path.
func find(path string, node *yaml.Node, fits func(*yaml.Node) bool) (found string, field *yaml.Node) {
	if path != "" && fits(node) {
		found, field = path, node
	}
	for i, below := range node.Content {
		at := path
		switch {
		case node.Kind == yaml.MappingNode && i%2 == 0:
			continue
		case node.Kind == yaml.MappingNode:
			at = strings.TrimPrefix(path+"."+node.Content[i-1].Value, ".")
		case node.Kind == yaml.SequenceNode:
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		if deeper, one := find(at, below, fits); one != nil {
			found, field = deeper, one
		}
	}
	return found, field
}
