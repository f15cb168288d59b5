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
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// step is one directory of the archive that the script carries out. What it is follows from the end of its name.
type step struct {
	kind  string
	files []stepFile
}

type stepFile struct {
	name    string
	content []byte
}

// newStep is a step of a kind; name is what messages call it.
func newStep(kind, name string) step {
	s := step{kind: kind}
	s.put("step", name+"\n")
	return s
}

func (s *step) directory(index int) string {
	return fmt.Sprintf("%05d-%s", index, s.kind)
}

func (s *step) put(name, content string) {
	s.files = append(s.files, stepFile{name: name, content: []byte(content)})
}

// plan orders everything into steps, in cloud-init's order.
func plan(config userdata.Config) (planner, error) {
	var p planner
	p.commands("bootcmd", config.BootCommands)
	files, users := "write_files", "users"
	if config.Format == userdata.FormatIgnition {
		files, users = "storage.files", "passwd.users"
	}
	p.putFiles(files, config.Files, func(f userdata.File) bool { return !f.Defer })
	p.groups(config.Groups)
	p.users(users, config.Users)
	p.directories(config.Directories)
	p.putFiles(files, config.Files, func(f userdata.File) bool { return f.Defer })
	p.links(config.Links)
	p.init = completion(config, p.commandsDirectory())
	p.commands(runcmd, config.Commands)
	p.units(config.Units)
	return p, p.err
}

// planner collects steps and the first error.
type planner struct {
	steps []step
	init  initCompletion
	err   error
}

// line is a value that must stay on its line of a step's file.
func (p *planner) line(step, value string) string {
	if p.err == nil && strings.ContainsFunc(value, reader.IsControl) {
		p.err = fmt.Errorf("%s has a value with a control character", step)
	}
	return value + "\n"
}

// lines are values, each on a line of its own.
func (p *planner) lines(step string, values []string) string {
	var out strings.Builder
	for _, value := range values {
		out.WriteString(p.line(step, value))
	}
	return out.String()
}

func (p *planner) putFiles(list string, files []userdata.File, matches func(userdata.File) bool) {
	for i, file := range files {
		if matches(file) {
			p.putFile(stepName(list, i), file)
		}
	}
}

func (p *planner) putFile(name string, file userdata.File) {
	s := newStep("file", name)
	p.place(&s, name, place{path: file.Path, owner: file.Owner, mode: file.Mode, overwrite: file.Overwrite})
	if file.Append {
		s.put("append", "")
	}
	if file.KeepAttributes {
		s.put("keep", "")
	}
	s.files = append(s.files, stepFile{name: "content", content: file.Content})
	p.steps = append(p.steps, s)
}

// place is where something goes, whose it is and what becomes of what is there.
type place struct {
	path, owner string
	mode        uint32
	overwrite   userdata.Switch
}

func (p *planner) place(s *step, name string, where place) {
	s.put("path", p.line(name, where.path))
	s.put("owner", p.line(name, cmp.Or(where.owner, "root:root")))
	s.put("mode", fmt.Sprintf("%04o\n", cmp.Or(where.mode, 0o644)&0o7777))
	switch where.overwrite {
	case userdata.SwitchOn:
		s.put("overwrite", "yes\n")
	case userdata.SwitchOff:
		s.put("overwrite", "no\n")
	}
}
