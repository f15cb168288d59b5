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
	"maps"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// noPassword is a hash that no password has.
const noPassword = "*"

func (p *parser) ignitionGroup(node *yaml.Node, name string) (Group, error) {
	var group Group
	err := p.section(fields{
		"name":         into(&group.Name, p.line),
		"gid":          into(&group.GID, p.id),
		"system":       into(&group.System, p.flag),
		"passwordHash": into(&group.PasswordHash, p.line),
	})(node, name)
	if err == nil && !validAccount(group.Name) {
		err = p.invalid(node, "%s.name is not a valid group name", name)
	}
	group.PasswordHash = cmp.Or(group.PasswordHash, noPassword)
	return group, err
}

// ignitionUser reads a user. One that exists is changed; one that is made has no password unless it is given one.
func (p *parser) ignitionUser(node *yaml.Node, name string) (User, error) {
	user := User{Update: true, UnlockPassword: true, PasswordHash: noPassword}
	known := fields{
		"name":              into(&user.Name, p.line),
		"gecos":             into(&user.Gecos, p.line),
		"homeDir":           into(&user.HomeDir, p.line),
		"shell":             into(&user.Shell, p.line),
		"uid":               into(&user.UID, p.id),
		"primaryGroup":      into(&user.PrimaryGroup, p.accountName("a valid group name")),
		"groups":            into(&user.Groups, p.groups),
		"sshAuthorizedKeys": into(&user.SSHAuthorizedKeys, p.lines),
		"passwordHash":      into(&user.NewPasswordHash, p.newPasswordHash),
		"system":            into(&user.System, p.flag),
		"noCreateHome":      into(&user.NoCreateHome, p.flag),
		"noUserGroup":       into(&user.NoUserGroup, p.flag),
		// The size of the login log does not matter in a container.
		"noLogInit": into(new(bool), p.flag),
	}
	// What older versions had for accounts that are made.
	known["create"] = p.section(maps.Clone(known))
	err := p.section(known)(node, name)
	if err == nil && !validAccount(user.Name) {
		err = p.invalid(node, "%s.name is not a valid user name", name)
	}
	return user, err
}

// newPasswordHash reads a hash; an empty one takes the password away.
func (p *parser) newPasswordHash(node *yaml.Node, path string) (string, error) {
	if isNull(node) {
		return "", nil
	}
	hash, err := p.line(node, path)
	return cmp.Or(hash, noPassword), err
}

func (p *parser) id(node *yaml.Node, path string) (string, error) {
	if isNull(node) {
		return "", nil
	}
	number, err := p.integer(node, path, maxID)
	return strconv.Itoa(number), err
}
