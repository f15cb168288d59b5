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
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// File has one or more manifests.
type File struct{ Name, Content string }

// Finding is a part of a manifest that has no equivalent, or that means something else here.
type Finding struct {
	File           string
	Line           int
	Object, Field  string
	Reason, Remedy string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s; %s", f.File, f.Line, f.Object, f.Field, f.Reason, f.Remedy)
}

// Convert files that belong together: what CAPD has in one and this provider in another is moved
// between them. An error has all documents that are not YAML and all kinds that are not known.
func Convert(files []File) ([]File, []Finding, error) {
	c := &converter{kinds: kinds(), words: &variables{}}
	documents := make([][]*document, len(files))
	for i, file := range files {
		documents[i] = split(file)
		for _, document := range documents[i] {
			if err := document.parse(c.words); err != nil {
				c.errs = append(c.errs, err)
			} else if document.root != nil {
				c.document = document
				c.convert(document.root)
				c.references(document.root)
			}
		}
	}
	c.placeImages()
	c.fillTemplates()
	converted := make([]File, len(files))
	for i, file := range files {
		texts := make([]string, len(documents[i]))
		for j, document := range documents[i] {
			text, err := document.render(c.words)
			c.errs = append(c.errs, err)
			texts[j] = text
		}
		converted[i] = File{file.Name, strings.Join(texts, "---\n")}
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return converted, c.findings, nil
}

type converter struct {
	kinds    map[string]kind
	words    *variables
	document *document // the one that is converted
	findings []Finding
	errs     []error
	images   []images
	clusters []*cluster
}

// images that a machine has in CAPD.
type images struct {
	key, list *yaml.Node
	found     Finding
}

// cluster is a ContainerCluster or a template of one.
type cluster struct {
	file   string
	kind   kind
	root   *yaml.Node
	images *yaml.Node // nil until it has some
}

// convert the fields of a document. Its kind and those that it refers to are still CAPD's.
func (c *converter) convert(root *yaml.Node) {
	if root.Kind == yaml.SequenceNode {
		c.looseOperations(root)
		return
	}
	name := value(root, "kind")
	converted, known := c.kinds[name]
	switch {
	case known && c.group(root) == infrav1.GroupVersion.Group:
		c.object(root, converted)
	case name == "List":
		for _, item := range elements(root, "items") {
			c.convert(item)
		}
	case name == "ClusterClass":
		c.class(root)
	case name == "Kustomization", name == "" && get(root, "resources") != nil, name == "" && get(root, "patches") != nil:
		c.kustomization(root)
	}
}

// report a finding at a node of an object.
func (c *converter) report(node, object *yaml.Node, field string, why move) {
	c.findings = append(c.findings, c.finding(node, object, field, why))
}

func (c *converter) finding(node, object *yaml.Node, field string, why move) Finding {
	name := strings.TrimSuffix(value(object, "kind")+"/"+value(object, "metadata.name"), "/")
	return Finding{c.document.file, c.document.at(node), cmp.Or(c.words.restore(name), "document"), field, why.reason, why.remedy}
}
