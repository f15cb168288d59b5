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
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// unitName is the file name of a systemd unit. It cannot be taken for a flag or leave its directory.
var unitName = regexp.MustCompile(
	`^[A-Za-z0-9_:][A-Za-z0-9_:.@\\-]{0,200}\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$`)

var dropInName = regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9_:.@-]{0,200}\.conf$`)

// systemd reads units. An entry keeps its place, so that systemd.units[1] names the second of the data; several may be
// about the same unit.
func (p *parser) systemd(config *Config, field entry, path string) error {
	if field.key != "units" {
		p.refuseUnlessEmpty(field.value, path, "")
		return nil
	}
	return p.items(field.value, path, func(fields []entry, node *yaml.Node, path string) error {
		unit, err := p.unit(fields, node, path)
		config.Units = append(config.Units, unit)
		return err
	})
}

func (p *parser) unit(fields []entry, node *yaml.Node, name string) (Unit, error) {
	var unit Unit
	var text string
	for _, field := range fields {
		path := name + "." + field.key
		var err error
		switch field.key {
		case "name":
			unit.Name, err = p.line(field.value, path)
		case "contents":
			text, err = p.text(field.value, path)
		case "dropins":
			unit.DropIns, err = p.dropIns(field.value, path)
		case "mask":
			unit.Mask, err = p.flag(field.value, path)
		case "enabled":
			unit.Enabled, err = p.toggle(field.value, path)
		case "enable":
			// The name that "enabled" had before, without a way to say no.
			var enable bool
			if enable, err = p.flag(field.value, path); enable && unit.Enabled == SwitchUnset {
				unit.Enabled = SwitchOn
			}
		default:
			p.refuseUnlessEmpty(field.value, path, "")
		}
		if err != nil {
			return Unit{}, err
		}
	}
	if !unitName.MatchString(unit.Name) || unit.Name == UnitName {
		return Unit{}, p.invalid(node, "%s.name is not the name of a unit, such as example.service", name)
	}
	unit.Content = []byte(text)
	return unit, nil
}

func (p *parser) dropIns(node *yaml.Node, path string) (dropIns []DropIn, err error) {
	err = p.items(node, path, func(fields []entry, node *yaml.Node, name string) error {
		var dropIn DropIn
		for _, field := range fields {
			var text string
			var err error
			switch path := name + "." + field.key; field.key {
			case "name":
				dropIn.Name, err = p.line(field.value, path)
			case "contents":
				text, err = p.text(field.value, path)
				dropIn.Content = []byte(text)
			default:
				p.refuseUnlessEmpty(field.value, path, "")
			}
			if err != nil {
				return err
			}
		}
		if !dropInName.MatchString(dropIn.Name) {
			return p.invalid(node, "%s.name is not the name of a drop-in, such as 10-example.conf", name)
		}
		dropIns = append(dropIns, dropIn)
		return nil
	})
	return dropIns, err
}

// files are those of a unit and its drop-ins; empty ones are left out.
func (u Unit) files() []File {
	const directory = "/" + unitDirectory + "/"
	var files []File
	if len(u.Content) > 0 {
		files = append(files, File{Path: directory + u.Name, Overwrite: SwitchOn, Content: u.Content})
	}
	for _, dropIn := range u.DropIns {
		if len(dropIn.Content) > 0 {
			path := directory + u.Name + ".d/" + dropIn.Name
			files = append(files, File{Path: path, Overwrite: SwitchOn, Content: dropIn.Content})
		}
	}
	return files
}

// unitStep is the name of the step about an entry.
func unitStep(index int) string { return fmt.Sprintf("systemd.units[%d]", index) }

// unitState is what entries about the same unit come to.
type unitState struct {
	// step is the first entry's.
	step, name      string
	enabled         Switch
	masked, changed bool
}

// starts says that the unit is started at boot.
func (s unitState) starts() bool { return s.enabled == SwitchOn && !s.masked }

// unitStates merges the entries about each unit. The first that says whether it is enabled counts: so it is with
// systemd's presets, which is what Ignition writes.
func unitStates(units []Unit) []unitState {
	var states []unitState
	for i, unit := range units {
		at := slices.IndexFunc(states, func(s unitState) bool { return s.name == unit.Name })
		if at < 0 {
			at = len(states)
			states = append(states, unitState{step: unitStep(i), name: unit.Name})
		}
		state := &states[at]
		if state.enabled == SwitchUnset {
			state.enabled = unit.Enabled
		}
		state.masked = state.masked || unit.Mask
		state.changed = state.changed || len(unit.files()) > 0
	}
	return states
}

// list is a file of a step with the units that match, each after the name of its step.
func list(states []unitState, wanted func(unitState) bool) string {
	var out strings.Builder
	for _, state := range states {
		if wanted(state) {
			out.WriteString(state.step + " " + state.name + "\n")
		}
	}
	return out.String()
}
