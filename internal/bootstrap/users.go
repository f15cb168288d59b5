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
	"strings"

	"go.yaml.in/yaml/v3"
)

// account is the name of a user or group, or a numeric id. It cannot be taken for a flag.
var account = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\$?$`)

func validAccount(name string) bool {
	return account.MatchString(name)
}

// users reads users. The entry "default" asks for the distribution's own user; node images have none, so that it
// stands for nothing.
func (p *parser) users(module entry) ([]User, error) {
	items, err := p.list(module.value, module.key)
	if err != nil {
		return nil, err
	}
	users := make([]User, 0, len(items))
	for i, item := range items {
		name := fmt.Sprintf("%s[%d]", module.key, i)
		user, err := p.user(item, name)
		if err != nil {
			return nil, err
		}
		if user.Name == "default" {
			users = append(users, User{})
			continue
		}
		if !validAccount(user.Name) {
			return nil, p.invalid(item, "%s.name is not a user's name", name)
		}
		users = append(users, user)
	}
	return users, nil
}

func (p *parser) user(item *yaml.Node, name string) (User, error) {
	if item.Kind == yaml.ScalarNode {
		account, err := p.line(item, name)
		return User{Name: account}, err
	}
	entries, err := p.mapping(item, name)
	if err != nil {
		return User{}, err
	}
	var user User
	for _, e := range entries {
		known, err := p.userField(&user, e, name+"."+e.key)
		if err != nil {
			return User{}, err
		}
		if !known {
			p.refuse(name + "." + e.key)
		}
	}
	return user, nil
}

func (p *parser) userField(user *User, e entry, field string) (known bool, err error) {
	if known, err = p.userFlag(user, e, field); known {
		return true, err
	}
	switch e.key {
	case "groups":
		user.Groups, err = p.groups(e.value, field)
	case "primary_group":
		user.PrimaryGroup, err = p.group(e.value, field)
	case "sudo":
		user.Sudo, err = p.sudo(e.value, field)
	case "ssh_authorized_keys", "ssh-authorized-keys":
		user.SSHAuthorizedKeys, err = p.lines(e.value, field)
	case "inactive":
		user.Inactive, err = p.inactive(e.value, field)
	default:
		target := user.text(e.key)
		if target == nil {
			return false, nil
		}
		*target, err = p.line(e.value, field)
	}
	return true, err
}

// text returns the field of a key that is a plain string.
func (u *User) text(key string) *string {
	switch key {
	case "name":
		return &u.Name
	case "gecos":
		return &u.Gecos
	case "homedir":
		return &u.HomeDir
	case "shell":
		return &u.Shell
	case "uid":
		return &u.UID
	case "expiredate":
		return &u.ExpireDate
	case "passwd":
		return &u.PasswordHash
	case "hashed_passwd":
		return &u.NewPasswordHash
	case "plain_text_passwd":
		return &u.NewPassword
	default:
		return nil
	}
}

func (p *parser) userFlag(user *User, e entry, field string) (known bool, err error) {
	switch e.key {
	case "system":
		user.System, err = p.flag(e.value, field)
	case "no_create_home":
		user.NoCreateHome, err = p.flag(e.value, field)
	case "no_user_group":
		user.NoUserGroup, err = p.flag(e.value, field)
	case "lock_passwd", "lock-passwd":
		lock, err := p.flag(e.value, field)
		user.UnlockPassword = !lock && !isNull(e.value)
		return true, err
	case "create_groups", "no_log_init":
		// Groups that are named must exist for useradd, and the size of the login log does not matter in a container.
		_, err = p.flag(e.value, field)
	default:
		return false, nil
	}
	return true, err
}

// groups reads a list of names or a string with commas.
func (p *parser) groups(node *yaml.Node, field string) ([]string, error) {
	names, err := p.lines(node, field)
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, name := range names {
		for part := range strings.SplitSeq(name, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			if !validAccount(part) {
				return nil, p.invalid(node, "%s holds what is not a group's name", field)
			}
			groups = append(groups, part)
		}
	}
	return groups, nil
}

func (p *parser) group(node *yaml.Node, field string) (string, error) {
	name, err := p.line(node, field)
	if err == nil && name != "" && !validAccount(name) {
		return "", p.invalid(node, "%s is not a group's name", field)
	}
	return name, err
}

// sudo reads a rule or a list of rules; false means none.
func (p *parser) sudo(node *yaml.Node, field string) ([]string, error) {
	if allowed, ok := boolean(node); ok && !allowed {
		return nil, nil
	}
	return p.lines(node, field)
}

// inactive reads days. Cluster API has a boolean here: true disables the account once its password has expired.
func (p *parser) inactive(node *yaml.Node, field string) (string, error) {
	inactive, ok := boolean(node)
	switch {
	case ok && inactive:
		return "0", nil
	case ok:
		return "", nil
	default:
		return p.line(node, field)
	}
}

// lines reads a string or a list of strings, each on one line. Empty ones are left out.
func (p *parser) lines(node *yaml.Node, field string) ([]string, error) {
	items := []*yaml.Node{node}
	if deref(node).Kind == yaml.SequenceNode {
		items = deref(node).Content
	}
	var lines []string
	for _, item := range items {
		if err := p.visit(item); err != nil {
			return nil, err
		}
		line, err := p.line(item, field)
		if err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}
