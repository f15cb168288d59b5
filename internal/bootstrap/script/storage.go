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

package script

import (
	"cmp"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// directories are made parents first, whatever their order.
func (p *planner) directories(directories []userdata.Dir) {
	indexes := make([]int, len(directories))
	for i := range indexes {
		indexes[i] = i
	}
	slices.SortStableFunc(indexes, func(a, b int) int {
		return cmp.Compare(strings.Count(directories[a].Path, "/"), strings.Count(directories[b].Path, "/"))
	})
	for _, i := range indexes {
		directory, name := directories[i], stepName("storage.directories", i)
		s := newStep("directory", name)
		p.place(&s, name, place{path: directory.Path, owner: directory.Owner, mode: directory.Mode, overwrite: directory.Overwrite})
		p.steps = append(p.steps, s)
	}
}

func (p *planner) links(links []userdata.Link) {
	for i, link := range links {
		name := stepName("storage.links", i)
		s := newStep("link", name)
		p.place(&s, name, place{path: link.Path, owner: link.Owner, overwrite: link.Overwrite})
		s.put("target", p.line(name, link.Target))
		if link.Hard {
			s.put("hard", "")
		}
		p.steps = append(p.steps, s)
	}
}

// units writes the files of all units, then starts the enabled ones in one step.
func (p *planner) units(units []userdata.Unit) {
	if len(units) == 0 {
		return
	}
	for i, unit := range units {
		for _, file := range unit.Files() {
			p.putFile(userdata.UnitStep(i), file)
		}
	}
	states := userdata.UnitStates(units)
	s := newStep("units", userdata.UnitStep(0))
	s.put("masked", list(states, func(s userdata.UnitState) bool { return s.Masked }))
	s.put("disabled", list(states, func(s userdata.UnitState) bool { return s.Enabled == userdata.SwitchOff && !s.Masked }))
	s.put("changed", list(states, func(s userdata.UnitState) bool { return s.Changed && !s.Masked && s.Enabled != userdata.SwitchOff }))
	s.put("enabled", list(states, userdata.UnitState.Starts))
	p.steps = append(p.steps, s)
}

// list is a file of a step with the units that match, each after the name of its step.
func list(states []userdata.UnitState, matches func(userdata.UnitState) bool) string {
	var out strings.Builder
	for _, state := range states {
		if matches(state) {
			out.WriteString(state.Step + " " + state.Name + "\n")
		}
	}
	return out.String()
}
