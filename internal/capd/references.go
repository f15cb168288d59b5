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
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// references gives each object and reference of CAPD's kinds its kind and version here, and the
// rules of roles their resources.
func (c *converter) references(root *yaml.Node) {
	visit(root, func(node *yaml.Node) {
		if at := find(node, "kind"); at >= 0 && node.Content[at+1].Kind == yaml.ScalarNode {
			c.reference(node, node.Content[at+1])
		}
		for _, resource := range elements(node, "resources") {
			c.resource(resource)
		}
	})
}

func (c *converter) reference(node, name *yaml.Node) {
	group := c.group(node)
	if group != "" && group != infrav1.GroupVersion.Group {
		return
	}
	known, is := c.kinds[name.Value]
	switch {
	case is:
		name.Value = known.name
		if version := get(node, "apiVersion"); version != nil {
			version.Value = infrav1.GroupVersion.String()
		}
		if version := get(node, "version"); version != nil && group != "" { // of a kustomization's target
			version.Value = infrav1.GroupVersion.Version
		}
	case group != "" && !c.isOurs(name.Value) && !strings.Contains(c.words.restore(name.Value), "${"):
		c.errs = append(c.errs, fmt.Errorf("%s:%d: unknown kind %q of %s; use one of %s, or leave the document out",
			c.document.file, c.document.at(name), name.Value, group, strings.Join(slices.Sorted(maps.Keys(c.kinds)), ", ")))
	}
}

// group of the API that an object or a reference has; empty where it has none.
func (c *converter) group(node *yaml.Node) string {
	for _, key := range []string{"apiGroup", "group"} {
		if group := value(node, key); group != "" {
			return c.words.restore(group)
		}
	}
	group, _, hasGroup := strings.Cut(c.words.restore(value(node, "apiVersion")), "/")
	if !hasGroup {
		return ""
	}
	return group
}

func (c *converter) isOurs(name string) bool {
	for _, known := range c.kinds {
		if known.name == name {
			return true
		}
	}
	return false
}

func (c *converter) resource(node *yaml.Node) {
	name, subresource, _ := strings.Cut(node.Value, "/")
	for from, to := range c.kinds {
		if name == strings.ToLower(from)+"s" {
			node.Value = strings.TrimSuffix(strings.ToLower(to.name)+"s/"+subresource, "/")
			return
		}
	}
}
