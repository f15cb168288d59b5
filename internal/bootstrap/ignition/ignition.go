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

// Package ignition reads the configurations that Cluster API's kubeadm bootstrap provider writes for Ignition.
//
// It walks the JSON by itself. The library that defines the format, which Cluster API's bootstrap provider writes it with,
// passes over keys that it does not know, takes the last of equal keys, quotes the data in its reports and has no limits;
// the manager and capcon would get six modules with it. What it would add, a handful of checks of values, is here.
package ignition

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// supportedVersion is the version of the specification that is read: what the kubeadm bootstrap provider writes. Version
// 3 is another language with the same name.
const supportedVersion = "2.3.0"

type parser struct{ *reader.Reader }

// Parse reads an Ignition configuration into the steps that Ignition would take before the first boot.
func Parse(r *reader.Reader, data []byte) (userdata.Config, error) {
	p := parser{r}
	config := userdata.Config{Format: userdata.FormatIgnition}
	root, err := reader.JSON(data)
	if err != nil {
		return config, err
	}
	if err := p.version(root); err != nil {
		return config, err
	}
	err = p.Root(root, configuration, p.sections(&config), p.mustBeEmpty(""))
	if err := cmp.Or(err, p.Refused()); err != nil {
		return config, err
	}
	if !slices.ContainsFunc(userdata.UnitStates(config.Units), userdata.UnitState.Starts) {
		return config, &reader.InvalidError{Problem: "systemd.units: no unit is enabled, so the node would not bootstrap; enable one"}
	}
	return config, nil
}

// configuration is what errors call the root.
const configuration = "the configuration"

// version comes first: of another version nothing else can be judged.
func (p parser) version(root *yaml.Node) error {
	var version string
	known := reader.Fields{"version": reader.Into(&version, p.Line)}
	err := p.Root(root, configuration, reader.Fields{
		"ignition": func(node *yaml.Node, path string) error { return p.Object(node, path, known, ignore) },
	}, ignore)
	switch {
	case err != nil:
		return err
	case version == "":
		return &reader.InvalidError{Problem: "ignition.version is required; use " + supportedVersion}
	case version != supportedVersion:
		p.Refuse("ignition.version", quote(version), "(use "+supportedVersion+", the version of the kubeadm bootstrap provider)")
	}
	return p.Refused()
}

func (p parser) sections(config *userdata.Config) reader.Fields {
	const noNetwork = "(the engine configures the network of nodes; use spec.network of the ContainerCluster)"
	return reader.Fields{
		"ignition": p.section(reader.Fields{
			"version": ignore,
			// Of fetching, and nothing is fetched.
			"timeouts": ignore,
			"config":   p.mustBeEmpty("(remote configuration is not supported; put all configuration into the bootstrap data Secret)"),
			"security": p.mustBeEmpty("(remote files are not supported; remove it)"),
		}),
		"passwd": p.section(reader.Fields{
			"groups": reader.Into(&config.Groups, reader.ListOf(p.Reader, p.group)),
			"users":  reader.Into(&config.Users, reader.ListOf(p.Reader, p.user)),
		}),
		"storage": p.section(reader.Fields{
			"files":       reader.Into(&config.Files, reader.ListOf(p.Reader, p.file)),
			"directories": reader.Into(&config.Directories, reader.ListOf(p.Reader, p.directory)),
			"links":       reader.Into(&config.Links, reader.ListOf(p.Reader, p.link)),
			"disks":       p.mustBeEmpty("(" + noDisks + ")"),
			"raid":        p.mustBeEmpty("(" + noDisks + ")"),
			"filesystems": p.mustBeEmpty("(" + noDisks + ")"),
		}),
		"systemd": p.section(reader.Fields{"units": reader.Into(&config.Units, reader.ListOf(p.Reader, p.unit))}),
		"networkd": func(node *yaml.Node, path string) error {
			return p.mustBeEmpty(noNetwork)(node, path+".units")
		},
	}
}

// section reads an object in which keys that are not known must be empty.
func (p parser) section(known reader.Fields) func(*yaml.Node, string) error {
	return func(node *yaml.Node, path string) error {
		return p.Object(node, path, known, p.mustBeEmpty(""))
	}
}

func ignore(*yaml.Node, string) error { return nil }

// mustBeEmpty notes a field that is not supported, if it requests something: providers emit empty sections.
func (p parser) mustBeEmpty(remedy string) func(*yaml.Node, string) error {
	return func(node *yaml.Node, path string) error {
		if !isEmpty(node) {
			p.Refuse(path, remedy)
		}
		return nil
	}
}

// isEmpty reports whether a value, and all that is in it, is nothing.
func isEmpty(node *yaml.Node) bool {
	if node.Kind == yaml.ScalarNode {
		return reader.IsNull(node) || node.Value == "" || node.ShortTag() == "!!bool" && node.Value == "false"
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
func (p parser) integer(node *yaml.Node, path string, most int) (int, error) {
	number, err := strconv.Atoi(node.Value)
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" || err != nil || number < 0 || number > most {
		return 0, p.Invalid(node, "%s is not an integer from 0 to %d", path, most)
	}
	return number, nil
}

// quote returns the beginning of a value that is safe to show.
func quote(value string) string {
	const longest = 32
	return strconv.Quote(strings.ToValidUTF8(value[:min(len(value), longest)], ""))
}
