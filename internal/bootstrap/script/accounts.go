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
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// groups are created before the users that may be in them.
func (p *planner) groups(groups []userdata.Group) {
	for i, group := range groups {
		name := stepName("passwd.groups", i)
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
func changes(u userdata.User) []string {
	changes := attributes(u, "--home")
	if u.HomeDir != "" {
		changes = append(changes, "--move-home")
	}
	return changes
}

// attributes are the arguments that useradd and usermod share.
func attributes(u userdata.User, home string) (attributes arguments) {
	attributes.add("--comment", u.Gecos)
	attributes.add(home, u.HomeDir)
	attributes.add("--shell", u.Shell)
	attributes.add("--uid", u.UID)
	attributes.add("--gid", u.PrimaryGroup)
	attributes.add("--groups", strings.Join(u.Groups, ","))
	return attributes
}

func (p *planner) users(list string, users []userdata.User) {
	for i, user := range users {
		if user.Name == "" {
			continue
		}
		name := stepName(list, i)
		s := newStep("user", name)
		s.put("user", p.line(name, user.Name))
		groups := user.Groups
		if user.PrimaryGroup != "" {
			groups = append([]string{user.PrimaryGroup}, groups...)
		}
		s.put("groups", p.lines(name, groups))
		s.put("options", p.lines(name, options(user)))
		if user.Update {
			s.put("update", p.lines(name, changes(user)))
		}
		p.secrets(&s, name, user)
		p.steps = append(p.steps, s)
	}
}

// secrets puts what gives access to an account. Passwords are read from files by chpasswd: arguments can be seen by
// every process.
func (p *planner) secrets(s *step, name string, user userdata.User) {
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

// arguments are flags with values, each in one word, so that no value can be taken for a flag.
type arguments []string

func (a *arguments) add(flag, value string) {
	if value != "" {
		*a = append(*a, flag+"="+value)
	}
}

// options are the arguments of useradd.
func options(u userdata.User) []string {
	options := attributes(u, "--home-dir")
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
