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
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

const (
	maxMode = 0o7777
	// maxID is the largest id of a user or group that is not an error code.
	maxID = 1<<32 - 2
	// noDisks is what to do about disks, partitions, RAID and file systems.
	noDisks = "containers have no disks; use spec.extraMounts of the ContainerMachine"
)

// node is what files, directories and links have in common.
type node struct {
	path, user, group string
	overwrite         userdata.Switch
	// mode is 0 if the data has none.
	mode uint32
}

// owner is "user:group"; the default is root.
func (n node) owner() string {
	return cmp.Or(n.user, "root") + ":" + cmp.Or(n.group, "root")
}

// permissions default to none at all: the intended ones are not known, and the file may be a key.
func (n node) permissions() uint32 { return cmp.Or(n.mode, userdata.NoPermissions) }

func (p parser) file(node *yaml.Node, path string) (userdata.File, error) {
	var file userdata.File
	common, err := p.common(node, path, reader.Fields{
		"append":   reader.Into(&file.Append, p.Flag),
		"contents": reader.Into(&file.Content, p.fileContents),
	})
	if err != nil {
		return userdata.File{}, err
	}
	if file.Append && common.overwrite == userdata.SwitchOn {
		return userdata.File{}, p.Invalid(node, "%s must not set both append and overwrite", path)
	}
	// Files are written after the accounts exist, as Ignition does.
	file.Defer = true
	file.Path, file.Owner, file.Mode, file.Overwrite = common.path, common.owner(), common.permissions(), common.overwrite
	if file.Append {
		file.KeepAttributes = common.mode == 0 && common.user == "" && common.group == ""
	} else if file.Overwrite == userdata.SwitchUnset {
		file.Overwrite = userdata.SwitchOn
	}
	return file, nil
}

func (p parser) directory(node *yaml.Node, path string) (userdata.Dir, error) {
	common, err := p.common(node, path, nil)
	return userdata.Dir{Path: common.path, Owner: common.owner(), Mode: common.permissions(), Overwrite: common.overwrite}, err
}

func (p parser) link(node *yaml.Node, path string) (userdata.Link, error) {
	var link userdata.Link
	common, err := p.common(node, path, reader.Fields{
		"target": reader.Into(&link.Target, p.Line),
		"hard":   reader.Into(&link.Hard, p.Flag),
	})
	if err == nil && link.Target == "" {
		err = p.Invalid(node, "%s.target is required", path)
	}
	link.Path, link.Owner, link.Overwrite = common.path, common.owner(), common.overwrite
	if link.Overwrite == userdata.SwitchUnset {
		link.Overwrite = userdata.SwitchOff
	}
	return link, err
}

// common reads what all have in common, and the fields of one of them.
func (p parser) common(value *yaml.Node, name string, own reader.Fields) (node, error) {
	var common node
	var filesystem string
	known := reader.Fields{
		"path":       reader.Into(&common.path, p.Line),
		"filesystem": reader.Into(&filesystem, p.Line),
		"user":       reader.Into(&common.user, p.account),
		"group":      reader.Into(&common.group, p.account),
		"overwrite":  reader.Into(&common.overwrite, p.toggle),
		"mode":       reader.Into(&common.mode, p.mode),
	}
	maps.Copy(known, own)
	if err := p.section(known)(value, name); err != nil {
		return node{}, err
	}
	if filesystem != "root" {
		p.Refuse(name+".filesystem", quote(filesystem), "(use root; "+noDisks+")")
	}
	if !strings.HasPrefix(common.path, "/") || path.Clean(common.path) == "/" {
		return node{}, p.Invalid(value, "%s.path is not an absolute path", name)
	}
	common.path = path.Clean(common.path)
	return common, nil
}

// mode reads permissions; 0 if the data has none.
func (p parser) mode(node *yaml.Node, path string) (uint32, error) {
	if reader.IsNull(node) {
		return 0, nil
	}
	number, err := p.integer(node, path, maxMode)
	return cmp.Or(uint32(number), userdata.NoPermissions), err //nolint:gosec // At most maxMode.
}

// account reads who owns something: {"id": 0} or {"name": "root"}.
func (p parser) account(node *yaml.Node, path string) (string, error) {
	var name, id string
	err := p.Object(node, path, reader.Fields{
		"id":   reader.Into(&id, p.id),
		"name": reader.Into(&name, p.Account("a valid account name")),
	}, func(node *yaml.Node, path string) error {
		if !reader.IsNull(node) {
			p.Refuse(path)
		}
		return nil
	})
	if err == nil && name != "" && id != "" {
		err = p.Invalid(node, "%s must not have both id and name", path)
	}
	return name + id, err
}

// toggle reads a boolean that may be absent.
func (p parser) toggle(node *yaml.Node, path string) (userdata.Switch, error) {
	if reader.IsNull(node) {
		return userdata.SwitchUnset, nil
	}
	on, err := p.Flag(node, path)
	if on {
		return userdata.SwitchOn, err
	}
	return userdata.SwitchOff, err
}
