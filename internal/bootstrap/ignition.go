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
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// FormatIgnition is the format that the kubeadm bootstrap provider writes where its configuration says "format: ignition".
const FormatIgnition = "ignition"

// ignitionVersion is the version of the specification that is read: what the kubeadm bootstrap provider writes. Version
// 3 is another language with the same name.
const ignitionVersion = "2.3.0"

// parseIgnition reads an Ignition configuration into the steps that Ignition would take before the first boot.
//
// It walks the JSON by itself. The library that defines the format ignores keys it does not know, quotes the data in
// its reports, and brings seven more modules; what it would add, a handful of checks of values, is here.
func (p *parser) parseIgnition(data []byte) (Config, error) {
	root, err := jsonNodes(data)
	if err != nil {
		return Config{}, err
	}
	sections, err := p.mapping(root, "the configuration")
	if err != nil {
		return Config{}, err
	}
	if err := p.ignitionVersion(sections); err != nil {
		return Config{}, err
	}
	config := Config{Format: FormatIgnition}
	for _, section := range sections {
		if err := p.ignitionSection(&config, section); err != nil {
			return Config{}, err
		}
	}
	if err := p.refused(); err != nil {
		return Config{}, err
	}
	if !slices.ContainsFunc(unitStates(config.Units), unitState.starts) {
		return Config{}, &InvalidError{Problem: "systemd.units: no unit is enabled, so that nothing would bootstrap the node; enable one"}
	}
	return config, nil
}

// ignitionVersion comes first: of another version nothing else can be judged.
func (p *parser) ignitionVersion(sections []entry) error {
	fields, err := p.mapping(valueOf(sections, "ignition"), "ignition")
	if err != nil {
		return err
	}
	version, err := p.line(valueOf(fields, "version"), "ignition.version")
	switch {
	case err != nil:
		return err
	case version == "":
		return &InvalidError{Problem: "ignition.version is missing; it must be " + ignitionVersion}
	case version != ignitionVersion:
		p.refuseFor("ignition.version", strconv.Quote(cut(version)), "use "+ignitionVersion+", which the kubeadm bootstrap provider writes")
	}
	return p.refused()
}

// valueOf returns the value of a key; null where there is none.
func valueOf(entries []entry, key string) *yaml.Node {
	at := slices.IndexFunc(entries, func(e entry) bool { return e.key == key })
	if at < 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return entries[at].value
}

func (p *parser) ignitionSection(config *Config, section entry) error {
	switch section.key {
	case "ignition":
		return p.each(section.value, section.key, nil, p.ignitionItself)
	case "passwd":
		return p.each(section.value, section.key, config, p.passwd)
	case "storage":
		return p.each(section.value, section.key, config, p.storage)
	case "systemd":
		return p.each(section.value, section.key, config, p.systemd)
	case "networkd":
		p.refuseUnlessEmpty(section.value, "networkd.units", "a node's network is the engine's; use the network of the ContainerCluster")
	default:
		p.refuseUnlessEmpty(section.value, section.key, "")
	}
	return nil
}

// each calls read with each field of a section.
func (p *parser) each(node *yaml.Node, path string, config *Config, read func(*Config, entry, string) error) error {
	fields, err := p.mapping(node, path)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if err := read(config, field, path+"."+field.key); err != nil {
			return err
		}
	}
	return nil
}

// ignitionItself reads what is about Ignition. Timeouts are those of fetching, and nothing is fetched.
func (p *parser) ignitionItself(_ *Config, field entry, path string) error {
	switch field.key {
	case "version", "timeouts":
	case "config":
		p.refuseUnlessEmpty(field.value, path, "nothing is fetched; write the whole configuration into the data secret")
	case "security":
		p.refuseUnlessEmpty(field.value, path, "nothing is fetched; leave it out")
	default:
		p.refuseUnlessEmpty(field.value, path, "")
	}
	return nil
}

// refuseUnlessEmpty notes a field that is not supported, if it asks for something: providers emit empty sections.
func (p *parser) refuseUnlessEmpty(node *yaml.Node, path, remedy string) {
	if !isEmpty(node) {
		p.refuseFor(path, "", remedy)
	}
}

// refuseFor notes a field that is not supported with what to do instead. The value must be safe to show.
func (p *parser) refuseFor(path, value, remedy string) {
	p.refuse(path)
	last := &p.unsupported[len(p.unsupported)-1]
	if value != "" {
		*last += " " + value
	}
	if remedy != "" {
		*last += " (" + remedy + ")"
	}
}

// isEmpty says that a value, or all there is in it, is nothing.
func isEmpty(node *yaml.Node) bool {
	if node.Kind == yaml.ScalarNode {
		return isNull(node) || node.Value == "" || node.ShortTag() == "!!bool" && node.Value == "false"
	}
	for i, child := range node.Content {
		isKey := node.Kind == yaml.MappingNode && i%2 == 0
		if !isKey && !isEmpty(child) {
			return false
		}
	}
	return true
}

// integer reads a whole number from 0 to most. A number in a string is refused: 0600 and 600 would be read alike.
func (p *parser) integer(node *yaml.Node, path string, most int) (int, error) {
	number, err := strconv.Atoi(node.Value)
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" || err != nil || number < 0 || number > most {
		return 0, p.invalid(node, "%s is not a whole number from 0 to %d", path, most)
	}
	return number, nil
}

// items calls read with each object of a list.
func (p *parser) items(node *yaml.Node, path string, read func(fields []entry, node *yaml.Node, path string) error) error {
	list, err := p.list(node, path)
	if err != nil {
		return err
	}
	for i, item := range list {
		path := fmt.Sprintf("%s[%d]", path, i)
		fields, err := p.mapping(item, path)
		if err != nil {
			return err
		}
		if err := read(fields, item, path); err != nil {
			return err
		}
	}
	return nil
}

// cut bounds what is shown of a value.
func cut(value string) string {
	const longest = 32
	return strings.ToValidUTF8(value[:min(len(value), longest)], "")
}
