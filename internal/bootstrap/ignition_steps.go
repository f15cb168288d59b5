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
	"fmt"
	"slices"
	"strings"
)

// groups are created before the users that may be in them.
func (p *planner) groups(groups []Group) {
	for i, group := range groups {
		name := fmt.Sprintf("passwd.groups[%d]", i)
		if !validAccount(group.Name) {
			p.refuse(name, "name is not a valid group name")
		}
		s := newStep("group", name)
		s.put("group", p.line(name, group.Name))
		var options arguments
		options.add("--gid", group.GID)
		if group.System {
			options = append(options, "--system")
		}
		s.put("options", p.lines(name, options))
		s.put("password", p.line(name, group.Name+":"+group.PasswordHash))
		p.steps = append(p.steps, s)
	}
}

// changes are the arguments of usermod for an account that exists.
func (u User) changes() []string {
	var changes arguments
	changes.add("--comment", u.Gecos)
	changes.add("--home", u.HomeDir)
	changes.add("--shell", u.Shell)
	changes.add("--uid", u.UID)
	changes.add("--gid", u.PrimaryGroup)
	changes.add("--groups", strings.Join(u.Groups, ","))
	if u.HomeDir != "" {
		changes = append(changes, "--move-home")
	}
	return changes
}

// directories are made parents first, whatever their order.
func (p *planner) directories(directories []Dir) {
	indexes := make([]int, len(directories))
	for i := range indexes {
		indexes[i] = i
	}
	slices.SortStableFunc(indexes, func(a, b int) int {
		return cmp.Compare(strings.Count(directories[a].Path, "/"), strings.Count(directories[b].Path, "/"))
	})
	for _, i := range indexes {
		directory, name := directories[i], fmt.Sprintf("storage.directories[%d]", i)
		s := newStep("directory", name)
		p.place(&s, name, place{path: directory.Path, owner: directory.Owner, mode: directory.Mode, overwrite: directory.Overwrite})
		p.steps = append(p.steps, s)
	}
}

func (p *planner) links(links []Link) {
	for i, link := range links {
		name := fmt.Sprintf("storage.links[%d]", i)
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
func (p *planner) units(units []Unit) {
	if len(units) == 0 {
		return
	}
	for i, unit := range units {
		if !unitName.MatchString(unit.Name) {
			p.refuse(unitStep(i), "name is not a valid unit name")
		}
		for _, file := range unit.files() {
			p.putFile(unitStep(i), file)
		}
	}
	states := unitStates(units)
	s := newStep("units", unitStep(0))
	s.put("masked", list(states, func(s unitState) bool { return s.masked }))
	s.put("disabled", list(states, func(s unitState) bool { return s.enabled == SwitchOff && !s.masked }))
	s.put("changed", list(states, func(s unitState) bool { return s.changed && !s.masked && s.enabled != SwitchOff }))
	s.put("enabled", list(states, unitState.starts))
	p.steps = append(p.steps, s)
}
