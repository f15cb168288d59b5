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

// unit reads an entry about a unit. Several may be about the same one.
func (p *parser) unit(node *yaml.Node, name string) (Unit, error) {
	var unit Unit
	var text string
	var enable bool
	err := p.section(fields{
		"name":     into(&unit.Name, p.line),
		"contents": into(&text, p.text),
		"dropins":  into(&unit.DropIns, listOf(p, p.dropIn)),
		"mask":     into(&unit.Mask, p.flag),
		"enabled":  into(&unit.Enabled, p.toggle),
		// The name that "enabled" had before, without a way to say no.
		"enable": into(&enable, p.flag),
	})(node, name)
	if err == nil && (!unitName.MatchString(unit.Name) || unit.Name == UnitName) {
		err = p.invalid(node, "%s.name is not a valid unit name, such as example.service", name)
	}
	if enable && unit.Enabled == SwitchUnset {
		unit.Enabled = SwitchOn
	}
	unit.Content = []byte(text)
	return unit, err
}

func (p *parser) dropIn(node *yaml.Node, name string) (DropIn, error) {
	var dropIn DropIn
	var text string
	err := p.section(fields{"name": into(&dropIn.Name, p.line), "contents": into(&text, p.text)})(node, name)
	if err == nil && !dropInName.MatchString(dropIn.Name) {
		err = p.invalid(node, "%s.name is not a valid drop-in name, such as 10-example.conf", name)
	}
	dropIn.Content = []byte(text)
	return dropIn, err
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
