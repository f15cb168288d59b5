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

package cloudconfig

import (
	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// user reads an entry of users. The entry "default" stands for the distribution's own user; node images have none, so that
// it is ignored.
func (p parser) user(item *yaml.Node, name string) (user userdata.User, err error) {
	if item.Kind == yaml.ScalarNode {
		user.Name, err = p.Line(item, name)
	} else {
		user, err = p.userFields(item, name)
	}
	switch {
	case err != nil:
		return userdata.User{}, err
	case user.Name == "default":
		return userdata.User{}, nil
	case !reader.IsAccount(user.Name):
		return userdata.User{}, p.Invalid(item, "%s.name is not a valid user name", name)
	}
	return user, nil
}

func (p parser) userFields(item *yaml.Node, name string) (user userdata.User, err error) {
	unlock, keys := reader.Into(&user.UnlockPassword, p.unlock), reader.Into(&user.SSHAuthorizedKeys, p.Lines)
	err = p.Object(item, name, reader.Fields{
		"name":                reader.Into(&user.Name, p.Line),
		"gecos":               reader.Into(&user.Gecos, p.Line),
		"homedir":             reader.Into(&user.HomeDir, p.Line),
		"shell":               reader.Into(&user.Shell, p.Line),
		"uid":                 reader.Into(&user.UID, p.Line),
		"primary_group":       reader.Into(&user.PrimaryGroup, p.Account("a valid group name")),
		"groups":              reader.Into(&user.Groups, p.Groups),
		"expiredate":          reader.Into(&user.ExpireDate, p.Line),
		"inactive":            reader.Into(&user.Inactive, p.inactive),
		"system":              reader.Into(&user.System, p.Flag),
		"no_create_home":      reader.Into(&user.NoCreateHome, p.Flag),
		"no_user_group":       reader.Into(&user.NoUserGroup, p.Flag),
		"passwd":              reader.Into(&user.PasswordHash, p.Line),
		"hashed_passwd":       reader.Into(&user.NewPasswordHash, p.Line),
		"plain_text_passwd":   reader.Into(&user.NewPassword, p.Line),
		"lock_passwd":         unlock,
		"lock-passwd":         unlock,
		"sudo":                reader.Into(&user.Sudo, p.sudo),
		"ssh_authorized_keys": keys,
		"ssh-authorized-keys": keys,
		// Groups that are named must exist for useradd, and the size of the login log does not matter in a container.
		"create_groups": reader.Into(new(bool), p.Flag),
		"no_log_init":   reader.Into(new(bool), p.Flag),
	}, p.RefuseField)
	return user, err
}

// unlock reads whether the password is not to be locked, which must be said.
func (p parser) unlock(node *yaml.Node, field string) (bool, error) {
	lock, err := p.Flag(node, field)
	return !lock && !reader.IsNull(node), err
}

// sudo reads a rule or a list of rules; false means none.
func (p parser) sudo(node *yaml.Node, field string) ([]string, error) {
	if allowed, ok := reader.Boolean(node); ok && !allowed {
		return nil, nil
	}
	return p.Lines(node, field)
}

// inactive reads days. Cluster API has a boolean here: true disables the account once its password has expired.
func (p parser) inactive(node *yaml.Node, field string) (string, error) {
	inactive, ok := reader.Boolean(node)
	switch {
	case ok && inactive:
		return "0", nil
	case ok:
		return "", nil
	default:
		return p.Line(node, field)
	}
}
