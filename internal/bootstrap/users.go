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
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// account is the name of a user or group, or a numeric id. It cannot be taken for a flag.
var account = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\$?$`)

func validAccount(name string) bool {
	return account.MatchString(name)
}

// user reads an entry of users. The entry "default" asks for the distribution's own user; node images have none, so that
// it is ignored.
func (p *parser) user(item *yaml.Node, name string) (user User, err error) {
	if item.Kind == yaml.ScalarNode {
		user.Name, err = p.line(item, name)
	} else {
		user, err = p.userFields(item, name)
	}
	switch {
	case err != nil:
		return User{}, err
	case user.Name == "default":
		return User{}, nil
	case !validAccount(user.Name):
		return User{}, p.invalid(item, "%s.name is not a valid user name", name)
	}
	return user, nil
}

func (p *parser) userFields(item *yaml.Node, name string) (user User, err error) {
	unlock, keys := into(&user.UnlockPassword, p.unlock), into(&user.SSHAuthorizedKeys, p.lines)
	err = p.object(item, name, fields{
		"name":                into(&user.Name, p.line),
		"gecos":               into(&user.Gecos, p.line),
		"homedir":             into(&user.HomeDir, p.line),
		"shell":               into(&user.Shell, p.line),
		"uid":                 into(&user.UID, p.line),
		"primary_group":       into(&user.PrimaryGroup, p.accountName("a valid group name")),
		"groups":              into(&user.Groups, p.groups),
		"expiredate":          into(&user.ExpireDate, p.line),
		"inactive":            into(&user.Inactive, p.inactive),
		"system":              into(&user.System, p.flag),
		"no_create_home":      into(&user.NoCreateHome, p.flag),
		"no_user_group":       into(&user.NoUserGroup, p.flag),
		"passwd":              into(&user.PasswordHash, p.line),
		"hashed_passwd":       into(&user.NewPasswordHash, p.line),
		"plain_text_passwd":   into(&user.NewPassword, p.line),
		"lock_passwd":         unlock,
		"lock-passwd":         unlock,
		"sudo":                into(&user.Sudo, p.sudo),
		"ssh_authorized_keys": keys,
		"ssh-authorized-keys": keys,
		// Groups that are named must exist for useradd, and the size of the login log does not matter in a container.
		"create_groups": into(new(bool), p.flag),
		"no_log_init":   into(new(bool), p.flag),
	}, p.refuseField)
	return user, err
}

// unlock reads whether the password is not to be locked, which must be said.
func (p *parser) unlock(node *yaml.Node, field string) (bool, error) {
	lock, err := p.flag(node, field)
	return !lock && !isNull(node), err
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
				return nil, p.invalid(node, "%s has an invalid group name", field)
			}
			groups = append(groups, part)
		}
	}
	return groups, nil
}

// accountName reads a name that may be left out; what says whose it is.
func (p *parser) accountName(what string) reader[string] {
	return func(node *yaml.Node, field string) (string, error) {
		name, err := p.line(node, field)
		if err == nil && name != "" && !validAccount(name) {
			return "", p.invalid(node, "%s is not %s", field, what)
		}
		return name, err
	}
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
