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
	"slices"
	"strings"
)

const (
	defaultOwner = "root:root"
	defaultMode  = 0o644
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
func plan(config Config) (planner, error) {
	var p planner
	p.commands("bootcmd", config.BootCommands)
	files, users := "write_files", "users"
	if config.Format == FormatIgnition {
		files, users = "storage.files", "passwd.users"
	}
	p.putFiles(files, config.Files, func(f File) bool { return !f.Defer })
	p.groups(config.Groups)
	p.users(users, config.Users)
	p.directories(config.Directories)
	p.putFiles(files, config.Files, func(f File) bool { return f.Defer })
	p.links(config.Links)
	p.init = config.completion("runcmd", p.commandsDirectory(), config.Commands)
	p.commands("runcmd", config.Commands)
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
	if p.err == nil && strings.ContainsFunc(value, isControl) {
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

// refuse notes an error about a step. The value itself is not quoted: it may be the user's.
func (p *planner) refuse(step, problem string) {
	if p.err == nil {
		p.err = fmt.Errorf("%s: %s", step, problem)
	}
}

func (p *planner) putFiles(list string, files []File, wanted func(File) bool) {
	for i, file := range files {
		if wanted != nil && !wanted(file) {
			continue
		}
		p.putFile(fmt.Sprintf("%s[%d]", list, i), file)
	}
}

func (p *planner) putFile(name string, file File) {
	if !strings.HasPrefix(file.Path, "/") || strings.HasSuffix(file.Path, "/") {
		p.refuse(name, "path is not a path of a file")
	}
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
	overwrite   Switch
}

func (p *planner) place(s *step, name string, where place) {
	if where.owner == "" {
		where.owner = defaultOwner
	}
	if where.mode == 0 {
		where.mode = defaultMode
	}
	s.put("path", p.line(name, where.path))
	s.put("owner", p.line(name, where.owner))
	s.put("mode", fmt.Sprintf("%04o\n", where.mode&maxMode))
	switch where.overwrite {
	case SwitchOn:
		s.put("overwrite", "yes\n")
	case SwitchOff:
		s.put("overwrite", "no\n")
	}
}

func (p *planner) users(list string, users []User) {
	for i, user := range users {
		if user.Name == "" {
			continue
		}
		name := fmt.Sprintf("%s[%d]", list, i)
		if !validAccount(user.Name) {
			p.refuse(name, "name is not a valid user name")
		}
		s := newStep("user", name)
		s.put("user", p.line(name, user.Name))
		if slices.ContainsFunc(user.allGroups(), func(group string) bool { return !validAccount(group) }) {
			p.refuse(name, "has an invalid group name")
		}
		s.put("groups", p.lines(name, user.allGroups()))
		s.put("options", p.lines(name, user.options()))
		if user.Update {
			s.put("update", p.lines(name, user.changes()))
		}
		p.secrets(&s, name, user)
		p.steps = append(p.steps, s)
	}
}

// secrets puts what gives access to an account. Passwords are read from files by chpasswd: arguments can be seen by
// every process.
func (p *planner) secrets(s *step, name string, user User) {
	password := func(file, value string) {
		if value != "" {
			s.put(file, p.line(name, user.Name+":"+value))
		}
	}
	password("password-created", user.PasswordHash)
	password("password-hash", user.NewPasswordHash)
	password("password", user.NewPassword)
	if !user.UnlockPassword {
		s.put("lock", "")
	}
	each := func(file, prefix string, values []string) {
		var text strings.Builder
		for _, value := range values {
			text.WriteString(p.line(name, prefix+value))
		}
		if text.Len() > 0 {
			s.put(file, text.String())
		}
	}
	each("sudo", user.Name+" ", user.Sudo)
	each("ssh-keys", "", user.SSHAuthorizedKeys)
}

func (u User) allGroups() []string {
	if u.PrimaryGroup == "" {
		return u.Groups
	}
	return append([]string{u.PrimaryGroup}, u.Groups...)
}

// arguments are flags with values, each in one word, so that no value can be taken for a flag.
type arguments []string

func (a *arguments) add(flag, value string) {
	if value != "" {
		*a = append(*a, flag+"="+value)
	}
}

// options are the arguments of useradd.
func (u User) options() []string {
	var options arguments
	options.add("--comment", u.Gecos)
	options.add("--home-dir", u.HomeDir)
	options.add("--shell", u.Shell)
	options.add("--uid", u.UID)
	options.add("--gid", u.PrimaryGroup)
	options.add("--groups", strings.Join(u.Groups, ","))
	options.add("--expiredate", u.ExpireDate)
	options.add("--inactive", u.Inactive)
	if u.System {
		options = append(options, "--system")
	}
	if u.NoUserGroup {
		options = append(options, "--no-user-group")
	}
	if u.NoCreateHome || u.System && !u.Update {
		return append(options, "--no-create-home")
	}
	return append(options, "--create-home")
}
