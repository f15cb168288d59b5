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

package ignition

import (
	"cmp"
	"maps"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

func (p parser) group(node *yaml.Node, name string) (userdata.Group, error) {
	var group userdata.Group
	err := p.section(reader.Fields{
		"name":         reader.Into(&group.Name, p.Line),
		"gid":          reader.Into(&group.GID, p.id),
		"system":       reader.Into(&group.System, p.Flag),
		"passwordHash": reader.Into(&group.PasswordHash, p.Line),
	})(node, name)
	if err == nil && !reader.IsAccount(group.Name) {
		err = p.Invalid(node, "%s.name is not a valid group name", name)
	}
	group.PasswordHash = cmp.Or(group.PasswordHash, userdata.NoPassword)
	return group, err
}

// user reads a user. One that exists is changed; a new one has no password unless the data has one.
func (p parser) user(node *yaml.Node, name string) (userdata.User, error) {
	user := userdata.User{Update: true, UnlockPassword: true, PasswordHash: userdata.NoPassword}
	known := reader.Fields{
		"name":              reader.Into(&user.Name, p.Line),
		"gecos":             reader.Into(&user.Gecos, p.Line),
		"homeDir":           reader.Into(&user.HomeDir, p.Line),
		"shell":             reader.Into(&user.Shell, p.Line),
		"uid":               reader.Into(&user.UID, p.id),
		"primaryGroup":      reader.Into(&user.PrimaryGroup, p.Account("a valid group name")),
		"groups":            reader.Into(&user.Groups, p.Groups),
		"sshAuthorizedKeys": reader.Into(&user.SSHAuthorizedKeys, p.Lines),
		"passwordHash":      reader.Into(&user.NewPasswordHash, p.newPasswordHash),
		"system":            reader.Into(&user.System, p.Flag),
		"noCreateHome":      reader.Into(&user.NoCreateHome, p.Flag),
		"noUserGroup":       reader.Into(&user.NoUserGroup, p.Flag),
		// The size of the login log does not matter in a container.
		"noLogInit": reader.Into(new(bool), p.Flag),
	}
	// What older versions had for accounts that are made.
	known["create"] = p.section(maps.Clone(known))
	err := p.section(known)(node, name)
	if err == nil && !reader.IsAccount(user.Name) {
		err = p.Invalid(node, "%s.name is not a valid user name", name)
	}
	return user, err
}

// newPasswordHash reads a hash; an empty one takes the password away.
func (p parser) newPasswordHash(node *yaml.Node, path string) (string, error) {
	if reader.IsNull(node) {
		return "", nil
	}
	hash, err := p.Line(node, path)
	return cmp.Or(hash, userdata.NoPassword), err
}

func (p parser) id(node *yaml.Node, path string) (string, error) {
	if reader.IsNull(node) {
		return "", nil
	}
	number, err := p.integer(node, path, maxID)
	return strconv.Itoa(number), err
}
