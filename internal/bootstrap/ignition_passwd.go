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
	"strconv"

	"go.yaml.in/yaml/v3"
)

// noPassword is a hash that no password has.
const noPassword = "*"

func (p *parser) passwd(config *Config, field entry, path string) error {
	switch field.key {
	case "groups":
		return p.items(field.value, path, func(fields []entry, node *yaml.Node, path string) error {
			group, err := p.ignitionGroup(fields, node, path)
			config.Groups = append(config.Groups, group)
			return err
		})
	case "users":
		return p.items(field.value, path, func(fields []entry, node *yaml.Node, path string) error {
			user, err := p.ignitionUser(fields, node, path)
			config.Users = append(config.Users, user)
			return err
		})
	default:
		p.refuseUnlessEmpty(field.value, path, "")
		return nil
	}
}

func (p *parser) ignitionGroup(fields []entry, node *yaml.Node, name string) (Group, error) {
	group := Group{PasswordHash: noPassword}
	for _, field := range fields {
		path := name + "." + field.key
		var err error
		switch field.key {
		case "name":
			group.Name, err = p.line(field.value, path)
		case "gid":
			group.GID, err = p.id(field.value, path)
		case "system":
			group.System, err = p.flag(field.value, path)
		case "passwordHash":
			var hash string
			if hash, err = p.line(field.value, path); hash != "" {
				group.PasswordHash = hash
			}
		default:
			p.refuseUnlessEmpty(field.value, path, "")
		}
		if err != nil {
			return Group{}, err
		}
	}
	if !validAccount(group.Name) {
		return Group{}, p.invalid(node, "%s.name is not a group's name", name)
	}
	return group, nil
}

// ignitionUser reads a user. One that exists is changed; one that is made has no password unless it is given one.
func (p *parser) ignitionUser(fields []entry, node *yaml.Node, name string) (User, error) {
	user := User{Update: true, UnlockPassword: true, PasswordHash: noPassword}
	for _, field := range fields {
		path := name + "." + field.key
		if field.key != "create" {
			if err := p.ignitionUserField(&user, field, path); err != nil {
				return User{}, err
			}
			continue
		}
		// What older versions had for accounts that are made.
		more, err := p.mapping(field.value, path)
		if err != nil {
			return User{}, err
		}
		for _, field := range more {
			if err := p.ignitionUserField(&user, field, path+"."+field.key); err != nil {
				return User{}, err
			}
		}
	}
	if !validAccount(user.Name) {
		return User{}, p.invalid(node, "%s.name is not a user's name", name)
	}
	return user, nil
}

func (p *parser) ignitionUserField(user *User, field entry, path string) (err error) {
	switch field.key {
	case "name":
		user.Name, err = p.line(field.value, path)
	case "gecos":
		user.Gecos, err = p.line(field.value, path)
	case "homeDir":
		user.HomeDir, err = p.line(field.value, path)
	case "shell":
		user.Shell, err = p.line(field.value, path)
	case "uid":
		user.UID, err = p.id(field.value, path)
	case "primaryGroup":
		user.PrimaryGroup, err = p.group(field.value, path)
	case "groups":
		user.Groups, err = p.groups(field.value, path)
	case "sshAuthorizedKeys":
		user.SSHAuthorizedKeys, err = p.lines(field.value, path)
	case "passwordHash":
		if isNull(field.value) {
			return nil
		}
		if user.NewPasswordHash, err = p.line(field.value, path); user.NewPasswordHash == "" {
			user.NewPasswordHash = noPassword
		}
	case "system":
		user.System, err = p.flag(field.value, path)
	case "noCreateHome":
		user.NoCreateHome, err = p.flag(field.value, path)
	case "noUserGroup":
		user.NoUserGroup, err = p.flag(field.value, path)
	case "noLogInit":
		// The size of the login log does not matter in a container.
		_, err = p.flag(field.value, path)
	default:
		p.refuseUnlessEmpty(field.value, path, "")
	}
	return err
}

func (p *parser) id(node *yaml.Node, path string) (string, error) {
	if isNull(node) {
		return "", nil
	}
	number, err := p.integer(node, path, maxID)
	return strconv.Itoa(number), err
}
