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

package ignition

import (
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// unitName is the file name of a systemd unit. It cannot be taken for a flag or leave its directory.
var unitName = regexp.MustCompile(
	`^[A-Za-z0-9_:][A-Za-z0-9_:.@\\-]{0,200}\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$`)

var dropInName = regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9_:.@-]{0,200}\.conf$`)

// unit reads an entry about a unit. Several may be about the same one.
func (p parser) unit(node *yaml.Node, name string) (userdata.Unit, error) {
	var unit userdata.Unit
	var text string
	var enable bool
	err := p.section(reader.Fields{
		"name":     reader.Into(&unit.Name, p.Line),
		"contents": reader.Into(&text, p.Text),
		"dropins":  reader.Into(&unit.DropIns, reader.ListOf(p.Reader, p.dropIn)),
		"mask":     reader.Into(&unit.Mask, p.Flag),
		"enabled":  reader.Into(&unit.Enabled, p.toggle),
		// The name that "enabled" had before, without a way to say no.
		"enable": reader.Into(&enable, p.Flag),
	})(node, name)
	if err == nil && (!unitName.MatchString(unit.Name) || unit.Name == userdata.BootstrapUnit) {
		err = p.Invalid(node, "%s.name is not a valid unit name, such as example.service", name)
	}
	if enable && unit.Enabled == userdata.SwitchUnset {
		unit.Enabled = userdata.SwitchOn
	}
	unit.Content = []byte(text)
	return unit, err
}

func (p parser) dropIn(node *yaml.Node, name string) (userdata.DropIn, error) {
	var dropIn userdata.DropIn
	var text string
	err := p.section(reader.Fields{"name": reader.Into(&dropIn.Name, p.Line), "contents": reader.Into(&text, p.Text)})(node, name)
	if err == nil && !dropInName.MatchString(dropIn.Name) {
		err = p.Invalid(node, "%s.name is not a valid drop-in name, such as 10-example.conf", name)
	}
	dropIn.Content = []byte(text)
	return dropIn, err
}
