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
	"cmp"
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
// It walks the JSON by itself. The library that defines the format, which Cluster API's bootstrap provider writes it with,
// passes over keys that it does not know, takes the last of equal keys, quotes the data in its reports and has no limits;
// the manager and capcon would get six modules with it. What it would add, a handful of checks of values, is here.
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
	err = p.ignitionSections(&config).read(sections, "", p.mustBeEmpty(""))
	if err := cmp.Or(err, p.refused()); err != nil {
		return Config{}, err
	}
	if !slices.ContainsFunc(unitStates(config.Units), unitState.starts) {
		return Config{}, &InvalidError{Problem: "systemd.units: no unit is enabled, so the node would not bootstrap; enable one"}
	}
	return config, nil
}

// ignitionVersion comes first: of another version nothing else can be judged.
func (p *parser) ignitionVersion(sections []entry) error {
	var version string
	known := fields{"version": into(&version, p.line)}
	err := fields{
		"ignition": func(node *yaml.Node, path string) error { return p.object(node, path, known, ignore) },
	}.read(sections, "", ignore)
	switch {
	case err != nil:
		return err
	case version == "":
		return &InvalidError{Problem: "ignition.version is required; use " + ignitionVersion}
	case version != ignitionVersion:
		p.refuseFor("ignition.version", strconv.Quote(cut(version)), "use "+ignitionVersion+", the version of the kubeadm bootstrap provider")
	}
	return p.refused()
}

func (p *parser) ignitionSections(config *Config) fields {
	const noNetwork = "the engine configures the network of nodes; use spec.network of the ContainerCluster"
	return fields{
		"ignition": p.section(fields{
			"version": ignore,
			// Of fetching, and nothing is fetched.
			"timeouts": ignore,
			"config":   p.mustBeEmpty("remote configuration is not supported; put all configuration into the bootstrap data Secret"),
			"security": p.mustBeEmpty("remote files are not supported; remove it"),
		}),
		"passwd": p.section(fields{
			"groups": into(&config.Groups, listOf(p, p.ignitionGroup)),
			"users":  into(&config.Users, listOf(p, p.ignitionUser)),
		}),
		"storage": p.section(fields{
			"files":       into(&config.Files, listOf(p, p.ignitionFile)),
			"directories": into(&config.Directories, listOf(p, p.ignitionDirectory)),
			"links":       into(&config.Links, listOf(p, p.ignitionLink)),
			"disks":       p.mustBeEmpty(noDisks),
			"raid":        p.mustBeEmpty(noDisks),
			"filesystems": p.mustBeEmpty(noDisks),
		}),
		"systemd": p.section(fields{"units": into(&config.Units, listOf(p, p.unit))}),
		"networkd": func(node *yaml.Node, path string) error {
			return p.mustBeEmpty(noNetwork)(node, path+".units")
		},
	}
}

// section reads an object in which keys that are not known must be empty.
func (p *parser) section(known fields) func(*yaml.Node, string) error {
	return func(node *yaml.Node, path string) error {
		return p.object(node, path, known, p.mustBeEmpty(""))
	}
}

func ignore(*yaml.Node, string) error { return nil }

// mustBeEmpty notes a field that is not supported, if it asks for something: providers emit empty sections.
func (p *parser) mustBeEmpty(remedy string) func(*yaml.Node, string) error {
	return func(node *yaml.Node, path string) error {
		if !isEmpty(node) {
			p.refuseFor(path, "", remedy)
		}
		return nil
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
		return 0, p.invalid(node, "%s is not an integer from 0 to %d", path, most)
	}
	return number, nil
}

// cut bounds what is shown of a value.
func cut(value string) string {
	const longest = 32
	return strings.ToValidUTF8(value[:min(len(value), longest)], "")
}
