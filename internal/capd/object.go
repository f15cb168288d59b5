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
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// entry is a field of an object, and its path.
type entry struct {
	key, value *yaml.Node
	path       string
}

// object converts the fields of an object of CAPD.
func (c *converter) object(root *yaml.Node, kind kind) {
	remove(root, "status")
	if strings.HasPrefix(kind.name, "ContainerCluster") {
		c.clusters = append(c.clusters, &cluster{file: c.document.file, kind: kind, root: root})
	}
	spec := get(root, kind.spec)
	if spec == nil || spec.Tag == "!!null" {
		return
	}
	if spec.Kind != yaml.MappingNode {
		c.errs = append(c.errs, fmt.Errorf("%s:%d: %s of %s is no mapping; correct it", c.document.file, c.document.at(spec), kind.spec, value(root, "kind")))
		return
	}
	var content []*yaml.Node
	for _, field := range c.flatten(root, spec, kind) {
		if key, value := c.field(root, field, kind); value != nil {
			renamed := *field.key
			renamed.Value = key
			content = append(content, &renamed, value)
		}
	}
	spec.Content = nil
	makePath(spec, kind.into).Content = content
	if len(spec.Content) > 0 {
		spec.Style &^= yaml.FlowStyle
	}
}

// flatten lists the fields of a spec, with those that CAPD has below its settings.
func (c *converter) flatten(root, spec *yaml.Node, kind kind) []entry {
	var found []entry
	below, backend, _ := strings.Cut(kind.settings, ".")
	for i := 0; i+1 < len(spec.Content); i += 2 {
		key, value := spec.Content[i], spec.Content[i+1]
		path := kind.spec + "." + key.Value
		switch {
		case key.Value != below:
			found = append(found, entry{key, value, path})
		case backend == "":
			found = append(found, entries(value, path)...)
		default:
			found = append(found, entries(get(value, backend), path+"."+backend)...)
			for _, other := range entries(value, path) {
				switch other.key.Value {
				case backend:
				case "inMemory":
					c.report(other.key, root, other.path, inMemory())
				default:
					c.report(other.key, root, other.path, unknownField())
				}
			}
		}
	}
	return found
}

func entries(mapping *yaml.Node, path string) []entry {
	var found []entry
	if mapping != nil && mapping.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			found = append(found, entry{mapping.Content[i], mapping.Content[i+1], path + "." + mapping.Content[i].Value})
		}
	}
	return found
}

// field returns what becomes of a field: its name and its value, which is nil where it is left out.
func (c *converter) field(root *yaml.Node, field entry, kind kind) (string, *yaml.Node) {
	to, known := kind.fields[field.key.Value]
	if !known {
		c.report(field.key, root, field.path, unknownField())
		return "", nil
	}
	empty := len(field.value.Content) == 0 && (field.value.Kind == yaml.SequenceNode || field.value.Kind == yaml.MappingNode)
	if empty || field.value.Tag == "!!null" {
		return "", nil
	}
	c.words.nullDefault(field.value)
	switch field.key.Value {
	case preLoadImages:
		c.images = append(c.images, images{field.key, field.value, c.finding(field.key, root, field.path, to)})
		return "", nil
	case "loadBalancer":
		return "loadBalancer", c.loadBalancer(root, field)
	case "controlPlaneEndpoint":
		return to.to, c.endpoint(root, field, kind)
	case "failureDomains":
		return to.to, failureDomains(field.value)
	case "extraMounts":
		for i, mount := range field.value.Content {
			c.reportUnknown(root, entry{field.key, mount, fmt.Sprintf("%s[%d]", field.path, i)}, "containerPath", "hostPath", "readOnly")
			if strings.HasSuffix(value(mount, "hostPath"), "/docker.sock") {
				c.report(mount, root, field.path, engineSocket())
			}
		}
	}
	if to.to == "" {
		c.report(field.key, root, field.path, to)
		return "", nil
	}
	return to.to, field.value
}

// reportUnknown fields below a field.
func (c *converter) reportUnknown(root *yaml.Node, field entry, known ...string) {
	for _, below := range entries(field.value, field.path) {
		if !slices.Contains(known, below.key.Value) {
			c.report(below.key, root, below.path, unknownField())
		}
	}
}

// loadBalancer returns that of this provider, which needs other images: CAPD's has no shell.
func (c *converter) loadBalancer(root *yaml.Node, field entry) *yaml.Node {
	c.reportUnknown(root, field, "imageRepository", "imageTag", "customHAProxyConfigTemplateRef")
	if custom := get(field.value, "customHAProxyConfigTemplateRef"); custom != nil {
		c.report(custom, root, field.path+".customHAProxyConfigTemplateRef", move{
			reason: "the provider writes the configuration of HAProxy itself",
			remedy: "use spec.loadBalancer.additionalPorts for more ports, or type None and a load balancer of your own",
		})
	}
	repository, tag := value(field.value, "imageRepository"), value(field.value, "imageTag")
	switch c.words.restore(repository) {
	case "", "kindest", "docker.io/kindest":
		if repository+tag != "" {
			c.report(field.value, root, field.path, move{
				reason: "kindest/haproxy has no bash, which the provider needs",
				remedy: "nothing to do: the provider chooses an image",
			})
		}
		return nil
	}
	c.report(field.value, root, field.path, move{
		reason: "the image needs HAProxy 2.6 or newer, and bash",
		remedy: "check it, or remove spec.loadBalancer.image: the provider chooses one",
	})
	return mappingOf(word("image"), word(repository+"/haproxy:"+cmp.Or(tag, "v20230606-42a2262b")))
}

// endpoint keeps the port: the host is that of CAPD's load balancer.
func (c *converter) endpoint(root *yaml.Node, field entry, kind kind) *yaml.Node {
	if host := get(field.value, "host"); kind.name == clusterTemplate || host != nil && host.Value != "" {
		c.report(field.value, root, field.path, move{
			reason: "the endpoint belongs to one load balancer, and the provider chooses its address",
			remedy: "nothing to do, or set type None and the endpoint of a load balancer of your own",
		})
	}
	if port := get(field.value, "port"); port != nil && port.Value != "0" && kind.name != clusterTemplate {
		return mappingOf(word("port"), port)
	}
	return nil
}

// failureDomains are a mapping by name in v1beta1.
func failureDomains(value *yaml.Node) *yaml.Node {
	if value.Kind != yaml.MappingNode {
		return value
	}
	list := sequenceOf()
	for _, domain := range entries(value, "") {
		content := slices.Concat([]*yaml.Node{word("name"), word(domain.key.Value)}, domain.value.Content)
		list.Content = append(list.Content, mappingOf(content...))
	}
	return list
}

// placeImages moves the images of machines to their cluster: the only one of their file, or of all files.
func (c *converter) placeImages() {
	for _, from := range c.images {
		if to := c.clusterOf(from); to != nil {
			if to.images == nil {
				from.key.Value = "images"
				to.images = from.list
				spec := makePath(to.root, to.kind.spec)
				spec.Style &^= yaml.FlowStyle
				spec.Content = append(spec.Content, from.key, from.list)
			}
			if c.join(to.images, from.list) {
				from.found.Remedy = fmt.Sprintf("nothing to do: they are in %s.images of %s/%s",
					to.kind.spec, value(to.root, "kind"), c.words.restore(value(to.root, "metadata.name")))
			}
		}
		c.findings = append(c.findings, from.found)
	}
}

func (c *converter) clusterOf(from images) *cluster {
	of := slices.DeleteFunc(slices.Clone(c.clusters), func(found *cluster) bool { return found.file != from.found.File })
	switch {
	case len(of) == 1:
		return of[0]
	case len(of) == 0 && len(c.clusters) == 1:
		return c.clusters[0]
	}
	return nil
}

// join adds the images of a list to another, unless one of them is a variable.
func (c *converter) join(to, from *yaml.Node) bool {
	if to.Kind != yaml.SequenceNode || from.Kind != yaml.SequenceNode {
		return c.words.restore(to.Value) == c.words.restore(from.Value) && to.Kind == from.Kind
	}
	for _, image := range from.Content {
		if !slices.ContainsFunc(to.Content, func(has *yaml.Node) bool {
			return c.words.restore(has.Value) == c.words.restore(image.Value)
		}) {
			to.Content = append(to.Content, image)
		}
	}
	return true
}

// fillTemplates gives templates of clusters that would have no spec the default of a field: the
// API requires one, and patches of a ClusterClass that its mapping is there.
func (c *converter) fillTemplates() {
	for _, cluster := range c.clusters {
		if cluster.kind.name == clusterTemplate {
			if spec := makePath(cluster.root, cluster.kind.spec); len(spec.Content) == 0 {
				spec.Style &^= yaml.FlowStyle
				set(spec, "loadBalancer", mappingOf(word("type"), word("HAProxy")))
			}
		}
	}
}
