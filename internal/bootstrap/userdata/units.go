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

package userdata

import (
	"fmt"
	"slices"
)

// BootstrapUnit is the systemd unit that bootstraps the node, which data must not have.
const BootstrapUnit = "cluster-api-bootstrap.service"

// Unit is a unit of systemd. Several may be about the same one.
type Unit struct {
	// Name of the unit's file, such as kubeadm.service.
	Name string
	// Content of the unit's file; empty for a unit that the image has.
	Content []byte
	// DropIns are put next to the unit's file.
	DropIns []DropIn
	// Enabled says whether the unit is started at boot. The first entry about a unit that says so counts.
	Enabled Switch
	// Mask keeps the unit from being started at all.
	Mask bool
}

// DropIn is a file that changes a unit.
type DropIn struct {
	// Name of the file, such as 10-example.conf.
	Name string
	// Content of the file.
	Content []byte
}

// Files are those of a unit and its drop-ins; empty ones are left out.
func (u Unit) Files() []File {
	const directory = "/etc/systemd/system/"
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

// UnitState is what entries about the same unit come to.
type UnitState struct {
	// Step is the first entry's.
	Step, Name string
	Enabled    Switch
	Masked     bool
	// Changed reports whether the data has files for the unit.
	Changed bool
}

// Starts reports whether the unit is started at boot.
func (s UnitState) Starts() bool { return s.Enabled == SwitchOn && !s.Masked }

// UnitStep is the name of the step about an entry.
func UnitStep(index int) string { return fmt.Sprintf("systemd.units[%d]", index) }

// UnitStates merges the entries about each unit. The first that says whether it is enabled counts: so it is with
// systemd's presets, which is what Ignition writes.
func UnitStates(units []Unit) []UnitState {
	var states []UnitState
	for i, unit := range units {
		at := slices.IndexFunc(states, func(s UnitState) bool { return s.Name == unit.Name })
		if at < 0 {
			at = len(states)
			states = append(states, UnitState{Step: UnitStep(i), Name: unit.Name})
		}
		state := &states[at]
		if state.Enabled == SwitchUnset {
			state.Enabled = unit.Enabled
		}
		state.Masked = state.Masked || unit.Mask
		state.Changed = state.Changed || len(unit.Files()) > 0
	}
	return states
}
