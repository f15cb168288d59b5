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

// Package cloudconfig reads the part of cloud-config that can be carried out in a container.
package cloudconfig

import (
	"cmp"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

const header = "#cloud-config"

var templateHeader = regexp.MustCompile(`(?i)^##\s*template:\s*(\S*)\s*$`)

type parser struct{ *reader.Reader }

// Parse reads cloud-config. One whose first line is "## template: jinja" is rendered with the instance's values first.
func Parse(r *reader.Reader, data string, instance userdata.Instance) (config userdata.Config, err error) {
	p := parser{r}
	text, err := p.text(data, instance)
	if err != nil {
		return config, err
	}
	root, err := p.YAML(text)
	if root == nil || err != nil {
		return config, err
	}
	err = p.Root(root, "cloud-config", reader.Fields{
		"bootcmd":     reader.Into(&config.BootCommands, reader.ListOf(r, p.command)),
		"write_files": reader.Into(&config.Files, reader.ListOf(r, p.file)),
		"users":       reader.Into(&config.Users, reader.ListOf(r, p.user)),
		"runcmd":      reader.Into(&config.Commands, reader.ListOf(r, p.command)),
	}, p.refuseModule)
	return config, cmp.Or(err, p.Refused())
}

// text returns the YAML of data: without the template header and rendered.
func (p parser) text(data string, instance userdata.Instance) (text string, err error) {
	text = data
	first, rest, _ := strings.Cut(text, "\n")
	if template := templateHeader.FindStringSubmatch(first); template != nil {
		if !strings.EqualFold(template[1], "jinja") {
			return "", &reader.InvalidError{Line: 1, Problem: "unsupported template type; use jinja"}
		}
		p.LineOffset = 1
		if text, err = render(rest, 2, instance); err != nil {
			return "", err
		}
		if err := p.Spend(len(text)); err != nil {
			return "", &reader.InvalidError{Problem: err.Error()}
		}
	}
	first, _, _ = strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != header {
		return "", &reader.InvalidError{Line: p.LineOffset + 1, Problem: "cloud-config must begin with the line " + header}
	}
	return text, nil
}

// refuseModule notes a module that is not supported, if it requests something.
func (p parser) refuseModule(node *yaml.Node, name string) error {
	if !isEmptyModule(node, name) {
		p.Refuse(name)
	}
	return nil
}

// isEmptyModule reports whether a module is there without a request: providers emit such modules for empty settings.
func isEmptyModule(value *yaml.Node, name string) bool {
	if reader.IsNull(value) || value.Kind != yaml.ScalarNode && len(value.Content) == 0 {
		return true
	}
	if name != "ntp" || value.Kind != yaml.MappingNode {
		return false
	}
	enabled := reader.Lookup(value, "enabled")
	if enabled == nil {
		return false
	}
	on, ok := reader.Boolean(enabled)
	return ok && !on
}
