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
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kustomization converts the patches that are in it. Those in files are documents of their own.
func (c *converter) kustomization(root *yaml.Node) {
	for _, list := range []string{"patches", "patchesJson6902"} {
		for _, patch := range elements(root, list) {
			kind, known := c.kinds[value(patch, "target.kind")]
			if path := get(patch, "path"); path != nil && known {
				c.report(path, root, list, otherPatch())
			}
			if inline := get(patch, "patch"); inline != nil {
				c.inline(root, inline, kind)
			}
		}
	}
	for _, patch := range elements(root, "patchesStrategicMerge") {
		if strings.Contains(patch.Value, "\n") {
			c.inline(root, patch, kind{})
		}
	}
}

// inline converts a patch that is the text of a field.
func (c *converter) inline(root, field *yaml.Node, target kind) {
	roots, err := decode(field.Value)
	if err != nil {
		return // a path, or what kustomize will refuse
	}
	var texts []string
	changed := false
	for _, patch := range roots {
		before, err := encode(patch)
		c.errs = append(c.errs, err)
		switch {
		case patch.Kind == yaml.MappingNode:
			c.convert(patch)
			c.references(patch)
		case patch.Kind == yaml.SequenceNode && target.name != "":
			c.operations(root, patch, target)
		}
		after, err := encode(patch)
		c.errs = append(c.errs, err)
		changed = changed || before != after
		texts = append(texts, after)
	}
	if changed {
		field.Value = strings.Join(texts, "---\n")
	}
}

// ofCAPD is a path of a JSON patch that may be of CAPD's kinds, or count the patches of a
// ClusterClass, of which the conversion adds and removes some.
var ofCAPD = regexp.MustCompile(`/backend(/|$)|/(customImage|preLoadImages|loadBalancer)(/|$)|^/spec/patches/`)

// looseOperations is a JSON patch in a file of its own.
func (c *converter) looseOperations(root *yaml.Node) {
	for _, operation := range root.Content {
		if path := get(operation, "path"); path != nil && ofCAPD.MatchString(path.Value) {
			c.report(path, root, path.Value, otherPatch())
		}
	}
}
